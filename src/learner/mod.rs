//! Linear learners on coordinates that grow.
//!
//! A learner holds one weight for each coordinate and output. When the basis grows, the new
//! coordinate of everything learned so far is zero, so a learner appends zeros and continues.
//!
//! A learner of your own is a type with a [`Learner`], used directly in a [`Stream`](crate::stream::Stream) (see
//! `examples/own_learner.rs`); one of second order is shorter, a [`SecondOrderRule`] that a [`SecondOrder`]
//! learner follows. The learners of model files and Python are an enum, [`AnyLearner`].

mod any;
mod centre;
mod covariance;
mod gradient;
mod interpolation;
mod log_odds;
mod logistic_line;
mod loss;
mod merge;
mod recalibration;
mod rows;
mod schedule;
mod second_order;
mod spec;
mod staged;
mod weights;

pub use any::{AnyLearner, KnownLearner};
pub use covariance::Covariance;
pub use gradient::{Gradient, GradientSpec, Rounds};
pub use interpolation::{Interpolation, InterpolationSpec};
pub(crate) use log_odds::{LogOdds, linear_of_odds, odds_of_linear, slope_of_linear};
pub(crate) use logistic_line::LogisticLine;
pub use loss::Loss;
pub use merge::{MergeLearner, Part};
pub(crate) use recalibration::Recalibration;
pub use rows::Rows;
pub use schedule::Schedule;
pub(crate) use second_order::Addend;
pub use second_order::{
    Curvature, GaussNewton, GaussNewtonSpec, Growth, History, LeastSquares, Memory, NewtonStep, Observation,
    OnlineNewton, OnlineNewtonSpec, Prediction, Ridge, RidgeSpec, RuleFile, SecondOrder, SecondOrderRule,
    Step,
};
pub use spec::LearnerSpec;
pub use staged::Staged;
pub(crate) use weights::apply;

use crate::error::Result;
use crate::linalg::{ChangeOfBasis, Coordinates, Panel};
use crate::memory::affordable;
use crate::persist::{Reader, Writer};

/// A linear learner with a weight for each coordinate and each output.
///
/// The first six methods are required. A stream needs a [`StreamLearner`], which also implements [`LearnerLimits`],
/// [`LearnerBlocks`], [`LearnerMemory`] and [`LearnerUncertainty`]. Their methods all have defaults; implementing them
/// makes a learner faster and supports more queries.
pub trait Learner: Send + Sync {
    /// The weights (dim, outputs).
    fn weights(&self) -> &Panel;

    /// Fixes the number of outputs, once, before the first row.
    fn begin(&mut self, n_outputs: usize);

    /// Appends coordinates without information, until there are `dim`.
    fn grow(&mut self, dim: usize);

    /// Drops all coordinates beyond the first `dim`: those of a row that was refused.
    fn shrink(&mut self, dim: usize);

    /// The prediction at `z`, into `out` (one number an output). `residual` is the coordinate
    /// that this point would add to the basis, or 0.
    fn predict(&self, z: &Coordinates, residual: f64, out: &mut [f64]);

    /// One round: predicts at `z` into `prediction`, then learns from the target `y`, whose loss counts
    /// `weight` times (1 for an ordinary row). `z` has [`dim`](Self::dim) coordinates. On an error the
    /// learner is as before.
    fn learn(&mut self, z: &Coordinates, y: &[f64], weight: f64, prediction: &mut [f64]) -> Result<()>;

    /// Number of coordinates so far.
    fn dim(&self) -> usize {
        self.weights().rows()
    }

    /// Number of outputs; 0 before [`begin`](Self::begin).
    fn n_outputs(&self) -> usize {
        self.weights().cols()
    }

    /// Follows the basis to other coordinates; by default by a restart.
    fn change_basis(&mut self, change: &ChangeOfBasis) {
        self.shrink(0);
        self.grow(change.dim());
    }
}

/// Accepted targets and possible failures of a [`Learner`]. By default it accepts any target, may fail, and every
/// row has a loss.
pub trait LearnerLimits: Learner {
    /// Announces the largest number of coordinates, so that storage is reserved once.
    fn expect(&mut self, _most: usize) {}

    /// Refuses this many coordinates and outputs, which all exist from the first row on, if they need more memory
    /// than a specification may request.
    fn check_size(&self, dim: usize, n_outputs: usize) -> Result<()> {
        affordable("the weights of all coordinates and outputs", dim, n_outputs)
    }

    /// Largest absolute target that the loss accepts.
    fn largest_target(&self) -> f64 {
        f64::INFINITY
    }

    /// Whether [`learn`](Learner::learn) can fail on finite data. Where it can, calls begin with a copy of
    /// the learner.
    fn can_diverge(&self) -> bool {
        true
    }

    /// Whether the target `y` at `z` would change the weights at all; a loss may be zero. `scratch` holds
    /// one number an output.
    fn has_loss(&self, _z: &Coordinates, _y: &[f64], _scratch: &mut [f64]) -> bool {
        true
    }
}

/// Blocks of rows of a [`Learner`], by matrix products. By default row by row.
pub trait LearnerBlocks: Learner {
    /// Fewest coordinates with which [`learn_block`](Self::learn_block) is faster than single rows;
    /// `usize::MAX` where it does nothing.
    fn blocks_from(&self) -> usize {
        usize::MAX
    }

    /// [`learn`](Learner::learn) for rows in their order, with the same result to rounding, by matrix
    /// products. Ends before the first row that becomes a coordinate; returns how many were learned,
    /// which may be none. Their predictions go to columns of `predictions` (outputs, b). On an error, which
    /// names the row, the learner is as before.
    fn learn_block(&mut self, _rows: &Rows<'_>, _predictions: Option<&mut Panel>) -> Result<usize> {
        Ok(0)
    }

    /// Whether [`learn_block`](Self::learn_block) accepts rows that add coordinates, after [`grow`](Learner::grow).
    fn grows_in_blocks(&self) -> bool {
        false
    }
}

/// Stored rows of a [`Learner`], so that coordinates added later have values in them. By default there are none.
pub trait LearnerMemory: Learner {
    /// Rows that the learner stores, so that it can get their values in an additional coordinate.
    fn memory(&self) -> Option<&Memory> {
        None
    }

    /// Records the value of the latest coordinate in each row of the [`memory`](Self::memory).
    fn backfill(&mut self, _newest: &[f64]) {}

    /// Stores the row just learned.
    fn store(&mut self, _x: &[f64], _z: &Coordinates, _y: &[f64], _weight: f64) {}
}

/// Covariance and slopes of a [`Learner`]. By default the slopes are the weights, without a covariance.
pub trait LearnerUncertainty: Learner {
    /// Covariance of the weights; `None` if not available.
    fn covariance(&self) -> Option<Covariance<'_>> {
        None
    }

    /// `z'Pz` of the rows that the latest [`learn`](Learner::learn) or [`learn_block`](LearnerBlocks::learn_block) learned, each
    /// with the `P` before it; meaningless without a [`covariance`](Self::covariance).
    fn learned_leverages(&self) -> &[f64] {
        &[]
    }

    /// Whether targets are learned as differences to a constant of the rows before them.
    fn centers(&self) -> bool {
        false
    }

    /// Slopes of the predictions along the coordinates (dim, outputs): the weights, unless targets are centred.
    fn slopes(&self) -> Panel {
        self.weights().clone()
    }
}

/// A [`Learner`] with everything that a [`Stream`](crate::stream::Stream) uses.
pub trait StreamLearner: LearnerLimits + LearnerBlocks + LearnerMemory + LearnerUncertainty {}

impl<L: LearnerLimits + LearnerBlocks + LearnerMemory + LearnerUncertainty + ?Sized> StreamLearner for L {}

/// A [`Learner`] that can be saved.
pub trait LearnerFile: StreamLearner {
    /// Writes what was learned.
    fn write(&self, out: &mut Writer);

    /// Reads what [`write`](Self::write) wrote, into a learner of the same specification.
    fn read(&mut self, from: &Reader<'_>) -> Result<()>;
}

/// Argument of a [`Stream`](crate::stream::Stream): a [`Learner`] of any type, or an [`AnyLearner`].
pub trait AsLearner: Clone + Send + Sync {
    /// The learner itself, or the common interface of [`AnyLearner`].
    type Target: StreamLearner + ?Sized;

    /// The learner.
    fn as_learner(&self) -> &Self::Target;

    /// The learner, mutable.
    fn as_learner_mut(&mut self) -> &mut Self::Target;
}

impl<L: StreamLearner + Clone> AsLearner for L {
    type Target = L;

    fn as_learner(&self) -> &L {
        self
    }

    fn as_learner_mut(&mut self) -> &mut L {
        self
    }
}
