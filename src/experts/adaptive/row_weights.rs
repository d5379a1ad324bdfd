//! Relative weights of rows.

use ndarray::{Array1, ArrayView1};

use crate::error::{Error, Result};
use crate::persist::{Reader, Writer};

/// Mean of the positive weights so far, the unit of later weights.
///
/// Experts select their regularization themselves, so only ratios of weights matter: weights that
/// sum to one give the same model as ones. A row has its weight over the mean up to it, which does
/// not depend on how a stream is split into calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Weighing {
    mean: f64,
    rows: u64,
}

impl Weighing {
    fn meet(&mut self, weight: f64) -> f64 {
        if weight <= 0.0 {
            return 0.0;
        }
        self.rows += 1;
        self.mean += (weight - self.mean) / self.rows as f64;
        weight / self.mean
    }

    /// Weights of the next rows relative to those before.
    pub fn relative(mut self, weights: ArrayView1<'_, f64>) -> Array1<f64> {
        weights.mapv(|weight| self.meet(weight))
    }

    /// Records the weights of rows, all 1 if there are none.
    pub fn meet_rows(&mut self, weights: Option<ArrayView1<'_, f64>>, rows: usize) {
        match weights {
            Some(weights) => weights.iter().for_each(|weight| {
                self.meet(*weight);
            }),
            None => (0..rows).for_each(|_| {
                self.meet(1.0);
            }),
        }
    }

    pub fn write(&self, out: &mut Writer) {
        out.vector("weighing.mean", &[self.mean]);
        out.counts("weighing.rows", &[self.rows]);
    }

    /// Reads what [`write`](Self::write) wrote.
    pub fn read(from: &Reader<'_>) -> Result<Self> {
        let mean = from.vector("weighing.mean", 1)?[0];
        let [rows] = from.counts("weighing.rows")?;
        if mean < 0.0 || (mean > 0.0) != (rows > 0) {
            return Err(Error::file("weighing.mean is no mean of weights"));
        }
        Ok(Self { mean, rows })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_count_by_their_ratios() {
        let weights = Array1::from_vec(vec![1.0, 3.0, 0.0, 2.0]);
        let relative = Weighing::default().relative(weights.view());
        for unit in [1e-200, 1e-6, 1e200] {
            let other = Weighing::default().relative((&weights * unit).view());
            assert!(relative.iter().zip(&other).all(|(one, other)| (one - other).abs() < 1e-12));
        }
        assert!((relative[1] - 1.5).abs() < 1e-12 && (relative[3] - 1.0).abs() < 1e-12);
        assert!(relative[2].abs() < f64::EPSILON);
    }
}
