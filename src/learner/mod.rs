//! Linear learners on coordinates that grow.
//!
//! A learner holds one weight for each coordinate and output. When the basis grows, the new
//! coordinate of everything learned so far is zero, so a learner appends zeros and goes on. A
//! new learner is one file with a [`Learner`] and one line in [`LearnerSpec`]; a second-order one is
//! shorter: a [`SecondOrderRule`].

mod backfill;
mod block;
mod gauss_newton;
mod gradient;
mod loss;
mod memory;
mod online_newton;
mod ridge;
mod second_order;
mod spec;
mod staged;
mod step;

use crate::error::Result;
use crate::linalg::{ChangeOfBasis, Coordinates, Panel, loops};
use crate::persist::{Reader, Writer};

pub use block::Rows;
pub use gauss_newton::{Curvature, GaussNewton, GaussNewtonSpec};
pub use gradient::{Gradient, GradientSpec, Rounds};
pub use loss::Loss;
pub use memory::{History, Memory};
pub use online_newton::{Growth, NewtonStep, OnlineNewton, OnlineNewtonSpec};
pub use ridge::{LeastSquares, Prediction, Ridge, RidgeSpec};
pub use second_order::{Observation, SecondOrder, SecondOrderRule, Step};
pub use spec::LearnerSpec;
pub use staged::Staged;
pub use step::Schedule;

/// A linear learner with a weight for each coordinate and each output.
pub trait Learner: Send + Sync {
    /// Number of coordinates so far.
    fn dim(&self) -> usize {
        self.weights().rows()
    }

    /// Number of outputs; 0 before [`begin`](Self::begin).
    fn n_outputs(&self) -> usize {
        self.weights().cols()
    }

    /// The weights (dim, outputs).
    fn weights(&self) -> &Panel;

    /// Fixes the number of outputs, once, before the first row.
    fn begin(&mut self, n_outputs: usize);

    /// Appends coordinates of which nothing is known yet, until there are `dim`.
    fn grow(&mut self, dim: usize);

    /// Takes back the latest [`grow`](Self::grow): called when the row that brought the coordinates
    /// was refused. Learners that never refuse a row need not do anything.
    fn shrink(&mut self, _dim: usize) {}

    /// Follows the basis to other coordinates.
    fn change_basis(&mut self, change: &ChangeOfBasis);

    /// Rows that the learner remembers, so that it can be told their value in a coordinate that is added.
    fn memory(&self) -> Option<&Memory> {
        None
    }

    /// Takes down the value of the coordinate just grown in each of the [`memory`](Self::memory) rows.
    fn backfill(&mut self, _newest: &[f64]) {}

    /// Remembers the row just learned.
    fn store(&mut self, _x: &[f64], _z: &Coordinates, _y: &[f64], _weight: f64) {}

    /// What the learner would predict at `z`, into `out` (one number an output). `novelty` is the
    /// coordinate that this point would add to the basis, or 0.
    fn predict(&self, z: &Coordinates, novelty: f64, out: &mut [f64]);

    /// Whether the target `y` at `z` would change the weights at all; a loss may be zero. `scratch` holds
    /// one number an output.
    fn has_loss(&self, z: &Coordinates, y: &[f64], scratch: &mut [f64]) -> bool;

    /// One round: predicts at `z` into `prediction`, then learns from the target `y`, whose loss counts
    /// `weight` times (1 for an ordinary row). `z` has [`dim`](Self::dim) coordinates. On an error the
    /// learner is as before.
    fn learn(&mut self, z: &Coordinates, y: &[f64], weight: f64, prediction: &mut [f64]) -> Result<()>;

    /// Fewest coordinates with which [`learn_block`](Self::learn_block) is faster than single rows;
    /// `usize::MAX` where it does nothing.
    fn blocks_from(&self) -> usize {
        usize::MAX
    }

    /// [`learn`](Self::learn) for rows in their order, with the same result to rounding, by matrix
    /// products. Ends before the first row that becomes a coordinate; returns how many were learned,
    /// which may be none. Their predictions go to columns of `predictions` (outputs, b). On an error, which
    /// names the row, the learner is as before.
    fn learn_block(&mut self, _rows: &Rows<'_>, _predictions: Option<&mut Panel>) -> Result<usize> {
        Ok(0)
    }

    /// Whether [`learn`](Self::learn) can fail on finite data.
    fn can_diverge(&self) -> bool {
        false
    }

    /// A copy behind a pointer.
    fn boxed(&self) -> Box<dyn Learner>;

    /// How this learner is written down.
    fn spec(&self) -> LearnerSpec;

    /// Writes what was learned.
    fn write(&self, out: &mut Writer);

    /// Reads what [`write`](Self::write) wrote, into a learner of the same specification.
    fn read(&mut self, from: &Reader<'_>) -> Result<()>;
}

impl Learner for Box<dyn Learner> {
    fn weights(&self) -> &Panel {
        (**self).weights()
    }
    fn begin(&mut self, n_outputs: usize) {
        (**self).begin(n_outputs);
    }
    fn grow(&mut self, dim: usize) {
        (**self).grow(dim);
    }
    fn shrink(&mut self, dim: usize) {
        (**self).shrink(dim);
    }
    fn predict(&self, z: &Coordinates, novelty: f64, out: &mut [f64]) {
        (**self).predict(z, novelty, out);
    }
    fn change_basis(&mut self, change: &ChangeOfBasis) {
        (**self).change_basis(change);
    }
    fn memory(&self) -> Option<&Memory> {
        (**self).memory()
    }
    fn backfill(&mut self, newest: &[f64]) {
        (**self).backfill(newest);
    }
    fn store(&mut self, x: &[f64], z: &Coordinates, y: &[f64], weight: f64) {
        (**self).store(x, z, y, weight);
    }
    fn has_loss(&self, z: &Coordinates, y: &[f64], scratch: &mut [f64]) -> bool {
        (**self).has_loss(z, y, scratch)
    }
    fn learn(&mut self, z: &Coordinates, y: &[f64], weight: f64, prediction: &mut [f64]) -> Result<()> {
        (**self).learn(z, y, weight, prediction)
    }
    fn blocks_from(&self) -> usize {
        (**self).blocks_from()
    }
    fn learn_block(&mut self, rows: &Rows<'_>, predictions: Option<&mut Panel>) -> Result<usize> {
        (**self).learn_block(rows, predictions)
    }
    fn can_diverge(&self) -> bool {
        (**self).can_diverge()
    }
    fn boxed(&self) -> Box<dyn Learner> {
        (**self).boxed()
    }
    fn spec(&self) -> LearnerSpec {
        (**self).spec()
    }
    fn write(&self, out: &mut Writer) {
        (**self).write(out);
    }
    fn read(&mut self, from: &Reader<'_>) -> Result<()> {
        (**self).read(from)
    }
}

impl Clone for Box<dyn Learner> {
    fn clone(&self) -> Self {
        self.boxed()
    }
}

/// `out = W' z`
pub(crate) fn apply(weights: &Panel, z: &Coordinates, out: &mut [f64]) {
    for (c, out) in out.iter_mut().enumerate() {
        *out = loops::dot(weights.col(c), z.in_lanes());
    }
}

/// Whether predictions of raw weights are too large to go on with: far from overflow, and farther from
/// sense.
fn beyond_bounds(predictions: &[f64]) -> bool {
    !predictions.iter().all(|v| v.abs() < 1e150)
}

/// Writes weights under a name.
fn write_panel(out: &mut Writer, name: &str, panel: &Panel) {
    out.matrix(name, panel.rows(), panel.cols(), &panel.to_row_major());
}

/// Reads weights written by [`write_panel`].
fn read_panel(from: &Reader<'_>, name: &str) -> Result<Panel> {
    let (rows, cols, entries) = from.matrix(name)?;
    Ok(Panel::from_row_major(&entries, rows, cols))
}
