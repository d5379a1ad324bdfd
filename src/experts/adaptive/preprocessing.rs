//! Preprocessing of a row before an expert compares it: column transforms and a metric.

use std::sync::Arc;

use ndarray::{Array2, ArrayView2, Axis};

use super::params::PreprocessingParams;
use crate::error::{Error, Result};
use crate::kernel::{Map, Metric};
use crate::linalg::padded;
use crate::persist::{Reader, Writer};
use crate::threads::{ask_each_block, map_each};
use crate::uncertainty::normal_quantile;

/// Transform of single columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transform {
    /// Standardized and clipped.
    Standard,
    /// Normal scores: the standard normal quantile at the share of rows below.
    Scores,
}

impl Transform {
    pub const ALL: [Self; 2] = [Self::Standard, Self::Scores];
}

/// What slopes are with respect to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Columns {
    /// Columns as they came.
    Raw,
    /// Columns after their transforms, in which each has a variance of 1.
    Transformed,
}

/// Transform of one column: piecewise linear between knots, constant outside.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    /// Increasing values of the column.
    at: Vec<f64>,
    /// Their images.
    to: Vec<f64>,
}

impl Column {
    /// Fits the transform to values of the column.
    fn of(transform: Transform, values: &[f64], params: &PreprocessingParams) -> Self {
        let first = values.first().copied().unwrap_or(0.0);
        if values.iter().all(|value| value.to_bits() == first.to_bits()) {
            return Self { at: vec![first], to: vec![0.0] };
        }
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        let spread: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        let deviation = (spread / values.len().max(1) as f64).sqrt();
        if deviation.is_nan() || deviation <= 1e-12 * mean.abs() {
            return Self { at: vec![mean], to: vec![0.0] };
        }
        match transform {
            Transform::Standard => {
                let clip = params.clip;
                let at = [-clip, clip].map(|far| mean + far * deviation);
                Self { at: at.to_vec(), to: vec![-clip, clip] }
            }
            Transform::Scores => Self::scores(values, params),
        }
    }

    fn scores(values: &[f64], params: &PreprocessingParams) -> Self {
        let PreprocessingParams { score_steps, score_values, .. } = *params;
        let n = values.len();
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let steps = score_steps.min(((n - 1) / score_values).max(score_values)).min(n - 1);
        let mut at: Vec<f64> = (0..=steps).map(|i| sorted[i * (n - 1) / steps]).collect();
        let same = rounding_of(&sorted);
        at.dedup_by(|next, kept| *next - *kept <= same);
        let share = |value: &f64| {
            let below = sorted.partition_point(|other| *other < value - same);
            let through = sorted.partition_point(|other| *other <= value + same);
            (below + through) as f64 / (2 * n) as f64
        };
        let edge = 0.5 / n as f64;
        let to = at.iter().map(|value| normal_quantile(share(value).clamp(edge, 1.0 - edge))).collect();
        let raw = Self { at, to };
        // Ties reduce the variance of the scores.
        let scores: Vec<f64> = values.iter().map(|value| raw.apply(*value)).collect();
        let mean = scores.iter().sum::<f64>() / n as f64;
        let deviation = (scores.iter().map(|s| (s - mean) * (s - mean)).sum::<f64>() / n as f64).sqrt();
        Self { to: raw.to.iter().map(|score| (score - mean) / deviation).collect(), ..raw }
    }

    /// Index of the first knot of a value's piece, or `None` outside.
    fn piece(&self, value: f64) -> Option<usize> {
        let above = self.at.partition_point(|at| *at <= value);
        (above > 0 && above < self.at.len()).then(|| above - 1)
    }

    fn slope_of(&self, piece: usize) -> f64 {
        (self.to[piece + 1] - self.to[piece]) / (self.at[piece + 1] - self.at[piece])
    }

    pub fn apply(&self, value: f64) -> f64 {
        match self.piece(value) {
            Some(piece) => self.to[piece] + (value - self.at[piece]) * self.slope_of(piece),
            None if value < self.at[0] => self.to[0],
            None => self.to[self.to.len() - 1],
        }
    }

    /// Its derivative; 0 beyond the knots.
    pub fn slope(&self, value: f64) -> f64 {
        self.piece(value).map_or(0.0, |piece| self.slope_of(piece))
    }

    /// How far a value lies beyond those known, in units of their range.
    pub fn excess(&self, value: f64) -> f64 {
        let (low, high) = (self.at[0], self.at[self.at.len() - 1]);
        (low - value).max(value - high).max(0.0)
            / (high - low).max(1e-9 * low.abs().max(high.abs())).max(f64::MIN_POSITIVE)
    }

    /// Whether a value is out of range.
    pub fn is_beyond(&self, value: f64, margin: f64) -> bool {
        let (low, high) = (self.at[0], self.at[self.at.len() - 1]);
        let margin = margin * (high - low) + 1e-9 * low.abs().max(high.abs());
        value < low - margin || value > high + margin
    }
}

/// Rounding of a computed value, as a share of the largest of the middle eight tenths: of sines of the hours of a century.
const ROUNDING: f64 = 1e-11;

/// The same as a share of the range of these values.
const SMALL: f64 = 1e-9;

/// Values closer to zero than this many times the rounding, without any between, are zero but for rounding.
const GAP: f64 = 100.0;

/// Difference of sorted values that is one of rounding, as between the sines of whole periods: scores between them would
/// have a slope of 1e15. None where values span decades, with some between rounding and the others.
fn rounding_of(sorted: &[f64]) -> f64 {
    let last = sorted.len() - 1;
    let (low, high) = (sorted[last / 10], sorted[last - last / 10]);
    // Times in seconds since 1970 differ little in proportion to their values.
    let rounding = (ROUNDING * low.abs().max(high.abs())).min(SMALL * (high - low));
    let spans = sorted.iter().any(|value| (rounding..GAP * rounding).contains(&value.abs()));
    if spans { 0.0 } else { rounding }
}

/// Transforms of all columns.
pub(super) fn columns(
    transform: Transform,
    x: ArrayView2<'_, f64>,
    params: &PreprocessingParams,
) -> Vec<Column> {
    x.columns().into_iter().map(|values| Column::of(transform, &values.to_vec(), params)).collect()
}

/// Transformed rows.
pub(super) fn transformed(columns: &[Column], x: ArrayView2<'_, f64>) -> Array2<f64> {
    Array2::from_shape_fn(x.raw_dim(), |(i, k)| columns[k].apply(x[(i, k)]))
}

/// Transforms and metric.
#[derive(Clone, Debug)]
pub(super) struct Preprocessing {
    columns: Vec<Column>,
    metric: Metric,
    map: Map,
}

/// Rows after preprocessing, computed once for each distinct preprocessing.
pub(super) struct Views(Vec<(Arc<Preprocessing>, Array2<f64>)>);

impl Views {
    /// Rows after these preprocessings, many of which may be equal.
    pub fn of<'a>(all: impl IntoIterator<Item = &'a Arc<Preprocessing>>, x: ArrayView2<'_, f64>) -> Self {
        let different = distinct(all);
        let seen = map_each(&different, |preprocessing| preprocessing.apply(x));
        Self(different.into_iter().zip(seen).collect())
    }

    /// The same, interruptible (see [`interrupt`](crate::interrupt)).
    pub fn asked<'a>(
        all: impl IntoIterator<Item = &'a Arc<Preprocessing>>,
        x: ArrayView2<'_, f64>,
    ) -> Result<Self> {
        let different = distinct(all);
        let mut seen = vec![Array2::default((0, 0)); different.len()];
        ask_each_block(different.iter().zip(&mut seen), |(preprocessing, seen)| {
            *seen = preprocessing.apply(x);
        })?;
        Ok(Self(different.into_iter().zip(seen).collect()))
    }

    /// Some of the rows, in this order.
    pub fn select(&self, rows: &[usize]) -> Self {
        Self(
            self.0
                .iter()
                .map(|(preprocessing, seen)| (Arc::clone(preprocessing), seen.select(Axis(0), rows)))
                .collect(),
        )
    }

    /// Rows after one of the preprocessings.
    pub fn through(&self, preprocessing: &Arc<Preprocessing>) -> ArrayView2<'_, f64> {
        let known = self.0.iter().find(|(known, _)| Arc::ptr_eq(known, preprocessing));
        known.unwrap_or_else(|| unreachable!("it is one of those looked through")).1.view()
    }
}

/// Distinct preprocessings.
fn distinct<'a>(all: impl IntoIterator<Item = &'a Arc<Preprocessing>>) -> Vec<Arc<Preprocessing>> {
    let mut different: Vec<Arc<Preprocessing>> = Vec::new();
    for preprocessing in all {
        if !different.iter().any(|known| Arc::ptr_eq(known, preprocessing)) {
            different.push(Arc::clone(preprocessing));
        }
    }
    different
}

impl Preprocessing {
    pub fn new(columns: Vec<Column>, metric: Metric) -> Result<Self> {
        let map = Map::new(&metric)?;
        Ok(Self { columns, metric, map })
    }

    /// Whether both give the same rows.
    pub fn is_like(&self, other: &Self) -> bool {
        self.columns == other.columns && self.metric == other.metric
    }

    /// Number of columns after preprocessing.
    pub fn width(&self) -> usize {
        self.map.width()
    }

    pub fn metric(&self) -> &Metric {
        &self.metric
    }

    /// Whether columns become normal scores, which have more than two knots.
    pub fn is_of_scores(&self) -> bool {
        self.columns.iter().any(|column| column.at.len() > 2)
    }

    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Preprocesses a row into the first numbers of `out`, which is padded; `scratch` is as long as
    /// the row.
    pub fn write(&self, x: impl Iterator<Item = f64>, scratch: &mut [f64], out: &mut [f64]) {
        let seen = self.columns.iter().zip(x).map(|(column, x)| column.apply(x));
        scratch.iter_mut().zip(seen).for_each(|(to, from)| *to = from);
        self.map.write(scratch, out);
    }

    /// Preprocesses rows.
    pub fn apply(&self, x: ArrayView2<'_, f64>) -> Array2<f64> {
        let mut out = Array2::zeros((x.nrows(), self.width()));
        let (mut scratch, mut row) = (vec![0.0; x.ncols()], vec![0.0; padded(self.width())]);
        for (x, mut out) in x.rows().into_iter().zip(out.rows_mut()) {
            self.write(x.iter().copied(), &mut scratch, &mut row);
            out.iter_mut().zip(&row).for_each(|(to, from)| *to = *from);
        }
        out
    }

    /// Adds the gradient with respect to the columns of a row `x`, given that with respect to the preprocessed
    /// row.
    pub fn add_gradient(&self, x: &[f64], seen: &[f64], columns: Columns, out: &mut [f64]) {
        let mut inner = vec![0.0; x.len()];
        self.map.add_transposed(seen, &mut inner);
        for (((out, inner), column), x) in out.iter_mut().zip(inner).zip(&self.columns).zip(x) {
            *out += match columns {
                Columns::Raw => inner * column.slope(*x),
                Columns::Transformed if column.excess(*x) > 0.0 => 0.0,
                Columns::Transformed => inner,
            };
        }
    }

    /// Rows whose columns are transformed, before the metric.
    pub fn transformed(&self, x: ArrayView2<'_, f64>) -> Array2<f64> {
        transformed(&self.columns, x)
    }

    pub fn write_file(&self, name: &str, out: &mut Writer) {
        let lengths: Vec<u64> = self.columns.iter().map(|column| column.at.len() as u64).collect();
        out.counts(&format!("{name}.knots"), &lengths);
        let all =
            |of: fn(&Column) -> &Vec<f64>| self.columns.iter().flat_map(of).copied().collect::<Vec<_>>();
        out.vector(&format!("{name}.at"), &all(|column| &column.at));
        out.vector(&format!("{name}.to"), &all(|column| &column.to));
        out.counts(&format!("{name}.full"), &[u64::from(matches!(self.metric, Metric::Full(_)))]);
        match &self.metric {
            Metric::Diagonal(factors) => out.matrix(&format!("{name}.metric"), 1, factors.len(), factors),
            Metric::Full(rows) => {
                out.matrix(&format!("{name}.metric"), rows.len(), self.columns.len(), &rows.concat());
            }
        }
    }

    /// Reads what [`write_file`](Self::write_file) wrote, for rows of this width.
    pub fn read_file(name: &str, width: usize, from: &Reader<'_>) -> Result<Self> {
        let lengths = from.all_counts(&format!("{name}.knots"))?;
        let total = lengths.iter().try_fold(0_u64, |sum, n| sum.checked_add(*n)).unwrap_or(u64::MAX);
        let total = usize::try_from(total).map_err(|_| Error::file("too many knots"))?;
        let (at, to) =
            (from.vector(&format!("{name}.at"), total)?, from.vector(&format!("{name}.to"), total)?);
        let (rows, cols, metric) = from.matrix(&format!("{name}.metric"))?;
        let rising = |at: &[f64]| !at.is_empty() && at.windows(2).all(|pair| pair[0] < pair[1]);
        let mut columns = Vec::new();
        let mut first = 0;
        for n in lengths {
            let end = first + usize::try_from(n).unwrap_or(0);
            columns.push(Column { at: at[first..end].to_vec(), to: to[first..end].to_vec() });
            first = end;
        }
        // Valid numbers do not exceed the number of columns or of deviations.
        let small = |values: &[f64]| values.iter().all(|value| value.abs() <= 1e9);
        let fits =
            columns.len() == width && cols == width && rows > 0 && columns.iter().all(|c| rising(&c.at));
        if !fits || !small(&to) || !small(&metric) {
            return Err(Error::file(format!("{name} does not fit the columns")));
        }
        // A map to a single direction and factors of the columns have the same shape.
        let metric = if from.counts(&format!("{name}.full"))? == [1] {
            Metric::Full(metric.chunks_exact(width).map(<[f64]>::to_vec).collect())
        } else if rows == 1 {
            Metric::Diagonal(metric)
        } else {
            return Err(Error::file(format!("{name}.metric is not diagonal")));
        };
        Self::new(columns, metric)
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use super::*;

    /// The largest slope of the scores of these values, times the deviation of the values.
    fn steepest(values: &[f64]) -> f64 {
        let column = Column::scores(values, &PreprocessingParams::default());
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let square: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let steepest = values.iter().map(|value| column.slope(*value)).fold(0.0, f64::max);
        steepest * (square / values.len() as f64).sqrt()
    }

    #[test]
    fn values_that_differ_by_rounding_have_one_score() {
        let hours: Vec<f64> = (0..2000).map(|hour| (TAU * f64::from(hour) / 24.0).sin()).collect();
        let exact: Vec<f64> = (0..2000).map(|hour| (TAU * f64::from(hour % 24) / 24.0).sin()).collect();
        assert!(steepest(&hours) < 100.0, "{}", steepest(&hours));
        assert!((steepest(&hours) - steepest(&exact)).abs() < 1e-6);
    }

    #[test]
    fn small_differences_that_are_none_of_rounding_are_kept() {
        let flags = (0..2000).map(|row| if row % 20 == 0 { 1e-9 * f64::from(row) } else { 0.0 });
        let tail = (1..2000).map(|row| if row % 50 == 0 { 1e9 } else { 1.0 / f64::from(row) });
        let decades = (0..2000).map(|row| 10_f64.powf(-24.0 * f64::from(row) / 2000.0));
        let times = (0..2000).map(|row| 1.7e9 + 1e-4 * f64::from(row));
        for values in [flags.collect::<Vec<_>>(), tail.collect(), decades.collect(), times.collect()] {
            let column = Column::scores(&values, &PreprocessingParams::default());
            let [low, high] = [values[1], values[40]].map(|value| column.apply(value));
            assert!((low - high).abs() > 0.01, "{low} {high}");
            let [low, high] = [values[1900], values[1998]].map(|value| column.apply(value));
            assert!((low - high).abs() > 0.1, "{low} {high}");
        }
    }
}
