//! Uncertainty of predictions: noise, and intervals whose coverage holds.
//!
//! The deviation of a target from its prediction has two factors. The leverage of a point (`z'Pz`
//! and what its coordinates leave unexplained) is relative to the noise, which is estimated from
//! prequential errors. Both depend on the model. A [`Calibration`] therefore tracks the quantiles
//! of errors in units of their [spread](Spread), so that coverage holds for non-Gaussian noise and
//! changing streams. It also keeps a [`Record`] of the size of errors.

mod calibration;
mod columns;
mod diagnostics;
mod errors;
mod evidence;
mod first;
mod noise;
mod prequential;
mod profile;
mod record;
mod spread;

pub use calibration::Calibration;
pub(crate) use calibration::{around, is_exact, score};
pub(crate) use columns::ColumnSpreads;
pub use diagnostics::Diagnostics;
pub(crate) use errors::{Errors, LearnedRows};
use evidence::Evidence;
pub(crate) use first::{normal_quantile, student_quantile};
use noise::Noise;
pub use prequential::Prequential;
pub(crate) use record::{ENOUGH, LOOK};
pub use record::{ErrorSize, Record};
pub use spread::Spread;
