//! Recent values of one component.

use super::state::{Pass, State};
use crate::kernel::LARGEST;

/// Latest values, with a NaN between trajectories, so that lags across a beginning are NaN.
#[derive(Clone, Debug, Default)]
pub struct History {
    values: Vec<f64>,
    /// Their logarithms, for features.
    logarithms: Vec<f64>,
    /// Number of values dropped before those kept, so that phases continue.
    pub dropped: usize,
}

impl History {
    /// Number of values so far, with those between trajectories.
    pub fn len(&self) -> usize {
        self.dropped + self.values.len()
    }

    /// Value number `at`; NaN if it was dropped or has not been observed.
    pub fn at(&self, at: usize) -> f64 {
        at.checked_sub(self.dropped).and_then(|at| self.values.get(at)).copied().unwrap_or(f64::NAN)
    }

    /// Value number `at`, or its logarithm.
    pub fn on_scale(&self, at: usize, logs: bool) -> f64 {
        let values = if logs { &self.logarithms } else { &self.values };
        at.checked_sub(self.dropped).and_then(|at| values.get(at)).copied().unwrap_or(f64::NAN)
    }

    /// Adds a value; keeps at least `kept`.
    pub fn push(&mut self, value: f64, kept: usize) {
        if self.values.len() >= 2 * kept {
            self.dropped += self.values.len() - kept;
            self.values.drain(..self.values.len() - kept);
            self.logarithms.drain(..self.logarithms.len() - kept);
        }
        self.values.push(value);
        self.logarithms.push(value.ln());
    }

    /// Values kept.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Values since the latest gap.
    pub fn latest(&self) -> &[f64] {
        let start = self.values.iter().rposition(|value| value.is_nan()).map_or(0, |at| at + 1);
        &self.values[start..]
    }
}

impl History {
    /// Whether the values of a model file are valid; the latest must be known.
    pub fn is_sound(&self) -> bool {
        self.values.iter().all(|value| value.is_nan() || value.abs() <= LARGEST)
            && self.values.last().is_some_and(|value| !value.is_nan())
    }
}

impl State for History {
    fn pass(&mut self, pass: &mut dyn Pass) {
        pass.count(&mut self.dropped);
        pass.list(&mut self.values);
        if pass.reads() {
            self.logarithms = self.values.iter().map(|value| value.ln()).collect();
        }
    }
}
