//! Types shared by the aggregation rules.

/// Loss of a prediction.
pub(crate) trait PointLoss: Copy {
    /// The loss of a prediction.
    fn value(self, prediction: f64, target: f64) -> f64;

    /// Its derivative with respect to the prediction.
    fn derivative(self, prediction: f64, target: f64) -> f64;
}

/// Predictions of the experts for a row, for one output.
#[derive(Clone, Copy)]
pub(crate) struct Said<'a> {
    /// NaN where an expert has no prediction.
    pub(crate) made: &'a [f64],
    /// Confidences from 0 to 1; empty if all are 1.
    pub(crate) sure: &'a [f64],
}

impl Said<'_> {
    /// Confidence of an expert: 0 without a prediction.
    pub(super) fn sure(&self, expert: usize) -> f64 {
        if self.made[expert].is_nan() { 0.0 } else { self.sure.get(expert).copied().unwrap_or(1.0) }
    }
}

/// Predictions and target of a row, for one output.
pub(super) struct Outcome<'a, L> {
    pub(super) said: Said<'a>,
    /// The mixture.
    pub(super) mixed: f64,
    /// The target.
    pub(super) target: f64,
    /// Weight of the row.
    pub(super) weight: f64,
    /// Error of the mixture.
    pub(super) loss: L,
}

/// Array name in the model file.
pub(super) fn name(output: usize, what: &str) -> String {
    format!("mixture.{output}.{what}")
}

/// Sets all weights equal.
pub(super) fn level(weights: &mut [f64]) {
    let share = (weights.len() as f64).recip();
    weights.fill(share);
}

/// Divides weights, not all of them 0, by their sum.
pub(super) fn normalize(weights: &mut [f64]) {
    let sum: f64 = weights.iter().sum();
    for weight in weights {
        *weight /= sum;
    }
}
