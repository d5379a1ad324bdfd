//! Relative weights of rows.

use ndarray::{Array1, ArrayView1};

use crate::error::{Error, Result};
use crate::persist::{Reader, Writer};

/// Rows whose weights have a geometric mean, which a single large one barely moves.
const FIRST_ROWS: u64 = 100;

/// Weight, in means, beyond which a weight moves the mean no further.
const CLIP: f64 = 100.0;

/// Mean of the positive weights so far, the unit of later weights.
///
/// Experts select their regularization themselves, so only ratios of weights matter: weights that
/// sum to one give the same model as ones. A row has its weight over the mean up to it, which does
/// not depend on how a stream is split into calls. The mean is the geometric one of the first rows,
/// then the arithmetic one of clipped weights: else all rows after an enormous one would count for
/// nothing.
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
        if self.rows <= FIRST_ROWS {
            // Equal weights stay exact.
            let before = if self.rows == 1 { weight } else { self.mean };
            let ratio = (weight / before).clamp(f64::MIN_POSITIVE, f64::MAX);
            self.mean = before * (ratio.ln() / self.rows as f64).exp();
        } else {
            self.mean += (weight.min(CLIP * self.mean) - self.mean) / self.rows as f64;
        }
        weight / self.mean
    }

    /// Weights of the next rows relative to those before, all 1 if none are given; `None` if all
    /// are 1 so far.
    pub fn relative(mut self, weights: Option<ArrayView1<'_, f64>>, rows: usize) -> Option<Array1<f64>> {
        let are_ones = self.rows == 0 || self.mean.to_bits() == 1.0_f64.to_bits();
        match weights {
            None if are_ones => None,
            None => Some((0..rows).map(|_| self.meet(1.0)).collect()),
            Some(weights) => Some(weights.mapv(|weight| self.meet(weight))),
        }
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
        let relative_of =
            |weights: &Array1<f64>| Weighing::default().relative(Some(weights.view()), 4).unwrap();
        let relative = relative_of(&weights);
        for unit in [1e-200, 1e-6, 1e200] {
            let other = relative_of(&(&weights * unit));
            assert!(relative.iter().zip(&other).all(|(one, other)| (one - other).abs() < 1e-12));
        }
        assert!((relative[1] - 3.0_f64.sqrt()).abs() < 1e-12);
        assert!((relative[3] - 2.0 / 6.0_f64.cbrt()).abs() < 1e-12);
        assert!(relative[2].abs() < f64::EPSILON);
    }

    #[test]
    fn rows_after_an_enormous_weight_count() {
        for first in [0, 3, 150, 600] {
            let mut weights = Array1::ones(2000);
            weights[first] = 1e9;
            let relative = Weighing::default().relative(Some(weights.view()), 2000).unwrap();
            let later = relative.slice(ndarray::s![first + 200..]);
            assert!(later.iter().all(|weight| (0.5..1.5).contains(weight)), "{first}: {}", later[0]);
        }
        // Weights that have fallen are small.
        let weights = Array1::from_shape_fn(2000, |i| if i < 1000 { 1.0 } else { 0.01 });
        let relative = Weighing::default().relative(Some(weights.view()), 2000).unwrap();
        assert!(relative[1999] < 0.03);
    }

    #[test]
    fn rows_without_weights_are_rows_of_weight_one() {
        let mut weighing = Weighing::default();
        assert!(weighing.clone().relative(None, 3).is_none());
        weighing.meet_rows(None, 3);
        assert!(weighing.clone().relative(None, 3).is_none());
        weighing.meet_rows(Some(Array1::from_elem(3, 99.0).view()), 3);
        let ones = Array1::ones(2);
        let given = weighing.clone().relative(Some(ones.view()), 2).unwrap();
        assert_eq!(weighing.relative(None, 2).unwrap(), given);
        assert!((given[0] - (1.0_f64 / 99.0_f64.powf(3.0 / 7.0))).abs() < 1e-12);
    }
}
