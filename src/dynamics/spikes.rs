//! Isolated outliers of the states of a forecaster.
//!
//! A single value far beyond all before it, such as a sensor's code for a missing one, would be a
//! regressor of the next rows, and move coefficients and intervals for hundreds. It is replaced by
//! the last value before it, for at most three rows with few between. The next is a new level, or a
//! burst: the model from before the first of these rows, which is kept until then, learns all of them
//! as they came.
//! The rule only uses earlier rows, so it does not depend on how a stream is split into calls.

use ndarray::{Array2, ArrayView1, ArrayView2, s};
use serde_json::Value;

use super::candidates::Candidates;
use super::{Dynamics, SpikeParams};
use crate::error::{Error, Result};
use crate::kernel::LARGEST;
use crate::persist::{Reader, Writer};
use crate::validate::one_row;

/// Changes below this share of a value are rounding.
const ROUNDING: f64 = 1e-12;

/// Changes over which their size is averaged.
const MEMORY: f64 = 1e4;

/// Runs of outliers of a component that are replaced in any record, however short.
const FIRST_RUNS: f64 = 3.0;

/// Most rows that are learned again at a new level.
const MOST_UNCONFIRMED: usize = 64;

/// The values of a component so far.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// Range of the values learned.
    low: f64,
    high: f64,
    /// Number of changes from one value to the next, and their mean size: equal values, as in
    /// intermittent demand, do not count.
    changes: f64,
    step: f64,
    /// Number of values replaced in the present run, and of values since the last of them; number of
    /// all runs.
    run: f64,
    since: f64,
    runs: f64,
    /// The latest value, before it was replaced.
    raw: f64,
}

impl Default for Known {
    fn default() -> Self {
        let (low, high) = (f64::MAX, f64::MIN);
        Self { low, high, changes: 0.0, step: 0.0, run: 0.0, since: 0.0, runs: 0.0, raw: 0.0 }
    }
}

impl Known {
    const NUMBERS: usize = 8;

    /// Whether a value is beyond the range so far by several times its width.
    fn is_beyond(&self, value: f64, params: &SpikeParams) -> bool {
        let width = self.high - self.low;
        self.changes >= params.min_changes as f64
            && (value - self.high).max(self.low - value) > params.ranges * width
    }

    /// Whether a value that follows `last` is an outlier, or the first ones of a new level. Values that the operator refuses
    /// as too large are not.
    fn is_far(&self, value: f64, last: f64, params: &SpikeParams) -> bool {
        value * value <= LARGEST
            && self.is_beyond(value, params)
            && (value - last).abs() > params.steps * self.step
    }

    /// Whether a value that follows `last` is a new level, as those before it.
    fn is_level(&self, value: f64, last: f64, params: &SpikeParams) -> bool {
        self.run >= params.max_run as f64 && self.is_far(value, last, params)
    }

    /// Whether a value that follows `last` is replaced, in row number `rows`.
    fn replaces(&self, value: f64, last: f64, rows: u64, params: &SpikeParams) -> bool {
        let is_far = self.is_far(value, last, params);
        // More frequent values are those of a distribution with a long tail.
        let may_begin = self.runs < FIRST_RUNS + (rows / params.rare as u64) as f64;
        is_far && if self.run > 0.0 { self.run < params.max_run as f64 } else { may_begin }
    }

    fn meet(&mut self, value: f64, last: Option<f64>, params: &SpikeParams) {
        self.since += 1.0;
        if last.is_none() || self.since >= params.quiet as f64 {
            self.run = 0.0;
        }
        (self.low, self.high) = (self.low.min(value), self.high.max(value));
        let Some(last) = last else { return };
        let size = (value - last).abs().min(f64::MAX);
        if size <= ROUNDING * value.abs().max(last.abs()) {
            return;
        }
        // A jump to a new level is one change.
        let most = if self.changes >= params.min_changes as f64 { params.steps * self.step } else { size };
        self.changes += 1.0;
        self.step += (size.min(most) - self.step) / self.changes.min(MEMORY);
    }

    /// Extends the range by values that are no outliers.
    fn widen<'a>(&mut self, values: impl Iterator<Item = &'a f64>) {
        for value in values {
            (self.low, self.high) = (self.low.min(*value), self.high.max(*value));
        }
    }

    fn replace(&mut self) {
        self.runs += f64::from(u8::from(self.run < 0.5));
        self.run += 1.0;
        self.since = 0.0;
    }

    fn numbers(&self) -> [f64; Self::NUMBERS] {
        [self.low, self.high, self.changes, self.step, self.run, self.since, self.runs, self.raw]
    }

    fn of_numbers(numbers: &[f64]) -> Self {
        let [low, high, changes, step, run, since, runs, raw] = std::array::from_fn(|i| numbers[i]);
        Self { low, high, changes, step, run, since, runs, raw }
    }

    fn is_sound(&self) -> bool {
        self.low <= self.high
            && [self.changes, self.step, self.run, self.since, self.runs].iter().all(|n| *n >= 0.0)
    }
}

/// The model from before rows that were replaced and may be a new level, and these rows with their
/// inputs, as they came.
#[derive(Clone, Debug)]
pub(super) struct Unconfirmed {
    model: Dynamics,
    rows: Vec<f64>,
}

/// The values of all components so far, and the rows in which one was replaced.
#[derive(Clone, Debug, Default)]
pub(super) struct Spikes {
    known: Vec<Known>,
    rows: u64,
    replaced: u64,
    /// Component and value of the first outlier, until it is taken. Not saved.
    first: Option<(usize, f64)>,
}

impl Spikes {
    /// Number of rows with a replaced value.
    pub fn count(&self) -> u64 {
        self.replaced
    }

    /// Whether a state that follows `last` has an outlier.
    fn replaces(&self, state: ArrayView1<'_, f64>, last: ArrayView1<'_, f64>, params: &SpikeParams) -> bool {
        let replaces = |(c, known): (usize, &Known)| known.replaces(state[c], last[c], self.rows + 1, params);
        self.known.len() == state.len() && self.known.iter().enumerate().any(replaces)
    }

    /// Components of a state that follows `last` which are a new level.
    fn levels(
        &self,
        state: ArrayView1<'_, f64>,
        last: ArrayView1<'_, f64>,
        params: &SpikeParams,
    ) -> Vec<usize> {
        let is_level = |(c, known): (usize, &Known)| {
            (c < state.len() && known.is_level(state[c], last[c], params)).then_some(c)
        };
        self.known.iter().enumerate().filter_map(is_level).collect()
    }

    /// Whether one of the latest states had an outlier.
    fn is_in_run(&self) -> bool {
        self.known.iter().any(|known| known.run > 0.0)
    }

    /// Records a state that follows `last`, if any; returns it with its outliers replaced, if it has
    /// one.
    fn meet(
        &mut self,
        state: ArrayView1<'_, f64>,
        last: Option<ArrayView1<'_, f64>>,
        params: &SpikeParams,
    ) -> Option<Vec<f64>> {
        if self.known.len() != state.len() {
            self.known = vec![Known::default(); state.len()];
        }
        self.rows += 1;
        let mut out = None;
        for (c, known) in self.known.iter_mut().enumerate() {
            let (value, last) = (state[c], last.map(|last| last[c]));
            known.raw = value;
            match last.filter(|last| known.replaces(value, *last, self.rows, params)) {
                Some(last) => {
                    known.replace();
                    self.first = self.first.or(Some((c, value)));
                    out.get_or_insert_with(|| state.to_vec())[c] = last;
                }
                None => known.meet(value, last, params),
            }
        }
        self.replaced += u64::from(out.is_some());
        out
    }

    /// The states of a history with outliers replaced, if it has one. It may begin with the state
    /// learned last, which was learned as `last`; components that begin far from all states learned
    /// are judged by this history alone.
    fn replaced(
        &self,
        states: ArrayView2<'_, f64>,
        last: Option<ArrayView1<'_, f64>>,
        params: &SpikeParams,
    ) -> Option<Array2<f64>> {
        if self.known.len() != states.ncols() || states.nrows() == 0 {
            return None;
        }
        let mut spikes = self.clone();
        // Outliers that were replaced while learning do not count against these.
        spikes.known.iter_mut().for_each(|known| known.runs = 0.0);
        // First row of the present run of each component.
        let mut starts = vec![0; states.ncols()];
        let mut out: Option<Array2<f64>> = None;
        let first = states.row(0);
        let is_latest =
            self.known.iter().zip(first).all(|(known, value)| known.raw.to_bits() == value.to_bits());
        if let Some(last) = last.filter(|_| is_latest) {
            if self.is_in_run() {
                out.get_or_insert_with(|| states.to_owned()).row_mut(0).assign(&last);
            }
        } else {
            for (known, value) in spikes.known.iter_mut().zip(first) {
                if known.is_beyond(*value, params) {
                    *known = Known::default();
                }
            }
            spikes.meet(first, None, params);
        }
        for i in 1..states.nrows() {
            let last = out.as_ref().map_or(states.row(i - 1), |out| out.row(i - 1)).to_owned();
            for c in spikes.levels(states.row(i), last.view(), params) {
                let run = s![starts[c]..i, c];
                if let Some(out) = &mut out {
                    out.slice_mut(run).assign(&states.slice(run));
                }
                spikes.known[c].widen(states.slice(run).iter());
            }
            let runs: Vec<f64> = spikes.known.iter().map(|known| known.runs).collect();
            if let Some(state) = spikes.meet(states.row(i), Some(last.view()), params) {
                let out = out.get_or_insert_with(|| states.to_owned());
                out.row_mut(i).assign(&ArrayView1::from(&state));
            }
            for (c, known) in spikes.known.iter().enumerate() {
                if known.runs > runs[c] {
                    starts[c] = i;
                }
            }
        }
        out
    }

    pub fn write(&self, out: &mut Writer) {
        if self.rows > 0 {
            let numbers: Vec<f64> = self.known.iter().flat_map(Known::numbers).collect();
            out.matrix("spikes.known", self.known.len(), Known::NUMBERS, &numbers);
            out.counts("spikes.counts", &[self.rows, self.replaced]);
        }
    }

    /// Reads what [`write`](Self::write) wrote, for states of `width` components; the initial state
    /// for a file of a version without.
    pub fn read(width: Option<usize>, from: &Reader<'_>) -> Result<Self> {
        if !from.has("spikes.known") {
            return Ok(Self::default());
        }
        let (n, cols, numbers) = from.matrix("spikes.known")?;
        let [rows, replaced] = from.counts("spikes.counts")?;
        let fits = cols == Known::NUMBERS && n > 0 && width.is_none_or(|width| width == n);
        let known: Vec<Known> = if fits {
            numbers.chunks_exact(Known::NUMBERS).map(Known::of_numbers).collect()
        } else {
            Vec::new()
        };
        if !fits || replaced > rows || !known.iter().all(Known::is_sound) {
            return Err(Error::file("spikes.known are not of any states"));
        }
        Ok(Self { known, rows, replaced, first: None })
    }

    pub fn take_first(&mut self) -> Option<(usize, f64)> {
        self.first.take()
    }
}

impl Dynamics {
    /// Learns the next row (1, d + k) of a trajectory, with outliers of its state replaced. Returns
    /// whether it was learned; not if it was interrupted before. An error may leave the model changed.
    pub(super) fn follow_without_spikes(
        &mut self,
        row: ArrayView2<'_, f64>,
        lag: usize,
        continued: bool,
    ) -> Result<bool> {
        let params = self.spec.params.spikes;
        let width = row.ncols() - self.operator.n_controls();
        let state = row.slice(s![0, ..width]);
        let tail = self.tail.as_ref().filter(|tail| continued && tail.nrows() > 0);
        let last = tail.map(|tail| tail.slice(s![tail.nrows() - 1, ..width]).to_owned());
        let last = last.as_ref().map(|last| last.view());
        if last.is_none() {
            self.unconfirmed = None;
        }
        let levels = last.map_or(Vec::new(), |last| self.spikes.levels(state, last, &params));
        if !levels.is_empty()
            && let Some(unconfirmed) = self.unconfirmed.take()
        {
            return self.learn_levels(unconfirmed, row, lag, &levels);
        }
        let replaces = last.is_some_and(|last| self.spikes.replaces(state, last, &params));
        let before = (replaces && self.unconfirmed.is_none()).then(|| self.clone());
        let spikes = self.driven.is_some().then(|| self.spikes.clone());
        let replaced = self.spikes.meet(state, last, &params).map(|state| {
            let mut row = row.to_owned();
            row.slice_mut(s![0, ..width]).assign(&ArrayView1::from(&state));
            row
        });
        let as_learned = replaced.as_ref().map_or(row, |row| row.view());
        if !self.follow_and_judge_next(as_learned, lag, continued)? {
            self.spikes = spikes.unwrap_or_default();
            return Ok(false);
        }
        if let Some(model) = before {
            self.unconfirmed = Some(Box::new(Unconfirmed { model, rows: Vec::new() }));
        }
        if !self.spikes.is_in_run() {
            self.unconfirmed = None;
        }
        if let Some(unconfirmed) = &mut self.unconfirmed {
            unconfirmed.rows.extend(row);
        }
        // Outliers of one component after another are no level of one.
        self.unconfirmed.take_if(|own| own.rows.len() > MOST_UNCONFIRMED * row.ncols());
        Ok(true)
    }

    /// Learns the rows that were replaced, and the next one, as they came in these components.
    fn learn_levels(
        &mut self,
        unconfirmed: Box<Unconfirmed>,
        row: ArrayView2<'_, f64>,
        lag: usize,
        levels: &[usize],
    ) -> Result<bool> {
        let rows: Vec<f64> = unconfirmed.rows.iter().chain(row).copied().collect();
        let mut model = unconfirmed.model.clone();
        for c in levels {
            model.spikes.known[*c].widen(rows.chunks_exact(row.ncols()).map(|row| &row[*c]));
        }
        for row in rows.chunks_exact(row.ncols()) {
            if !model.follow_without_spikes(one_row(row), lag, true)? {
                self.unconfirmed = Some(unconfirmed);
                return Ok(false);
            }
        }
        *self = model;
        Ok(true)
    }

    /// Writes the model from before rows that may be a new level.
    pub(super) fn write_unconfirmed(&self, out: &mut Writer) -> Result<()> {
        if let Some(unconfirmed) = &self.unconfirmed {
            let width = self.spikes.known.len() + self.operator.n_controls();
            out.bytes("spikes.before", unconfirmed.model.to_bytes(Value::Null)?);
            out.matrix("spikes.rows", unconfirmed.rows.len() / width, width, &unconfirmed.rows);
        }
        Ok(())
    }

    /// Reads what [`write_unconfirmed`](Self::write_unconfirmed) wrote.
    pub(super) fn read_unconfirmed(&mut self, from: &Reader<'_>) -> Result<()> {
        if !from.has("spikes.before") {
            return Ok(());
        }
        let wrong = || Error::file("spikes.before is not the model before spikes.rows");
        let bytes = from.bytes("spikes.before")?;
        // It has none itself: files are not nested without end.
        if Reader::open(bytes)?.has("spikes.before") {
            return Err(wrong());
        }
        let model = Self::from_bytes(bytes)?.0;
        let (n, cols, rows) = from.matrix("spikes.rows")?;
        let width = self.spikes.known.len();
        let candidates = |model: &Self| model.candidates.as_ref().map(Candidates::width);
        let fits = model.spec == self.spec
            && model.spikes.known.len() == width
            && candidates(&model) == candidates(self)
            && model.n_features().is_none_or(|own| own == width)
            && model.tail.as_ref().is_some_and(|tail| tail.ncols() == cols && tail.nrows() > 0)
            && cols == width + self.operator.n_controls();
        if n == 0 || width == 0 || !fits || rows.iter().any(|value| value.abs() > LARGEST) {
            return Err(wrong());
        }
        self.unconfirmed = Some(Box::new(Unconfirmed { model, rows }));
        Ok(())
    }

    /// The states of a given history with outliers replaced, if it has one.
    pub(super) fn history_without_spikes(&self, states: ArrayView2<'_, f64>) -> Option<Array2<f64>> {
        let tail = self.tail.as_ref().filter(|tail| tail.nrows() > 0);
        let last = tail.map(|tail| tail.slice(s![tail.nrows() - 1, ..states.ncols()]));
        self.spikes.replaced(states, last, &self.spec.params.spikes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dynamics::DynamicsSpec;
    use crate::random::normal;

    /// A daily wave with noise, with these values from this row on.
    fn wave(n: usize, row: usize, values: &[f64]) -> Array2<f64> {
        Array2::from_shape_fn((n, 1), |(i, _)| {
            let wave = 50.0 + 8.0 * (i as f64 * 0.2618).sin() + normal(1, i as u64);
            i.checked_sub(row).and_then(|place| values.get(place)).copied().unwrap_or(wave)
        })
    }

    /// The states as they are learned.
    fn learned(states: &Array2<f64>) -> (Array2<f64>, u64) {
        let (mut spikes, mut out) = (Spikes::default(), states.clone());
        for i in 0..states.nrows() {
            let last = (i > 0).then(|| out.row(i - 1).to_owned());
            let last = last.as_ref().map(|last| last.view());
            if let Some(state) = spikes.meet(states.row(i), last, &SpikeParams::default()) {
                out.row_mut(i).assign(&ArrayView1::from(&state));
            }
        }
        (out, spikes.count())
    }

    fn unchanged(values: impl Fn(usize) -> f64, n: usize) -> u64 {
        learned(&Array2::from_shape_fn((n, 1), |(i, _)| values(i))).1
    }

    #[test]
    fn outliers_become_the_last_value_and_the_fourth_in_a_row_is_a_level() {
        for row in [60, 600] {
            for run in 1..=3 {
                let states = wave(700, row, &vec![-9999.0; run]);
                let mut expected = states.clone();
                for i in row..row + run {
                    expected[(i, 0)] = states[(row - 1, 0)];
                }
                assert_eq!(learned(&states), (expected, run as u64));
            }
            let states = wave(700, row, &[-9999.0; 50]);
            let (found, count) = learned(&states);
            assert_eq!(count, 3);
            assert_eq!(found.slice(s![row + 3.., ..]), states.slice(s![row + 3.., ..]));
        }
        assert_eq!(learned(&wave(700, 600, &[500.0])).1, 1);
        assert_eq!(learned(&wave(700, 600, &[100.0])).1, 0);
        assert_eq!(learned(&wave(700, 10, &[-9999.0])).1, 0);
    }

    #[test]
    fn ordinary_records_are_unchanged() {
        let noise = |i: usize| normal(2, i as u64);
        let uniform = |i: usize| 0.5 * (1.0 + noise(i).clamp(-1.0, 1.0));
        assert_eq!(unchanged(|_| 7.0, 3000), 0);
        assert_eq!(unchanged(|i| 0.1 + 0.2 * f64::from(u8::from(i > 2000)), 3000), 0);
        assert_eq!(unchanged(|i| f64::from(u8::from(i % 900 == 899)), 9000), 0);
        assert_eq!(unchanged(|i| 1.5f64.powf((i / 2) as f64), 1000), 0);
        assert_eq!(unchanged(|i| noise(i) + 2f64.powf(i as f64 - 500.0), 1000), 0);
        assert_eq!(
            unchanged(|i| if i % 50 == 49 { (1.0 + 40.0 * uniform(i)).round() } else { 0.0 }, 5000),
            0
        );
        assert_eq!(unchanged(|i| noise(i) * if i > 900 { 20.0 } else { 1.0 }, 2000), 0);
        // Student's t with 3 degrees of freedom.
        let chi = |i: usize| (1..=3).map(|k| normal(2 + k, i as u64).powi(2)).sum::<f64>() / 3.0;
        assert_eq!(unchanged(|i| noise(i) / chi(i).sqrt(), 20_000), 0);
        // Frequent ones are learned after some.
        let frequent = unchanged(|i| noise(i) + 1e4 * f64::from(u8::from(i % 50 == 49)), 5000);
        assert!((1..=5).contains(&frequent), "{frequent}");
    }

    fn forecaster() -> Dynamics {
        let mut spec = DynamicsSpec::automatic();
        (spec.delays.count, spec.horizons, spec.candidates) = (3, vec![1, 6], true);
        spec.build().unwrap()
    }

    #[test]
    fn forecasts_are_those_with_the_outlier_replaced_in_any_chunks_and_from_a_file() {
        let states = wave(200, 150, &[-9999.0, 1e6]);
        let mut whole = forecaster();
        whole.follow(states.view(), 1, false).unwrap();
        let mut expected = forecaster();
        expected.follow(learned(&states).0.view(), 1, false).unwrap();
        let ahead = |model: &Dynamics| model.ahead(None, None, 1, 0).unwrap();
        assert_eq!(ahead(&whole), ahead(&expected));
        assert_eq!((whole.n_left_out(), expected.n_left_out()), (2, 0));
        assert_eq!(whole.n_seen(), expected.n_seen());
        assert_eq!(whole.take_first_outlier(), Some((0, -9999.0)));
        for row in [100, 150, 151, 152] {
            let mut parts = forecaster();
            parts.follow(states.slice(s![..row, ..]), 1, false).unwrap();
            let bytes = parts.to_bytes(serde_json::Value::Null).unwrap();
            let mut parts = Dynamics::from_bytes(&bytes).unwrap().0;
            for i in row..200 {
                parts.follow(states.slice(s![i..=i, ..]), 1, true).unwrap();
            }
            assert_eq!(ahead(&parts), ahead(&whole));
            let bytes = |model: &Dynamics| model.to_bytes(serde_json::Value::Null).unwrap();
            assert!(bytes(&parts) == bytes(&whole));
        }
        // Along a given history too, and from the outlier itself.
        let replaced = learned(&states).0;
        let along = |states: ArrayView2<'_, f64>| whole.ahead(Some(states), None, 1, 0).unwrap();
        assert_eq!(along(states.view()), along(replaced.view()));
        let mut there = forecaster();
        there.follow(states.slice(s![..151, ..]), 1, false).unwrap();
        let last = there.ahead(Some(states.slice(s![150..151, ..])), None, 1, 0).unwrap();
        assert_eq!(last, ahead(&there));
    }

    #[test]
    fn a_burst_is_learned_as_if_none_of_it_had_been_replaced() {
        let ahead = |model: &Dynamics| model.ahead(None, None, 1, 0).unwrap();
        let values = [5e3, 50.0, -4e3, 51.0, 55.0, 7e3, 52.0, -6e3, 49.0];
        let states = wave(160, 150, &values);
        let mut parts = forecaster();
        parts.follow(states.slice(s![..150, ..]), 1, false).unwrap();
        let mut whole = parts.clone();
        whole.spikes.known[0].high = 1e4;
        whole.spikes.known[0].low = -1e4;
        for i in 150..160 {
            let row = states.slice(s![i..=i, ..]);
            whole.follow(row, 1, true).unwrap();
            parts.follow(row, 1, true).unwrap();
            assert_eq!(ahead(&parts) == ahead(&whole), i > 156);
        }
        assert_eq!(parts.n_left_out(), 0);
        let along = |model: &Dynamics| model.ahead(Some(states.view()), None, 1, 155).unwrap();
        assert_eq!(along(&parts), along(&whole));
    }

    #[test]
    fn a_new_level_is_learned_as_if_none_of_it_had_been_replaced() {
        let ahead = |model: &Dynamics| model.ahead(None, None, 1, 0).unwrap();
        let states = wave(170, 150, &[5e3; 20]);
        let mut whole = forecaster();
        whole.follow(states.slice(s![..150, ..]), 1, false).unwrap();
        let mut parts = whole.clone();
        whole.spikes.known[0].high = 1e4;
        for i in 150..170_usize {
            let row = states.slice(s![i..=i, ..]);
            whole.follow(row, 1, true).unwrap();
            parts.follow(row, 1, true).unwrap();
            assert_eq!(ahead(&parts) == ahead(&whole), i > 152);
            assert_eq!(parts.n_left_out(), if i > 152 { 0 } else { i as u64 - 149 });
            assert_eq!(parts.take_first_outlier(), None);
            let bytes = parts.to_bytes(Value::Null).unwrap();
            parts = Dynamics::from_bytes(&bytes).unwrap().0;
            assert!(parts.to_bytes(Value::Null).unwrap() == bytes);
        }
        // Along a given history too.
        let along = |model: &Dynamics| model.ahead(Some(states.view()), None, 1, 160).unwrap();
        let mut expected = parts.clone();
        expected.spikes = Spikes::default();
        assert_eq!(along(&parts), along(&expected));
    }
}
