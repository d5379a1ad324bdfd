//! The rules that distinguish second-order learners.

use super::memory::Memory;
use crate::error::Result;
use crate::persist::{Reader, Writer};

/// Rule of a second-order learner: the curvature of a row, and the length of the step along `A^{-1}
/// z`.
pub trait SecondOrderRule: Clone + Send + Sync {
    /// Curvature of a coordinate before its first row.
    fn regularization(&self) -> f64;

    /// Factor on all curvature after a round, above 0 and at most 1.
    fn forgetting(&self) -> f64 {
        1.0
    }

    /// Whether rows that extend the basis are learned differently.
    fn notices_growth(&self) -> bool {
        false
    }

    /// Whether everything restarts from zero when the basis grows.
    fn restarts(&self) -> bool {
        false
    }

    /// Whether the weights of the constant target 1 are needed.
    fn centers(&self) -> bool {
        false
    }

    /// The intercept of output `c`.
    fn centre(&self, _c: usize) -> f64 {
        0.0
    }

    /// Memory of past rows.
    fn memory(&self) -> Option<Memory> {
        None
    }

    /// Whether predictions depend on `z'Pz`.
    fn needs_quadratic(&self) -> bool {
        false
    }

    /// Curvature of a row of weight 1, if it is the same for all: then `P` is the covariance of the
    /// weights, in units of the noise and of this.
    fn constant_curvature(&self) -> Option<f64> {
        None
    }

    /// Whether a round may fail on finite data. Then calls begin with a copy of the learner.
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

    /// The step of a row: see [`Step`].
    fn update_step(&self, seen: &Observation<'_>, step: &mut Step);

    /// Whether the row would change the weights at all.
    fn has_loss(&self, _raw: &[f64], _intercept: f64, _y: &[f64]) -> bool {
        true
    }

    /// Whether the row leaves weights and curvature unchanged, except for forgetting.
    fn is_idle(&self, _raw: &[f64], _intercept: f64, _y: &[f64]) -> bool {
        false
    }

    /// Maps `w'z` in `out` to predictions. `intercept` is the prediction of the target 1, 0 without
    /// its weights, and `quadratic` is `z'Pz`, if [`needs_quadratic`](Self::needs_quadratic).
    fn finalize_prediction(&self, _out: &mut [f64], _intercept: f64, _quadratic: f64) {}

    /// Records a target after its row was learned.
    fn update_statistics(&mut self, _y: &[f64], _weight: f64) {}

    /// Records a step, with `z'Pz` before it, for the intercept. `keep` is the factor on earlier
    /// curvature; an infinite `quadratic` means a row that is fitted exactly.
    fn update_centre(&mut self, _keep: f64, _step: &Step, _quadratic: f64) {}

    /// Records a coordinate added to past rows for the intercept: it explains these products of the
    /// errors of each output with those of the target 1, and this square of the latter.
    fn explain_centre(&mut self, _products: &[f64], _square: f64) {}

    /// Weights restart from zero.
    fn restart_centre(&mut self) {}

    /// Addition to `z'Pz` due to the uncertainty of the intercept, for this prediction of the
    /// target 1.
    fn centre_variance(&self, _intercept: f64) -> f64 {
        0.0
    }

    /// Inverse of the variance of the intercept; `None` if it is undetermined, or there is none.
    fn centre_information(&self) -> Option<f64> {
        None
    }
}

/// A row for a [`SecondOrderRule`].
#[derive(Clone, Copy, Debug)]
pub struct Observation<'a> {
    /// Predictions of the weights before this row, one per output.
    pub raw: &'a [f64],
    /// That of the target 1, 0 without its weights.
    pub intercept: f64,
    /// `z'Pz` before this row.
    pub quadratic: f64,
    /// Targets.
    pub y: &'a [f64],
    /// Weight of the row.
    pub weight: f64,
    /// Whether it has coordinates in which all earlier rows were zero.
    pub grows: bool,
}

/// Step of a row: `A <- A + curvature z z'`, then `w <- w + lengths A^{-1} z` for each output.
#[derive(Clone, Debug, Default)]
pub struct Step {
    /// Zero or positive.
    pub curvature: f64,
    /// One an output.
    pub lengths: Vec<f64>,
    /// The same for the weights of the target 1.
    pub intercept: f64,
}

/// A [`SecondOrderRule`] that can be saved.
pub trait RuleFile: SecondOrderRule {
    /// Writes the state of the rule.
    fn write(&self, out: &mut Writer);

    /// Reads the output of [`write`](Self::write).
    fn read(&mut self, from: &Reader<'_>, n_outputs: usize) -> Result<()>;
}
