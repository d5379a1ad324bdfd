//! Winsorizes outliers among targets.
//!
//! A single outlier would move ridge regression, and the rates of the mixture, as much as thousands
//! of rows. A target that is far from earlier ones, and more than 30 running deviations of the
//! errors from its prediction, is learned as if it were 5 deviations away. It widens the limit of
//! the next rows by a factor of 1.4, so that targets that stay on another scale are followed within
//! tens of rows, and where several in a row are beyond it, at once if asked. Outliers of a sample
//! are detected relative to the rest of the sample.
//!
//! For pairs of successive states of a system each state is the prediction of the other, and a pair
//! with an outlier is left out.

use std::collections::HashSet;

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, s};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::persist::{Reader, Writer};

/// Lower limit of the error deviation, relative to that of the targets: after exact predictions, no
/// target is an outlier.
const MIN_ERROR: f64 = 1e-3;

/// Numbers of the winsorizer of the adaptive experts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WinsorizerParams {
    /// Deviations from its prediction, or of a sample from its median, beyond which a number is an outlier.
    pub outlier: f64,
    /// Deviations to which an outlier is clipped; targets within as many deviations of their mean
    /// are not checked.
    pub ordinary: f64,
    /// Rows that running deviations are averaged over.
    pub memory: f64,
    /// One number of a sample in this many may be an outlier, and one of fewer.
    pub rare: usize,
}

impl Default for WinsorizerParams {
    fn default() -> Self {
        Self { outlier: 30.0, ordinary: 5.0, memory: 1000.0, rare: 400 }
    }
}

/// Differences below this share of the mean of the targets are rounding.
const ROUNDING: f64 = 1e-12;

/// Consecutive rows beyond the limits after which the next is learned as it is, where changes of
/// level are followed at once: ridge regression needs hundreds of rows to follow one, so that these
/// few make errors 0.1 % larger.
const RUN: u32 = 3;

/// Most winsorized targets that are remembered.
const LATEST: usize = 16;

/// Fewest rows of a sample that give limits.
const FEWEST: usize = 8;

/// Fewest pairs of successive states that give limits: a system may begin slowly.
const FEWEST_PAIRS: usize = 16;

/// Statistics of the targets of an output.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// Weight of the rows, at most [`memory`](WinsorizerParams::memory).
    rows: f64,
    mean: f64,
    /// Mean square of the targets about their mean, and of the errors.
    variance: f64,
    square: f64,
    /// Number of consecutive latest rows beyond the limits.
    run: u32,
}

impl Known {
    fn share(&self, weight: f64, memory: f64) -> f64 {
        weight / (self.rows + weight).min(memory).max(weight)
    }

    /// Whether a target is too near to earlier ones to be an outlier; always true while all are
    /// equal.
    fn is_ordinary(&self, target: f64, params: &WinsorizerParams) -> bool {
        self.are_equal() || (target - self.mean).abs() <= params.ordinary * self.variance.sqrt()
    }

    fn are_equal(&self) -> bool {
        self.variance <= ROUNDING * ROUNDING * self.mean * self.mean
    }

    /// Deviation of the errors; 0 without an estimate.
    fn deviation(&self) -> f64 {
        let least = MIN_ERROR;
        if self.are_equal() { 0.0 } else { self.square.max(least * least * self.variance).sqrt() }
    }

    /// The value to learn for a target, given its prediction.
    fn limited(&self, made: f64, target: f64, params: &WinsorizerParams) -> f64 {
        if self.is_ordinary(target, params) {
            return target;
        }
        winsorized(target, made, self.deviation(), params)
    }

    /// Statistics of a component of states and the next of each, without this number of outlying
    /// states: deviations from the median, and steps.
    fn of_pairs(x: ArrayView1<'_, f64>, next: ArrayView1<'_, f64>, n_outliers: usize) -> Self {
        let mut values: Vec<f64> = x.iter().chain(next).copied().collect();
        let middle = values.len() / 2;
        let median = *values.select_nth_unstable_by(middle, f64::total_cmp).1;
        // Mean square of the smaller numbers; a state is in two pairs, and at both ends of a step.
        let square = |mut sizes: Vec<f64>| {
            let count = sizes.len() - 2 * n_outliers;
            let smaller = sizes.select_nth_unstable_by(count, f64::total_cmp).0;
            smaller.iter().map(|size| size * size).sum::<f64>() / count as f64
        };
        Self {
            rows: next.len() as f64,
            mean: median,
            variance: square(values.iter().map(|value| (value - median).abs()).collect()),
            square: square(x.iter().zip(next).map(|(x, next)| (next - x).abs()).collect()),
            run: 0,
        }
    }

    /// The one of two successive values that is beyond the limits, if the other is ordinary.
    fn outlier_of(&self, x: f64, next: f64, params: &WinsorizerParams) -> Option<f64> {
        let is_outlier = |value: f64, other: f64| {
            !self.is_ordinary(value, params)
                && self.is_ordinary(other, params)
                && winsorized(value, other, self.deviation(), params).to_bits() != value.to_bits()
        };
        [(next, x), (x, next)]
            .into_iter()
            .find(|(value, other)| is_outlier(*value, *other))
            .map(|(value, _)| value)
    }

    /// The extraordinary values of pairs that have no outlier: the system stays at them for longer
    /// than one state.
    fn visited<'a>(
        &self,
        pairs: impl Iterator<Item = (&'a f64, &'a f64)>,
        params: &WinsorizerParams,
    ) -> HashSet<u64> {
        pairs
            .filter(|(x, next)| self.outlier_of(**x, **next, params).is_none())
            .flat_map(|(x, next)| [*x, *next])
            .filter(|value| !self.is_ordinary(*value, params))
            .map(f64::to_bits)
            .collect()
    }

    /// Number of consecutive rows beyond the limits, with this one.
    fn run_with(&self, made: f64, target: f64, params: &WinsorizerParams) -> u32 {
        let is_far = self.limited(made, target, params).to_bits() != target.to_bits();
        if is_far { self.run.saturating_add(1) } else { 0 }
    }

    /// Forgets equal rows at the first target that differs: they do not determine a scale.
    fn begin_varying(&mut self, target: f64, weight: f64) {
        if self.are_equal() && (target - self.mean).abs() > ROUNDING * self.mean.abs() {
            self.rows = self.rows.min(weight);
        }
    }

    fn meet_target(&mut self, target: f64, weight: f64, params: &WinsorizerParams) {
        let share = self.share(weight, params.memory);
        let far = target - self.mean;
        self.mean += share * far;
        self.variance += share * ((1.0 - share) * far * far - self.variance);
        self.rows += weight;
    }

    fn meet_error(&mut self, error: f64, weight: f64, params: &WinsorizerParams) {
        let deviation = self.deviation();
        let error = if deviation > 0.0 { error.abs().min(params.outlier * deviation) } else { error };
        self.square += self.share(weight, params.memory) * (error * error - self.square);
    }
}

/// Clips a number towards a centre if it is beyond all limits that the known deviations give.
fn winsorized(value: f64, centre: f64, deviation: f64, params: &WinsorizerParams) -> f64 {
    let far = value - centre;
    if deviation > 0.0 && far.abs() > params.outlier * deviation {
        centre + (params.ordinary * deviation).copysign(far)
    } else {
        value
    }
}

/// Limits of the targets of all outputs; none before the first rows, and for labels.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    params: WinsorizerParams,
    known: Vec<Known>,
    /// Rows with a winsorized target, or pairs that are left out.
    pub limited: u64,
    /// Outputs and targets of the latest of these, each once, the latest last. Not saved.
    pub latest: Vec<(usize, f64)>,
}

impl Limits {
    /// Initial state.
    pub fn new(params: WinsorizerParams) -> Self {
        Self { params, known: Vec::new(), limited: 0, latest: Vec::new() }
    }

    /// Resets to the initial state.
    pub fn forget(&mut self) {
        self.known.clear();
    }

    /// Whether there is an estimate.
    pub fn are_known(&self) -> bool {
        !self.known.is_empty()
    }

    /// Whether there is an estimate, or a target was winsorized.
    pub fn are_used(&self) -> bool {
        self.are_known() || self.limited > 0
    }

    /// Restarts from a sample whose weights are not all 0; the errors are those of its mean.
    pub fn restart(&mut self, y: ArrayView2<'_, f64>, weights: ArrayView1<'_, f64>) {
        let rows = weights.sum();
        let of = |targets: ArrayView1<'_, f64>| {
            let mean = targets.dot(&weights) / rows;
            let variance = targets.mapv(|y| (y - mean) * (y - mean)).dot(&weights) / rows;
            Known { rows, mean, variance, square: variance, run: 0 }
        };
        self.known = y.columns().into_iter().map(of).collect();
    }

    /// Index of the first of consecutive rows whose targets have to be checked.
    pub fn first_extraordinary(
        &self,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
    ) -> Option<usize> {
        let mut known = self.known.clone();
        y.rows().into_iter().enumerate().position(|(i, y)| {
            let weight = weights.map_or(1.0, |weights| weights[i]);
            let looked_at =
                weight > 0.0 && known.iter().zip(y).any(|(known, y)| !known.is_ordinary(*y, &self.params));
            if weight > 0.0 {
                for (known, y) in known.iter_mut().zip(y) {
                    known.begin_varying(*y, weight);
                    known.meet_target(*y, weight, &self.params);
                }
            }
            looked_at
        })
    }

    /// Whether no target of the next row has to be checked.
    pub fn are_ordinary(&self, y: &[f64]) -> bool {
        self.known.iter().zip(y).all(|(known, y)| known.is_ordinary(*y, &self.params))
    }

    /// The target to learn, given its prediction.
    pub fn limited(&self, output: usize, made: f64, target: f64) -> f64 {
        self.known.get(output).map_or(target, |known| known.limited(made, target, &self.params))
    }

    /// The targets of a row to learn, given its predictions, or the means without these; a target
    /// that follows [`RUN`] ones beyond the limits is learned as it is.
    pub fn followed(&self, made: Option<ArrayView1<'_, f64>>, y: ArrayView1<'_, f64>) -> Vec<f64> {
        let each = self.known.iter().zip(y).enumerate();
        each.map(|(c, (known, &target))| {
            let made = made.map_or(known.mean, |made| made[c]);
            let run = known.run_with(made, target, &self.params);
            if run > RUN { target } else { known.limited(made, target, &self.params) }
        })
        .collect()
    }

    /// Records the targets of a row, as they came and as they were [`followed`](Self::followed),
    /// given its predictions.
    pub fn meet_followed(
        &mut self,
        made: ArrayView1<'_, f64>,
        (raw, learned): (ArrayView1<'_, f64>, ArrayView1<'_, f64>),
        weight: f64,
    ) {
        if weight > 0.0 {
            self.note(raw, learned);
            self.record(made, (raw, learned), weight);
        }
    }

    /// The same of a row of positive weight, without counting it if its targets were winsorized.
    fn record(
        &mut self,
        made: ArrayView1<'_, f64>,
        (raw, learned): (ArrayView1<'_, f64>, ArrayView1<'_, f64>),
        weight: f64,
    ) {
        for (c, known) in self.known.iter_mut().enumerate() {
            known.run = known.run_with(made[c], raw[c], &self.params);
            known.begin_varying(learned[c], weight);
            let error = raw[c] - made[c];
            if known.run > RUN {
                // On a new level, limits are those of its errors.
                known.square += known.share(weight, self.params.memory) * (error * error - known.square);
            } else {
                known.meet_error(error, weight, &self.params);
            }
            known.meet_target(learned[c], weight, &self.params);
        }
    }

    /// Counts a row if its targets were winsorized.
    pub fn note(&mut self, raw: ArrayView1<'_, f64>, learned: ArrayView1<'_, f64>) {
        let differs = |(raw, learned): (&f64, &f64)| raw.to_bits() != learned.to_bits();
        if raw.iter().zip(learned).any(differs) {
            self.limited = self.limited.saturating_add(1);
        }
        for (output, pair) in raw.iter().zip(learned).enumerate().filter(|(_, pair)| differs(*pair)) {
            let found = (output, *pair.0);
            self.latest.retain(|one| *one != found);
            self.latest.push(found);
            if self.latest.len() > LATEST {
                self.latest.remove(0);
            }
        }
    }

    /// Restarts from a sample, and returns its targets, in which single outliers of the rows of
    /// positive weight are replaced by the nearest of the others. Few rows give no limits.
    pub fn restart_tamed(&mut self, y: ArrayView2<'_, f64>, weights: ArrayView1<'_, f64>) -> Array2<f64> {
        self.known.clear();
        let mut out = y.to_owned();
        let counted: Vec<usize> = (0..y.nrows()).filter(|row| weights[*row] > 0.0).collect();
        if counted.len() < FEWEST {
            return out;
        }
        let raw = y.select(Axis(0), &counted);
        let mut tame = tamed(&raw, &self.params);
        for (mut tame, raw) in tame.columns_mut().into_iter().zip(raw.columns()) {
            let is_ordinary = |(tame, raw): (&f64, &f64)| tame.to_bits() == raw.to_bits();
            let ordinary = || tame.iter().zip(raw).filter(|pair| is_ordinary(*pair)).map(|(tame, _)| *tame);
            let low = ordinary().fold(f64::INFINITY, f64::min);
            let high = ordinary().fold(f64::NEG_INFINITY, f64::max);
            tame.mapv_inplace(|value| value.max(low).min(high));
        }
        for (row, tame) in counted.iter().zip(tame.rows()) {
            self.note(y.row(*row), tame);
            out.row_mut(*row).assign(&tame);
        }
        self.restart(tame.view(), Array1::ones(counted.len()).view());
        out
    }

    /// Restarts from a sample of states and the next of each, both with this number of components
    /// before their delays, and returns in each row an outlying state, as
    /// [`outlier_of_pair`](Self::outlier_of_pair) does. A value that is also in a pair that is
    /// learned is none: the system stayed there. Few pairs give no limits.
    pub fn restart_pairs(
        &mut self,
        x: ArrayView2<'_, f64>,
        next: ArrayView2<'_, f64>,
        width: usize,
    ) -> Vec<Option<(usize, f64)>> {
        let n = next.nrows();
        (self.limited, self.latest) = (0, Vec::new());
        self.known.clear();
        if n < FEWEST_PAIRS {
            return vec![None; n];
        }
        let n_outliers = (n / self.params.rare).max(1);
        self.known = (0..width).map(|c| Known::of_pairs(x.column(c), next.column(c), n_outliers)).collect();
        let visited: Vec<HashSet<u64>> = (0..width)
            .map(|c| {
                let known = &self.known[c];
                let delays = (c..next.ncols()).step_by(width);
                let pairs = delays.flat_map(|c| x.column(c).into_iter().zip(next.column(c)));
                let visited = known.visited(pairs, &self.params);
                let outliers = x.column(c).into_iter().zip(next.column(c)).filter(|(x, next)| {
                    let outlier = known.outlier_of(**x, **next, &self.params);
                    outlier.is_some_and(|value| !visited.contains(&value.to_bits()))
                });
                // A state is in two pairs. More are the distribution of the component.
                if outliers.count() > 2 * n_outliers || known.are_equal() {
                    self.known[c].variance = f64::MAX;
                }
                visited
            })
            .collect();
        let found: Vec<Option<(usize, f64)>> = (0..n)
            .map(|i| {
                self.outlier_besides(x.row(i), next.row(i), |c, value| visited[c].contains(&value.to_bits()))
            })
            .collect();
        let kept: Vec<usize> = (0..n).filter(|i| found[*i].is_none()).collect();
        self.limited = (n - kept.len()) as u64;
        for (c, known) in self.known.iter_mut().enumerate() {
            let unlimited = known.variance.to_bits() == f64::MAX.to_bits();
            let pairs = || kept.iter().map(|i| (x[(*i, c)], next[(*i, c)]));
            let rows = kept.len() as f64;
            let mean = pairs().map(|(_, next)| next).sum::<f64>() / rows;
            let variance = pairs().map(|(_, next)| (next - mean).powi(2)).sum::<f64>() / rows;
            let square = pairs().map(|(x, next)| (next - x).powi(2)).sum::<f64>() / rows;
            let unlimited = unlimited && variance > ROUNDING * ROUNDING * mean * mean;
            let variance = if unlimited { f64::MAX } else { variance };
            *known = Known { rows, mean, variance, square, run: 0 };
        }
        found
    }

    /// The component and value of a state of a pair, or of its delays, that is an outlier: beyond the
    /// limits, where the other state, which is its prediction, is ordinary. None before the first
    /// limits.
    pub fn outlier_of_pair(&self, x: ArrayView1<'_, f64>, next: ArrayView1<'_, f64>) -> Option<(usize, f64)> {
        self.outlier_besides(x, next, |_, _| false)
    }

    fn outlier_besides(
        &self,
        x: ArrayView1<'_, f64>,
        next: ArrayView1<'_, f64>,
        is_excepted: impl Fn(usize, f64) -> bool,
    ) -> Option<(usize, f64)> {
        // Inputs that follow the state `x` are not compared.
        x.iter().zip(next).zip(self.known.iter().enumerate().cycle()).find_map(|((x, next), (c, known))| {
            let value = known.outlier_of(*x, *next, &self.params)?;
            (!is_excepted(c, value)).then_some((c, value))
        })
    }

    /// Records a pair of successive states, and whether it is left out because of an outlier.
    pub fn meet_pair(&mut self, x: ArrayView1<'_, f64>, next: ArrayView1<'_, f64>, is_left_out: bool) {
        let width = self.known.len();
        let (x, next) = (x.slice_move(s![..width]), next.slice_move(s![..width]));
        if is_left_out {
            self.limited = self.limited.saturating_add(1);
            let learned = self.followed(Some(x), next);
            self.record(x, (next, ArrayView1::from(&learned)), 1.0);
        } else {
            self.record(x, (next, next), 1.0);
        }
    }

    /// Records a target as it was learned, and its error before clipping.
    pub fn meet(&mut self, output: usize, target: f64, error: f64, weight: f64) {
        if let Some(known) = self.known.get_mut(output) {
            known.begin_varying(target, weight);
            known.meet_error(error, weight, &self.params);
            known.meet_target(target, weight, &self.params);
        }
    }

    pub fn write(&self, out: &mut Writer) {
        let numbers: Vec<f64> = self
            .known
            .iter()
            .flat_map(|known| [known.rows, known.mean, known.variance, known.square])
            .collect();
        out.matrix("limits.known", self.known.len(), 4, &numbers);
        out.counts("limits.limited", &[self.limited]);
        if self.known.iter().any(|known| known.run != 0) {
            let runs: Vec<u64> = self.known.iter().map(|known| u64::from(known.run)).collect();
            out.counts("limits.runs", &runs);
        }
    }

    /// Reads what [`write`](Self::write) wrote, for this number of outputs; the initial state if it
    /// is absent.
    pub fn read(outputs: usize, params: WinsorizerParams, from: &Reader<'_>) -> Result<Self> {
        if !from.has("limits.known") {
            return Ok(Self::new(params));
        }
        let (n, cols, numbers) = from.matrix("limits.known")?;
        let known =
            |row: &[f64]| Known { rows: row[0], mean: row[1], variance: row[2], square: row[3], run: 0 };
        let sound = |row: &[f64]| row[0] >= 0.0 && row[2] >= 0.0 && row[3] >= 0.0;
        if n > 0 && (n != outputs || cols != 4 || !numbers.chunks_exact(4).all(sound)) {
            return Err(Error::file("limits.known are not of any targets"));
        }
        let [limited] = from.counts("limits.limited")?;
        let mut known: Vec<Known> = numbers.chunks_exact(4).map(known).collect();
        if from.has("limits.runs") {
            let runs = from.all_counts("limits.runs")?;
            if runs.len() != n {
                return Err(Error::file("limits.runs are not of any targets"));
            }
            for (known, run) in known.iter_mut().zip(runs) {
                known.run = u32::try_from(run).map_err(|_| Error::file("limits.runs are too many rows"))?;
            }
        }
        Ok(Self { params, known, limited, latest: Vec::new() })
    }
}

/// Winsorizes each column of a sample at 30 deviations from its median, if fewer than one value in
/// 400, or a single one, is beyond.
pub(crate) fn tamed(sample: &Array2<f64>, params: &WinsorizerParams) -> Array2<f64> {
    let mut out = sample.clone();
    for mut column in out.columns_mut() {
        let n = column.len();
        if n < 3 {
            continue;
        }
        let mut values = column.to_vec();
        let median = *values.select_nth_unstable_by(n / 2, f64::total_cmp).1;
        let mut far: Vec<f64> = column.iter().map(|value| (value - median).abs()).collect();
        let most = n - (n / params.rare).max(1);
        let near = far.select_nth_unstable_by(most, f64::total_cmp).0;
        let square = near.iter().map(|far| far * far).sum::<f64>() / near.len() as f64;
        column.mapv_inplace(|value| winsorized(value, median, square.sqrt(), params));
    }
    out
}

/// The same of rows of this width.
pub(crate) fn tamed_values(values: Vec<f64>, width: usize, params: &WinsorizerParams) -> Vec<f64> {
    let rows = Array2::from_shape_vec((values.len() / width.max(1), width), values).unwrap_or_default();
    tamed(&rows, params).into_raw_vec_and_offset().0
}

#[cfg(test)]
mod tests {
    use ndarray::Array1;

    use super::*;
    use crate::random::normal;

    /// Limits after rows of noise, and how many of the next rows, all with one target, are
    /// winsorized.
    fn limited_rows(target: f64, rows: usize) -> (Limits, usize) {
        let mut limits = Limits::new(WinsorizerParams::default());
        let noise = Array2::from_shape_fn((300, 1), |(i, _)| normal(1, i as u64));
        limits.restart(noise.view(), Array1::ones(300).view());
        let mut count = 0;
        for _ in 0..rows {
            let learned = limits.limited(0, 0.0, target);
            count += usize::from(learned < target);
            limits.meet(0, learned, target, 1.0);
        }
        (limits, count)
    }

    #[test]
    fn an_outlier_barely_moves_the_limit_and_many_lift_it() {
        assert_eq!(limited_rows(10.0, 1).1, 0);
        let (limits, count) = limited_rows(1e9, 1);
        assert_eq!(count, 1);
        assert!(limits.limited(0, 0.0, 1e9) < 10.0);
        let (_, count) = limited_rows(1e9, 1000);
        assert!((10..100).contains(&count), "{count}");
    }

    #[test]
    fn a_new_level_is_followed_after_a_few_rows() {
        for side in [1e9, -1e9] {
            let (mut limits, _) = limited_rows(0.0, 0);
            let made = Array1::zeros(1);
            let learned: Vec<f64> = (0..20)
                .map(|_| {
                    let target = Array1::from_elem(1, side);
                    let learned = Array1::from(limits.followed(Some(made.view()), target.view()));
                    limits.meet_followed(made.view(), (target.view(), learned.view()), 1.0);
                    learned[0].abs()
                })
                .collect();
            assert!(learned[..3].iter().all(|learned| *learned < 1e3), "{learned:?}");
            assert!(learned[3..].iter().all(|learned| *learned >= 1e9), "{learned:?}");
            assert_eq!((limits.limited, limits.latest), (3, vec![(0, side)]));
        }
    }

    #[test]
    fn targets_that_vary_after_a_constant_stretch_are_ordinary() {
        let mut limits = Limits::new(WinsorizerParams::default());
        limits.restart(Array2::from_elem((1000, 1), 7.0).view(), Array1::ones(1000).view());
        let made = Array1::from_elem(1, 7.0);
        for i in 0..500 {
            let target = Array1::from_elem(1, 7.0 + (i as f64) * normal(4, i));
            let learned = Array1::from(limits.followed(Some(made.view()), target.view()));
            limits.meet_followed(made.view(), (target.view(), learned.view()), 1.0);
        }
        assert!(limits.limited <= 1, "{}", limits.limited);
    }

    /// States of a wave, in rows `outliers` others, and the limits of a sample of their pairs.
    fn limits_of_pairs(outliers: &[(usize, f64)]) -> (Limits, Vec<usize>) {
        let mut states = Array2::from_shape_fn((501, 1), |(i, _)| (0.3 * i as f64).sin());
        for (row, value) in outliers {
            states[(*row, 0)] = *value;
        }
        let params = WinsorizerParams { outlier: 40.0, ordinary: 40.0, ..WinsorizerParams::default() };
        let mut limits = Limits::new(params);
        let found = limits.restart_pairs(states.slice(s![..-1, ..]), states.slice(s![1.., ..]), 1);
        let rows: Vec<usize> = (0..500).filter(|row| found[*row].is_some()).collect();
        assert_eq!(limits.limited, rows.len() as u64);
        (limits, rows)
    }

    #[test]
    fn pairs_of_a_single_outlier_are_left_out_and_those_of_a_stay_learned() {
        assert_eq!(limits_of_pairs(&[(20, -9999.0)]).1, [19, 20]);
        assert_eq!(limits_of_pairs(&[(0, 50.0)]).1, [0]);
        assert_eq!(limits_of_pairs(&[(500, 50.0)]).1, [499]);
        for rows in [[(20, 7.0), (30, -7.0)], [(20, -9999.0), (21, -9999.0)], [(20, -9999.0), (21, 8000.0)]] {
            assert!(limits_of_pairs(&rows).1.is_empty(), "{rows:?}");
        }
        // More than one in 400.
        assert!(limits_of_pairs(&[(20, -9999.0), (300, 8000.0)]).1.is_empty());
        let (mut limits, _) = limits_of_pairs(&[(20, -9999.0)]);
        let outlier = |limits: &Limits, x: f64, next: f64| {
            let [x, next] = [x, next].map(|value| Array1::from_elem(1, value));
            limits.outlier_of_pair(x.view(), next.view())
        };
        assert_eq!(outlier(&limits, 0.5, 1e6), Some((0, 1e6)));
        assert_eq!(outlier(&limits, -99.0, 0.5), Some((0, -99.0)));
        assert_eq!(outlier(&limits, 0.5, 20.0), None);
        assert_eq!(outlier(&limits, 1e6, -1e6), None);
        // Several in a row widen the limits.
        let [near, far] = [0.5, 30.0].map(|value| Array1::from_elem(1, value));
        let is_left_out = |limits: &mut Limits| {
            let found = limits.outlier_of_pair(near.view(), far.view()).is_some();
            limits.meet_pair(near.view(), far.view(), found);
            found
        };
        let left_out = (0..20).filter(|_| is_left_out(&mut limits)).count();
        assert!((1..5).contains(&left_out), "{left_out}");
        assert_eq!(limits.limited, 2 + left_out as u64);
    }

    #[test]
    fn outliers_with_ordinary_rows_between_are_no_level() {
        let (mut limits, _) = limited_rows(0.0, 0);
        let made = Array1::zeros(1);
        for i in 0..60 {
            let target = Array1::from_elem(1, if i % 3 == 0 { 0.1 } else { 1e9 });
            let weight = if i % 2 == 0 { 1.0 } else { 0.0 };
            let learned = Array1::from(limits.followed(Some(made.view()), target.view()));
            assert!(learned[0] < 1e9);
            limits.meet_followed(made.view(), (target.view(), learned.view()), weight);
        }
        assert_eq!(limits.limited, 20);
    }

    #[test]
    fn an_outlier_of_the_first_rows_becomes_the_nearest_other_and_rows_without_weight_do_not_count() {
        let noise = |i: usize| normal(3, i as u64);
        let y = Array2::from_shape_fn((40, 2), |(i, c)| match (i, c) {
            (5, 1) => 1e30,
            (20.., _) => 1e7,
            _ => noise(2 * i + c),
        });
        let weights = Array1::from_shape_fn(40, |i| if i < 20 { 1.0 } else { 0.0 });
        let mut limits = Limits::new(WinsorizerParams::default());
        let tame = limits.restart_tamed(y.view(), weights.view());
        let others = (0..20).filter(|i| *i != 5).map(|i| y[(i, 1)]).fold(f64::NEG_INFINITY, f64::max);
        assert!((tame[(5, 1)] - others).abs() < 1e-12);
        let mut expected = y;
        expected[(5, 1)] = tame[(5, 1)];
        assert_eq!(tame, expected);
        assert!(limits.are_known());
        assert_eq!((limits.limited, limits.latest), (1, vec![(1, 1e30)]));
    }

    #[test]
    fn a_number_of_a_sample_is_an_outlier_if_it_is_the_only_one() {
        let params = WinsorizerParams::default();
        let noise = |i: usize| normal(2, i as u64);
        let sample =
            |wild: usize| Array2::from_shape_fn((100, 1), |(i, _)| if i < wild { 1e6 } else { noise(i) });
        assert!(tamed(&sample(1), &params).iter().all(|value| value.abs() < 50.0));
        assert_eq!(tamed(&sample(2), &params), sample(2));
        assert_eq!(tamed(&sample(0), &params), sample(0));
        let few = Array2::from_shape_fn((100, 1), |(i, _)| f64::from(u8::from(i == 50)));
        assert_eq!(tamed(&few, &params), few, "of two values neither is an outlier");
    }
}
