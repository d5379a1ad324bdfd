//! Trees: functions that are constant on the boxes which thresholds of single columns cut out.
//!
//! Each is a cell of basis and learner like any other: the coordinates of a row are the indicators of the nodes that it
//! falls in, and the learner is the shrunken mean of each node. A [`Tree`] takes rows as they come; [`Boosted`] trees
//! are fitted to stored rows.

mod boosted;
mod cuts;
mod tree;

pub(crate) use boosted::{Boosted, Boosting};
pub(crate) use tree::{Growing, Tree};

/// Rows to learn, one after the other.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    /// Numbers of all rows (n, features), targets (n, outputs) and weights (n).
    pub x: &'a [f64],
    pub y: &'a [f64],
    pub weights: &'a [f64],
    /// Numbers of a row, and its targets.
    pub features: usize,
    pub outputs: usize,
}

impl Rows<'_> {
    fn len(&self) -> usize {
        self.weights.len()
    }

    fn value(&self, row: usize, column: usize) -> f64 {
        self.x[row * self.features + column]
    }

    fn target(&self, row: usize, output: usize) -> f64 {
        self.y[row * self.outputs + output]
    }

    /// Weighted mean of the targets.
    fn means(&self) -> Vec<f64> {
        let total: f64 = self.weights.iter().sum();
        let mean = |c: usize| {
            let sum: f64 = (0..self.len()).map(|i| self.weights[i] * self.target(i, c)).sum();
            if total > 0.0 { sum / total } else { 0.0 }
        };
        (0..self.outputs).map(mean).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::normal;

    /// Rows of three columns, of which the last has four values, and targets that depend on two.
    pub(super) struct Stream {
        pub x: Vec<f64>,
        pub y: Vec<f64>,
        pub weights: Vec<f64>,
        pub outputs: usize,
    }

    impl Stream {
        pub fn new(n: usize, outputs: usize) -> Self {
            let row = |i: usize| {
                let at = |k: usize| normal(7, (3 * i + k) as u64);
                [at(0), at(1), (2.0 * at(2)).round().clamp(-1.0, 2.0)]
            };
            let x: Vec<f64> = (0..n).flat_map(row).collect();
            let target = |x: &[f64], c: usize| (3.0 * x[0]).sin() + c as f64 * x[2];
            let y = x.chunks(3).flat_map(|x| (0..outputs).map(move |c| target(x, c))).collect();
            Self { x, y, weights: (0..n).map(|i| 0.5 + (i % 3) as f64).collect(), outputs }
        }

        pub fn rows(&self) -> Rows<'_> {
            let Self { x, y, weights, outputs } = self;
            Rows { x, y, weights, features: 3, outputs: *outputs }
        }
    }
}
