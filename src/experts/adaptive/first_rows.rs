//! Predictions before the first refit: a linear function of the few rows so far.
//!
//! Ridge regression on standardized columns, with the regularization that has the least leave-one-out error; nothing where
//! that is not clearly below the error of the mean. Weights of rows do not count.

use faer::Mat;
use ndarray::{Array1, Array2, ArrayView1, Axis};

use super::buffer::Sample;
use crate::linalg::{Systems, from_array};

/// Fewest rows from which more than a mean is learned.
pub(super) const FEWEST: usize = 4;

/// Regularizations, for similarities of 1 of a row with itself on average.
const REGULARIZATIONS: [f64; 5] = [1e-4, 1e-3, 1e-2, 1e-1, 1.0];

/// Prior variance of the intercept: almost no penalty.
const INTERCEPT: f64 = 1e4;

/// Its squared leave-one-out error must be at most this share of that of the mean.
pub(super) const WORTH: f64 = 0.5;

/// A linear function of a row for each output.
pub(super) struct FirstRows {
    /// Means of the columns, and slopes (outputs, columns).
    center: Array1<f64>,
    slopes: Array2<f64>,
    /// Value at the center, and the bounds of the predictions: the range of the targets and half as much on either side.
    values: Vec<[f64; 3]>,
}

/// Ridge regression with the regularization of the least leave-one-out error.
struct Line {
    regularization: f64,
    /// That error over the error of the mean: squared, mean of the outputs.
    error: f64,
    /// Coefficients (rows, outputs).
    weights: Array2<f64>,
    /// Rows less the center times the unit.
    z: Array2<f64>,
    means: Array1<f64>,
    center: Array1<f64>,
    unit: Array1<f64>,
}

impl Line {
    /// Learns these rows; `None` if no column varies.
    fn of(sample: &Sample) -> Option<Self> {
        let (n, d) = sample.x.dim();
        let center = sample.x.mean_axis(Axis(0))?;
        let mut z = &sample.x - &center;
        let deviation = z.map_axis(Axis(0), |column| (column.dot(&column) / n as f64).sqrt());
        let varies = |k: usize| deviation[k] > 1e-9 * center[k].abs().max(f64::MIN_POSITIVE);
        let count = (0..d).filter(|k| varies(*k)).count();
        if count == 0 {
            return None;
        }
        // So that a row has a similarity of 1 with itself on average.
        let unit: Array1<f64> = (0..d)
            .map(|k| if varies(k) { 1.0 / (deviation[k] * (count as f64).sqrt()) } else { 0.0 })
            .collect();
        z *= &unit;
        let gram = from_array((z.dot(&z.t()) + INTERCEPT).view());
        let means = sample.y.mean_axis(Axis(0))?;
        let centered = &sample.y - &means;
        let (targets, identity) = (from_array(centered.view()), Mat::<f64>::identity(n, n));
        let mut systems = Systems::default();
        let size = |values: ArrayView1<'_, f64>| values.dot(&values);
        // The mean of the others is off by n / (n - 1) times as much as that of all.
        let of_mean: Vec<f64> = (centered.columns().into_iter())
            .map(|column| size(column) * (n as f64 / (n as f64 - 1.0)).powi(2))
            .collect();
        let mut best: Option<(f64, f64, Array2<f64>)> = None;
        for regularization in REGULARIZATIONS {
            let inverse = systems.solve(gram.as_ref(), regularization, identity.as_ref())?.to_owned();
            let weights = &inverse * &targets;
            let left = |c: usize| (0..n).map(|i| (weights[(i, c)] / inverse[(i, i)]).powi(2)).sum::<f64>();
            let share = |c: usize| if of_mean[c] > 0.0 { left(c) / of_mean[c] } else { 1.0 };
            let error = (0..of_mean.len()).map(share).sum::<f64>() / of_mean.len() as f64;
            if error.is_finite() && best.as_ref().is_none_or(|best| error < best.1) {
                let weights = Array2::from_shape_fn((n, of_mean.len()), |(i, c)| weights[(i, c)]);
                best = Some((regularization, error, weights));
            }
        }
        let (regularization, error, weights) = best?;
        Some(Self { regularization, error, weights, z, means, center, unit })
    }
}

/// The regularization with which a linear function of these rows has the least leave-one-out error.
pub(super) fn regularization_of_line(sample: &Sample) -> Option<f64> {
    Line::of(sample).map(|line| line.regularization)
}

impl FirstRows {
    /// Learns these rows; `None` if they are too few, or the mean is as good.
    pub fn of(sample: &Sample) -> Option<Self> {
        if sample.x.nrows() < FEWEST {
            return None;
        }
        let Line { weights, z, means, center, unit, .. } =
            Line::of(sample).filter(|line| line.error <= WORTH)?;
        let slopes = weights.t().dot(&z) * &unit;
        let value = |c: usize| {
            let (least, most) = (sample.y.column(c).iter())
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), y| (least.min(*y), most.max(*y)));
            let half = 0.5 * (most - least);
            [means[c] + INTERCEPT * weights.column(c).sum(), least - half, most + half]
        };
        let values = (0..means.len()).map(value).collect();
        Some(Self { center, slopes, values })
    }

    /// The prediction of an output, and whether it is within its bounds, where it has a slope.
    pub fn predict(&self, x: ArrayView1<'_, f64>, output: usize) -> (f64, bool) {
        let [value, least, most] = self.values[output];
        let slopes = self.slopes.row(output);
        let off = x.iter().zip(&self.center).zip(slopes).map(|((x, center), slope)| slope * (x - center));
        let made = value + off.sum::<f64>();
        (made.clamp(least, most), (least..=most).contains(&made))
    }

    /// The slopes of an output.
    pub fn slopes(&self, output: usize) -> ArrayView1<'_, f64> {
        self.slopes.row(output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::normal;

    fn drawn(seed: u64, n: usize, d: usize) -> Array2<f64> {
        Array2::from_shape_fn((n, d), |(i, k)| normal(seed, (i * d + k) as u64))
    }

    fn sample(n: usize, seed: u64, noise: f64) -> Sample {
        let x = drawn(seed, n, 3) * &Array1::from(vec![1e3, 1e-6, 1.0]);
        let off = drawn(seed + 100, n, 1);
        let y = Array2::from_shape_fn((n, 1), |(i, _)| {
            7.0 + x[(i, 0)] / 1e3 - 2e6 * x[(i, 1)] + noise * off[(i, 0)]
        });
        Sample { x, y, weights: Array1::ones(n) }
    }

    #[test]
    fn few_rows_give_a_line() {
        for seed in 0..20 {
            let (rows, others) = (sample(8, seed, 0.01), sample(50, 1000 + seed, 0.0));
            let first = FirstRows::of(&rows).unwrap();
            let (mut error, mut inside) = (0.0, 0);
            for (x, y) in others.x.rows().into_iter().zip(&others.y) {
                let (made, within) = first.predict(x, 0);
                if within {
                    (error, inside) = (f64::max(error, (made - y).abs()), inside + 1);
                }
            }
            assert!(error < 0.3 && inside > 25, "{seed}: {error} {inside}");
        }
    }

    #[test]
    fn leave_one_out_errors_are_those_of_rows_left_out() {
        // Noise alone is rarely taken for a line, and a column that does not vary is none.
        let taken = |seed| {
            let mut rows = sample(9, seed, 0.0);
            rows.y = drawn(777 + seed, 9, 1);
            FirstRows::of(&rows).is_some()
        };
        assert!((0..200).filter(|seed| taken(*seed)).count() < 40);
        let mut rows = sample(9, 3, 0.01);
        rows.x.column_mut(2).fill(5.0);
        assert!(FirstRows::of(&rows).unwrap().slopes(0)[2].abs() < 1e-300);
        rows.x.fill(1.0);
        assert!(FirstRows::of(&rows).is_none());
        assert!(FirstRows::of(&sample(3, 0, 0.0)).is_none());
    }
}
