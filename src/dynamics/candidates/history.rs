//! Recent values of one component.

use super::state::{Pass, State};
use crate::kernel::LARGEST;

/// The latest values, between trajectories a NaN, so that whatever looks back over a beginning is NaN too.
#[derive(Clone, Debug, Default)]
pub struct History {
    values: Vec<f64>,
    /// Their logarithms, which many features are made of.
    logarithms: Vec<f64>,
    /// Values before those kept: phases continue.
    pub dropped: usize,
}

impl History {
    /// Values so far, those between trajectories included.
    pub fn len(&self) -> usize {
        self.dropped + self.values.len()
    }

    /// The value with this number; NaN if it is not kept, or not there yet.
    pub fn at(&self, at: usize) -> f64 {
        at.checked_sub(self.dropped).and_then(|at| self.values.get(at)).copied().unwrap_or(f64::NAN)
    }

    /// The value with this number, or its logarithm.
    pub fn on_scale(&self, at: usize, logs: bool) -> f64 {
        let values = if logs { &self.logarithms } else { &self.values };
        at.checked_sub(self.dropped).and_then(|at| values.get(at)).copied().unwrap_or(f64::NAN)
    }

    /// Adds a value; at least `kept` are kept.
    pub fn push(&mut self, value: f64, kept: usize) {
        if self.values.len() >= 2 * kept {
            self.dropped += self.values.len() - kept;
            self.values.drain(..self.values.len() - kept);
            self.logarithms.drain(..self.logarithms.len() - kept);
        }
        self.values.push(value);
        self.logarithms.push(value.ln());
    }

    /// The values kept.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The latest values without a gap.
    pub fn latest(&self) -> &[f64] {
        let start = self.values.iter().rposition(|value| value.is_nan()).map_or(0, |at| at + 1);
        &self.values[start..]
    }
}

impl History {
    /// Whether what was read is that of rows, of which the latest is there.
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
