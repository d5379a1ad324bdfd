//! How far targets are from predictions: the noise, and intervals whose coverage holds.
//!
//! The deviation of a target from its prediction has two factors. What a learner knows of a point, `z'Pz` and
//! what its coordinates leave out of it, says where predictions are surer than elsewhere; the noise, from
//! prequential errors, says in which units. Intervals do not believe either: a [`Calibration`] follows how many
//! [spreads](Spread) errors really are, level by level, so that as many targets are inside as there should be, also
//! where noise is not Gaussian, or the stream changes. It also keeps a [`Record`] of how large they were.

mod calibration;
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
pub use diagnostics::Diagnostics;
pub(crate) use errors::{Errors, LearnedRows};
use evidence::Evidence;
pub(crate) use first::normal_quantile;
use noise::Noise;
pub use prequential::Prequential;
pub(crate) use record::{ENOUGH, LOOK};
pub use record::{ErrorSize, Record};
pub use spread::Spread;
