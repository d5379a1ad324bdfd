//! Trees: functions that are constant on the boxes which thresholds of single columns cut out.
//!
//! Each is a cell of basis and learner like any other: the coordinates of a row are the indicators of the nodes that it
//! falls in, and the learner is the shrunken mean of each node. A [`Tree`] takes rows as they come; [`Boosted`] trees
//! are fitted to stored rows. Both are made in parts ([`Gradual`]).

mod boosted;
mod cuts;
mod file;
mod fitting;
mod gradual;
mod tree;

pub(crate) use boosted::{Boosted, Boosting};
pub(crate) use fitting::Fitting;
pub(crate) use gradual::Gradual;
pub(crate) use tree::{Growing, Growth, Tree};

/// Rows are copied in blocks of as many, so that both layouts stay in the cache.
const COPIED: usize = 32;

/// Rows to learn, by columns.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    /// Numbers (features, n), targets (n, outputs) and weights (n).
    columns: Vec<f64>,
    targets: Vec<f64>,
    weights: Vec<f64>,
    features: usize,
    outputs: usize,
}

impl Rows {
    /// As many rows as there are weights, each of the first numbers of `row`.
    pub fn new<'a>(
        (features, outputs): (usize, usize),
        row: impl Fn(usize) -> &'a [f64],
        targets: Vec<f64>,
        weights: Vec<f64>,
    ) -> Self {
        let n = weights.len();
        let mut columns = vec![0.0; features * n];
        for start in (0..n).step_by(COPIED) {
            let end = n.min(start + COPIED);
            for k in 0..features {
                for (i, value) in columns[k * n + start..k * n + end].iter_mut().enumerate() {
                    *value = row(start + i)[k];
                }
            }
        }
        Self { columns, targets, weights, features, outputs }
    }

    fn len(&self) -> usize {
        self.weights.len()
    }

    fn column(&self, k: usize) -> &[f64] {
        &self.columns[k * self.len()..(k + 1) * self.len()]
    }

    fn target(&self, row: usize, output: usize) -> f64 {
        self.targets[row * self.outputs + output]
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

        pub fn rows(&self) -> Rows {
            self.first(self.weights.len())
        }

        pub fn first(&self, n: usize) -> Rows {
            let (y, weights) = (self.y[..n * self.outputs].to_vec(), self.weights[..n].to_vec());
            Rows::new((3, self.outputs), |i| &self.x[3 * i..], y, weights)
        }
    }

    #[test]
    fn rows_are_stored_by_columns() {
        for n in [0, 1, 31, 32, 33, 100] {
            let stream = Stream::new(n, 2);
            let rows = stream.rows();
            for (i, x) in stream.x.chunks(3).enumerate() {
                assert!((0..3).all(|k| rows.column(k)[i].to_bits() == x[k].to_bits()));
            }
        }
    }
}
