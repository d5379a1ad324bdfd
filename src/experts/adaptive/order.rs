//! Rows that come in an order, such as a table sorted by a column, and rows whose means have moved.
//!
//! Both look like drift to a model that judges itself by its latest rows: errors rise where the order enters another
//! region, and the latest targets predict the next one. A sorted table differs from drift in that a model of all rows
//! remains right about the earlier ones, which a sample over all time shows.

use ndarray::{Array2, ArrayView1, ArrayView2};

use super::buffer::{Sample, products_of_neighbours};
use crate::error::{Error, Result};
use crate::persist::{Reader, Writer};

/// Deviations beyond which rows are equally far.
const FAR: f64 = 5.0;

/// The variance of equal values is rounding: below this share of that of others.
const ROUNDING: f64 = 1e-24;

/// Rows whose mean shows whether they continue an order; with fewer it must be nearer.
const ENOUGH: usize = 8;

/// Rows of a label from which experts know it.
const FEW: f64 = 64.0;

/// Rows in which a column that was constant has differed, from which on it can be learned, and share of the rows since: a rare
/// category is missing in many samples.
const NEW_ROWS: f64 = 16.0;
const NEW_SHARE: f64 = 0.1;

/// Mean and deviation of each column of some rows.
fn moments(x: ArrayView2<'_, f64>) -> Vec<(f64, f64)> {
    let of = |column: ArrayView1<'_, f64>| {
        let n = column.len().max(1) as f64;
        let mean = column.sum() / n;
        (mean, (column.fold(0.0, |sum, v| sum + (v - mean) * (v - mean)) / n).sqrt())
    };
    x.columns().into_iter().map(of).collect()
}

/// Whether the mean of a column or target differs between two samples by this many deviations of the second.
pub(super) fn differ(latest: &Sample, history: &Sample, deviations: f64) -> bool {
    let pairs = [(&latest.x, &history.x), (&latest.y, &history.y)];
    pairs.into_iter().any(|(latest, history)| {
        let (latest, history) = (moments(latest.view()), moments(history.view()));
        let far = |(one, other): (&(f64, f64), &(f64, f64))| (one.0 - other.0).abs() > deviations * other.1;
        latest.iter().zip(&history).any(far)
    })
}

/// Standard errors by which the mean of some rows must be off that of all, for it to tell anything.
const ERRORS: f64 = 6.0;

/// Whether the mean of a column differs between the latest rows and those of all time by more than chance allows the
/// largest of as many differences, [`ERRORS`] standard errors for few columns and more for many. A standard error counts the
/// latest rows, in their order, as the fewer independent ones that their autocorrelation leaves: the mean of a column that
/// wanders is elsewhere without any order.
pub(super) fn have_other_means(latest: ArrayView2<'_, f64>, history: ArrayView2<'_, f64>) -> bool {
    let largest = (ERRORS * ERRORS + 2.0 * (latest.ncols().max(1) as f64).ln()).sqrt();
    let differs = |(column, (mean, deviation)): (ArrayView1<'_, f64>, (f64, f64))| {
        let independent = column.len().max(1) as f64 * independence(column);
        let error = (independent.recip() + 1.0 / history.nrows().max(1) as f64).sqrt();
        let own = column.sum() / column.len().max(1) as f64;
        // The mean of equal values differs from them by rounding.
        (own - mean).abs() > largest * error * deviation + CONSTANT * mean.abs()
    };
    latest.columns().into_iter().zip(moments(history)).any(differs)
}

/// How many independent values have a mean as sure as that of one of these values in their order, if each depends on the one
/// before: `(1 - r) / (1 + r)` with the autocorrelation `r` of neighbours.
fn independence(values: ArrayView1<'_, f64>) -> f64 {
    let mean = values.sum() / values.len().max(1) as f64;
    let [products, squares] = products_of_neighbours(values.iter().copied(), mean);
    let r = if squares > 0.0 { (products / squares).clamp(0.0, 1.0) } else { 0.0 };
    (1.0 - r) / (1.0 + r)
}

/// Difference of two means, as a share of them, that is one of rounding.
const CONSTANT: f64 = 1e-12;

/// Share of the changes of a sorted target that have one sign. A level that rises by half its noise with each row has 64 %.
const SORTED: f64 = 0.9;

/// Fewest changes that show it: a step tells nothing.
const CHANGES: usize = 16;

/// Whether a column or a target changes in one direction nearly always, in rows in their order.
pub(super) fn rise_or_fall(values: ArrayView2<'_, f64>) -> bool {
    values.columns().into_iter().any(|values| {
        let changes = || values.iter().zip(values.iter().skip(1)).map(|(before, after)| after - before);
        let [up, down] = [changes().filter(|c| *c > 0.0).count(), changes().filter(|c| *c < 0.0).count()];
        up + down >= CHANGES && up.max(down) as f64 > SORTED * (up + down) as f64
    })
}

/// Whether the mean of some rows is so much nearer to that of the latest rows than to that of all: the ratio of the squared
/// distances, in deviations of all rows, is below this. Rows whose mean is off that of all by chance only are not of the
/// latest: in rows sorted by a target, the means of columns may stay where they are.
pub(super) fn continues(
    rows: ArrayView2<'_, f64>,
    latest: ArrayView2<'_, f64>,
    history: ArrayView2<'_, f64>,
    ratio: f64,
) -> bool {
    // The mean of few rows may be near by chance.
    let few = (rows.nrows() as f64 / ENOUGH as f64).min(1.0);
    let variance = 1.0 / rows.nrows().max(ENOUGH) as f64 + 1.0 / history.nrows().max(1) as f64;
    let columns = rows.ncols() as f64;
    let by_chance = variance * (columns + ERRORS * (2.0 * columns).sqrt());
    let [rows, latest, history] = [rows, latest, history].map(moments);
    let (mut near, mut far) = (0.0, 0.0);
    for ((row, latest), history) in rows.iter().zip(&latest).zip(&history) {
        let square = |mean: f64| clip(row.0, mean, history.1, FAR).powi(2);
        near += square(latest.0);
        far += square(history.0);
    }
    far > by_chance && near < ratio * few * far
}

/// The Kolmogorov-Smirnov distance of two samples: the largest difference of their distribution functions.
pub(super) fn distance(one: ArrayView1<'_, f64>, other: ArrayView1<'_, f64>) -> f64 {
    let sorted = |values: ArrayView1<'_, f64>| {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        values
    };
    let (one, other) = (sorted(one), sorted(other));
    let share = |of: &[f64], value: f64| of.partition_point(|v| *v <= value) as f64 / of.len().max(1) as f64;
    let gap = |value: &f64| (share(&one, *value) - share(&other, *value)).abs();
    one.iter().chain(&other).map(gap).fold(0.0, f64::max)
}

/// How far the means of columns and targets have moved since a sample.
#[derive(Clone, Debug, Default)]
pub(super) struct Movement {
    /// Mean and deviation of each column and target in the sample; none before there is one.
    sample: Vec<(f64, f64)>,
    /// Sums of clipped deviations from these means since.
    sums: Vec<f64>,
    rows: u64,
    /// Deviations at which values are clipped.
    clip: f64,
}

impl Movement {
    /// Begins with this sample.
    pub fn of(sample: &Sample, limit: f64) -> Self {
        let moments = [moments(sample.x.view()), moments(sample.y.view())].concat();
        let clipped = |(k, (mean, deviation)): (usize, &(f64, f64))| {
            let d = sample.x.ncols();
            let column = if k < d { sample.x.column(k) } else { sample.y.column(k - d) };
            let sum: f64 = column.iter().map(|value| clip(*value, *mean, *deviation, limit)).sum();
            (mean + sum / column.len().max(1) as f64 * deviation, *deviation)
        };
        // The mean of clipped values, so that a skewed column has not moved at once.
        let sample: Vec<_> = moments.iter().enumerate().map(clipped).collect();
        Self { sums: vec![0.0; sample.len()], sample, rows: 0, clip: limit }
    }

    /// Takes a row.
    pub fn add(&mut self, x: ArrayView1<'_, f64>, y: ArrayView1<'_, f64>) {
        for ((sum, (mean, deviation)), value) in self.sums.iter_mut().zip(&self.sample).zip(x.iter().chain(y))
        {
            *sum += clip(*value, *mean, *deviation, self.clip);
        }
        self.rows += 1;
    }

    /// Whether a mean has moved by this many deviations. A column that was constant has moved if it no longer is.
    pub fn exceeds(&self, deviations: f64) -> bool {
        self.rows > 0 && self.sums.iter().any(|sum| sum.abs() > deviations * self.rows as f64)
    }

    /// Whether a column or target was the same in the whole sample.
    pub fn has_constant(&self) -> bool {
        self.sample.iter().any(|(_, deviation)| *deviation == 0.0)
    }

    /// Whether a target, after this many columns, was the same in the whole sample and is another now.
    pub fn first_varies(&self, columns: usize) -> bool {
        let targets = self.sample.iter().zip(&self.sums).skip(columns);
        targets.into_iter().any(|((_, deviation), sum)| *deviation == 0.0 && *sum != 0.0)
    }

    /// Whether a column, of the first as many, was the same in the whole sample, as that of a category which had not come yet,
    /// and has differed in enough rows since to be learned.
    pub fn has_new_column(&self, columns: usize) -> bool {
        let enough = self.clip * NEW_ROWS.max(NEW_SHARE * self.rows as f64);
        let mut columns = self.sample.iter().zip(&self.sums).take(columns);
        columns.any(|((_, deviation), sum)| *deviation == 0.0 && sum.abs() >= enough)
    }

    /// Whether fewer than [`FEW`] of the sample's rows, this many, had a label, in the targets after this many columns.
    pub fn has_rare(&self, columns: usize, rows: u64) -> bool {
        // A share p of a label has variance 4 p (1 - p).
        let count = |deviation: f64| 0.25 * deviation * deviation * rows as f64;
        self.sample.iter().skip(columns).any(|(_, deviation)| count(*deviation) < FEW)
    }

    pub fn write(&self, out: &mut Writer) {
        let numbers: Vec<f64> =
            self.sample.iter().zip(&self.sums).flat_map(|((mean, dev), sum)| [*mean, *dev, *sum]).collect();
        out.matrix("movement.sums", self.sample.len(), 3, &numbers);
        out.counts("movement.rows", &[self.rows]);
    }

    /// What [`write`](Self::write) wrote, for as many columns and targets.
    pub fn read(columns: usize, clip: f64, from: &Reader<'_>) -> Result<Self> {
        let (n, width, numbers) = from.matrix("movement.sums")?;
        let sound =
            width == 3 && (n == 0 || n == columns) && numbers.chunks_exact(3).all(|row| row[1] >= 0.0);
        if !sound {
            return Err(Error::file("movement.sums does not fit the columns"));
        }
        let [rows] = from.counts("movement.rows")?;
        let rows3 = || numbers.chunks_exact(3);
        let sample = rows3().map(|row| (row[0], row[1])).collect();
        Ok(Self { sample, sums: rows3().map(|row| row[2]).collect(), rows, clip })
    }
}

/// A value in deviations from a mean, clipped.
fn clip(value: f64, mean: f64, deviation: f64, limit: f64) -> f64 {
    if deviation > 0.0 {
        ((value - mean) / deviation).clamp(-limit, limit)
    } else if value.to_bits() == mean.to_bits() {
        0.0
    } else {
        limit.copysign(value - mean)
    }
}

/// Whether the variance of a target in the rows before the last `block` is less than this share of that in these: it was the
/// same in all or nearly all of them, so that larger errors than before are no evidence of a change.
pub(super) fn hardly_varied(y: &Array2<f64>, block: usize, share: f64) -> bool {
    let before = y.nrows().saturating_sub(block);
    let variances = |rows| moments(rows).into_iter().map(|(_, deviation)| deviation * deviation);
    let pairs =
        variances(y.slice(ndarray::s![..before, ..])).zip(variances(y.slice(ndarray::s![before.., ..])));
    before > 0 && pairs.into_iter().any(|(earlier, latest)| earlier < share.max(ROUNDING) * latest)
}

#[cfg(test)]
mod tests {
    use ndarray::Array1;

    use super::*;
    use crate::random::normal;

    fn sample(n: usize, shift: f64) -> Sample {
        let x = Array2::from_shape_fn((n, 2), |(i, k)| normal(1, (2 * i + k) as u64) + shift * k as f64);
        Sample { y: x.sum_axis(ndarray::Axis(1)).insert_axis(ndarray::Axis(1)), x, weights: Array1::ones(n) }
    }

    #[test]
    fn the_distance_is_that_of_distribution_functions() {
        let at = |from: f64| Array1::from_shape_fn(100, |i| from + i as f64);
        assert!(distance(at(0.0).view(), at(0.0).view()).abs() < 1e-12);
        assert!((distance(at(0.0).view(), at(30.0).view()) - 0.3).abs() < 1e-12);
        assert!((distance(at(0.0).view(), at(500.0).view()) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn means_that_move_are_found_and_outliers_do_not_move_them() {
        let mut movement = Movement::of(&sample(500, 0.0), 3.0);
        let rows = sample(300, 0.0);
        rows.x.rows().into_iter().zip(rows.y.rows()).for_each(|(x, y)| movement.add(x, y));
        let far = Array1::from_vec(vec![1e12, 0.0]);
        movement.add(far.view(), rows.y.row(0));
        assert!(!movement.exceeds(0.3) && !differ(&rows, &sample(500, 0.0), 0.3));
        let rows = sample(900, 2.0);
        rows.x.rows().into_iter().zip(rows.y.rows()).for_each(|(x, y)| movement.add(x, y));
        assert!(movement.exceeds(0.5) && differ(&rows, &sample(500, 0.0), 0.5));
    }

    #[test]
    fn rows_continue_the_latest_only_if_their_mean_is_off_that_of_all() {
        let rows = |n: usize, seed: u64, shift: f64| {
            Array2::from_shape_fn((n, 4), |(i, k)| {
                normal(seed, (4 * i + k) as u64) + if k == 0 { shift } else { 0.0 }
            })
        };
        let mut by_chance = 0;
        for seed in 0..40 {
            let (history, latest) = (rows(128, 100 + seed, 0.0), rows(64, 200 + seed, 1.5));
            assert!(continues(rows(200, 300 + seed, 1.7).view(), latest.view(), history.view(), 0.5));
            assert!(!continues(rows(200, 300 + seed, 0.0).view(), latest.view(), history.view(), 0.5));
            let alike = rows(64, 400 + seed, 0.0);
            let asked = rows(500, 500 + seed, 0.0);
            by_chance += usize::from(continues(asked.view(), alike.view(), history.view(), 0.5));
        }
        assert_eq!(by_chance, 0);
    }

    use crate::random::permutation;

    #[test]
    fn a_permutation_has_each_row_once() {
        let mut order = permutation(1000, 3);
        assert!(order.windows(2).filter(|pair| pair[0] < pair[1]).count() < 600);
        order.sort_unstable();
        assert!(order.iter().enumerate().all(|(i, row)| i == *row));
    }
}
