//! What the rules of a mixture share.

/// How a prediction is judged.
pub(crate) trait PointLoss: Copy {
    /// The loss of a prediction.
    fn value(self, prediction: f64, target: f64) -> f64;

    /// Its derivative with respect to the prediction.
    fn derivative(self, prediction: f64, target: f64) -> f64;
}

/// What experts say of a row, for one output.
#[derive(Clone, Copy)]
pub(crate) struct Said<'a> {
    /// What they predicted; NaN of those that predicted nothing.
    pub(crate) made: &'a [f64],
    /// How sure each is, from 0 to 1; empty where all are.
    pub(crate) sure: &'a [f64],
}

impl Said<'_> {
    /// How sure an expert is: not at all of a prediction that it has not made.
    pub(super) fn sure(&self, expert: usize) -> f64 {
        if self.made[expert].is_nan() { 0.0 } else { self.sure.get(expert).copied().unwrap_or(1.0) }
    }
}

/// What a row says of experts, for one output.
pub(super) struct Outcome<'a, L> {
    pub(super) said: Said<'a>,
    /// What was made of it.
    pub(super) mixed: f64,
    /// What was right.
    pub(super) target: f64,
    /// How many times the row counts.
    pub(super) weight: f64,
    /// How far from right that is.
    pub(super) loss: L,
}

/// What an array of the model file is called.
pub(super) fn name(output: usize, what: &str) -> String {
    format!("mixture.{output}.{what}")
}

/// Makes all weights the same.
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
