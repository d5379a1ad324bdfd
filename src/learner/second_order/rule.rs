//! What makes one second-order learner different from another.

use super::memory::Memory;
use crate::error::Result;
use crate::persist::{Reader, Writer};

/// What makes one second-order learner different from another: how much curvature a row has, and how
/// far the weights go along `A^{-1} z`.
pub trait SecondOrderRule: Clone + Send + Sync {
    /// Curvature of a coordinate before its first row.
    fn regularization(&self) -> f64;

    /// What is left of all curvature after a round, from above 0 to 1.
    fn forgetting(&self) -> f64 {
        1.0
    }

    /// Whether a row is learned in another way if it makes the basis grow.
    fn notices_growth(&self) -> bool {
        false
    }

    /// Whether everything starts from zero when the basis grows.
    fn restarts(&self) -> bool {
        false
    }

    /// Whether the weights of a target that is always 1 are kept too.
    fn centers(&self) -> bool {
        false
    }

    /// The constant that targets of output `c` are centred by.
    fn centre(&self, _c: usize) -> f64 {
        0.0
    }

    /// What is to be remembered of past rows.
    fn memory(&self) -> Option<Memory> {
        None
    }

    /// Whether predictions depend on `z'Pz`.
    fn needs_quadratic(&self) -> bool {
        false
    }

    /// Curvature that a row of weight 1 has, if all have the same: then `P` is the covariance of the weights,
    /// in units of the noise and of this.
    fn constant_curvature(&self) -> Option<f64> {
        None
    }

    /// Whether a round may fail on finite data. Where it may, calls begin with a copy of the learner.
    fn can_diverge(&self) -> bool {
        true
    }

    /// The largest target, in size, that the loss takes.
    fn largest_target(&self) -> f64 {
        f64::INFINITY
    }

    /// Fixes the number of outputs, or appends some.
    fn begin(&mut self, _n_outputs: usize) {}

    /// Forgets all outputs beyond the first `n_outputs`.
    fn truncate(&mut self, _n_outputs: usize) {}

    /// What to do with a row: see [`Step`].
    fn update_step(&self, seen: &Observation<'_>, step: &mut Step);

    /// Whether the row would change the weights at all.
    fn has_loss(&self, _raw: &[f64], _intercept: f64, _y: &[f64]) -> bool {
        true
    }

    /// Whether the row leaves weights and curvature as they are, but for forgetting.
    fn is_idle(&self, _raw: &[f64], _intercept: f64, _y: &[f64]) -> bool {
        false
    }

    /// From `w'z` in `out` to predictions. `intercept` is the prediction of
    /// the target 1, 0 if there is none, and `quadratic` is `z'Pz`, where [`needs_quadratic`](Self::needs_quadratic).
    fn finalize_prediction(&self, _out: &mut [f64], _intercept: f64, _quadratic: f64) {}

    /// Takes down what is to be known of a target after its row was learned.
    fn update_statistics(&mut self, _y: &[f64], _weight: f64) {}

    /// Takes down a step, as long as `z'Pz` is that before it, for the constant that targets are centred by. `keep` is left
    /// of all curvature; an infinite `quadratic` is that of a row that is met exactly.
    fn update_centre(&mut self, _keep: f64, _step: &Step, _quadratic: f64) {}

    /// Takes down for that constant that past rows have a coordinate more, which explains of their errors products of those
    /// of each output with those of the target 1, and of the latter this square.
    fn explain_centre(&mut self, _products: &[f64], _square: f64) {}

    /// Weights start again, from zero.
    fn restart_centre(&mut self) {}

    /// What not knowing that constant adds to `z'Pz`, where the target 1 is predicted so.
    fn centre_variance(&self, _intercept: f64) -> f64 {
        0.0
    }

    /// What is known of that constant, as the inverse of its variance; `None` if nothing is, or there is none.
    fn centre_information(&self) -> Option<f64> {
        None
    }
}

/// A row as a [`SecondOrderRule`] sees it.
#[derive(Clone, Copy, Debug)]
pub struct Observation<'a> {
    /// Predictions of the weights before this row, one an output.
    pub raw: &'a [f64],
    /// That of the target 1, 0 if its weights are not kept.
    pub intercept: f64,
    /// `z'Pz` before this row.
    pub quadratic: f64,
    /// Targets.
    pub y: &'a [f64],
    /// How much the row counts.
    pub weight: f64,
    /// Whether it has coordinates that no row before it had.
    pub grows: bool,
}

/// What a row does: `A <- A + curvature z z'`, then `w <- w + lengths A^{-1} z` for each output.
#[derive(Clone, Debug, Default)]
pub struct Step {
    /// Zero or positive.
    pub curvature: f64,
    /// One an output.
    pub lengths: Vec<f64>,
    /// The same for the weights of the target 1.
    pub intercept: f64,
}

/// A [`SecondOrderRule`] that goes into a model file.
pub trait RuleFile: SecondOrderRule {
    /// Writes the state of the rule.
    fn write(&self, out: &mut Writer);

    /// Reads what [`write`](Self::write) wrote.
    fn read(&mut self, from: &Reader<'_>, n_outputs: usize) -> Result<()>;
}
