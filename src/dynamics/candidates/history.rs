//! Recent values of one component.

use super::numbers::{Numbers, Pass};
use crate::kernel::LARGEST;

/// Latest values, with a NaN between trajectories.
#[derive(Clone, Debug, Default)]
pub struct History {
    values: Vec<f64>,
    /// Numbers of the rows after these NaNs, at which trajectories begin.
    starts: Vec<usize>,
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

    /// Value `back` rows before row number `at`, or its logarithm; NaN before the trajectory of that row.
    pub fn before(&self, at: usize, back: usize, logs: bool) -> f64 {
        let values = if logs { &self.logarithms } else { &self.values };
        let there = at.checked_sub(back).filter(|there| *there >= self.start(at));
        let place = there.and_then(|there| there.checked_sub(self.dropped));
        place.and_then(|place| values.get(place)).copied().unwrap_or(f64::NAN)
    }

    /// Number of the first row of the trajectory of row number `at`.
    pub fn start(&self, at: usize) -> usize {
        let place = self.starts.partition_point(|start| *start <= at);
        place.checked_sub(1).map_or(0, |place| self.starts[place])
    }

    /// Adds a value; keeps at least `kept`.
    pub fn push(&mut self, value: f64, kept: usize) {
        if self.values.len() >= 2 * kept {
            self.dropped += self.values.len() - kept;
            self.values.drain(..self.values.len() - kept);
            self.logarithms.drain(..self.logarithms.len() - kept);
            self.starts.retain(|start| *start > self.dropped);
        }
        self.values.push(value);
        self.logarithms.push(value.ln());
        if value.is_nan() {
            self.starts.push(self.len());
        }
    }

    /// Replaces the latest value by these, the first of which is its own and the others follow. They are known in advance,
    /// and so drop no others.
    pub fn replace(&mut self, values: impl Iterator<Item = f64>) {
        self.values.pop();
        self.logarithms.pop();
        for value in values {
            self.values.push(value);
            self.logarithms.push(value.ln());
        }
    }

    /// Values kept.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Number of the first row of the latest trajectory.
    pub fn latest_start(&self) -> usize {
        self.start(self.len())
    }

    /// Number of the first row kept of the longest trajectory, the latest of several, and its values.
    pub fn longest(&self) -> (usize, &[f64]) {
        let mut first = self.dropped;
        let trajectories = self.values.split(|value| value.is_nan()).map(|values| {
            let start = first;
            first += values.len() + 1;
            (start, values)
        });
        trajectories.max_by_key(|(_, values)| values.len()).unwrap_or((self.len(), &[]))
    }

    /// Number of the first row kept of the latest trajectory, and its values.
    pub fn latest(&self) -> (usize, &[f64]) {
        let first = self.latest_start().max(self.dropped);
        (first, &self.values[first - self.dropped..])
    }
}

impl History {
    /// Whether the values of a model file are valid; the latest must be known.
    pub fn is_sound(&self) -> bool {
        self.values.iter().all(|value| value.is_nan() || value.abs() <= LARGEST)
            && self.values.last().is_some_and(|value| !value.is_nan())
    }
}

impl Numbers for History {
    fn pass(&mut self, pass: &mut dyn Pass) {
        pass.count(&mut self.dropped);
        pass.list(&mut self.values);
        if pass.reads() {
            self.logarithms = self.values.iter().map(|value| value.ln()).collect();
            let gaps = self.values.iter().enumerate().filter(|(_, value)| value.is_nan());
            self.starts = gaps.map(|(place, _)| self.dropped + place + 1).collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_reaches_back_beyond_the_beginning_of_a_trajectory() {
        let mut history = History::default();
        for value in [1.0, 2.0, 3.0, f64::NAN, 5.0, 6.0] {
            history.push(value, 100);
        }
        assert_eq!((history.before(5, 0, false), history.before(5, 1, false)), (6.0, 5.0));
        assert!([2, 3, 5, 9].iter().all(|back| history.before(5, *back, false).is_nan()));
        assert_eq!(history.before(2, 2, false).to_bits(), 1.0_f64.to_bits());
        assert_eq!(history.latest(), (4, &[5.0, 6.0][..]));
        assert_eq!(history.longest(), (0, &[1.0, 2.0, 3.0][..]));
        // The same after rows were dropped.
        (7..400).for_each(|value| history.push(f64::from(value), 100));
        assert_eq!(history.start(history.len() - 1), 0);
        history.push(f64::NAN, 100);
        history.push(9.0, 100);
        assert!(history.before(history.len() - 1, 1, false).is_nan());
        assert_eq!(history.before(history.len() - 3, 1, false).to_bits(), 398.0_f64.to_bits());
    }
}
