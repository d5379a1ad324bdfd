//! Isolated outliers of the states of a forecaster.
//!
//! A single value far beyond all before it, such as a sensor's code for a missing one, would be a
//! regressor of the next rows, and move coefficients and intervals for hundreds. It is replaced by
//! the last value before it, for at most three rows with few between. The next is a new level, or a
//! burst (`spike_replacement`).
//! The rule only uses earlier rows, so it does not depend on how a stream is split into calls.

use ndarray::{Array2, ArrayView1, ArrayView2, s};

use crate::dynamics::SpikeParams;
use crate::error::{Error, Result};
use crate::kernel::LARGEST;
use crate::persist::{Reader, Writer};

/// Changes below this share of a value are rounding.
const ROUNDING: f64 = 1e-12;

/// Changes over which their size is averaged.
const MEMORY: f64 = 1e4;

/// Runs of outliers of a component that are replaced in any record, however short.
const FIRST_RUNS: f64 = 3.0;

/// The values of a component so far.
#[derive(Clone, Copy, Debug)]
struct ComponentRange {
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

impl Default for ComponentRange {
    fn default() -> Self {
        let (low, high) = (f64::MAX, f64::MIN);
        Self { low, high, changes: 0.0, step: 0.0, run: 0.0, since: 0.0, runs: 0.0, raw: 0.0 }
    }
}

impl ComponentRange {
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

/// The values of all components so far, and the rows in which one was replaced.
#[derive(Clone, Debug, Default)]
pub struct Spikes {
    known: Vec<ComponentRange>,
    rows: u64,
    replaced: u64,
    /// Component and value of the first outlier, until it is taken. Not saved.
    first: Option<(usize, f64)>,
}

impl Spikes {
    /// Number of components; 0 before the first row.
    pub fn width(&self) -> usize {
        self.known.len()
    }

    /// Extends the range of a component by values that are no outliers.
    pub fn widen<'a>(&mut self, component: usize, values: impl Iterator<Item = &'a f64>) {
        self.known[component].widen(values);
    }

    /// Number of rows with a replaced value.
    pub fn count(&self) -> u64 {
        self.replaced
    }

    /// Whether a state that follows `last` has an outlier.
    pub fn replaces(
        &self,
        state: ArrayView1<'_, f64>,
        last: ArrayView1<'_, f64>,
        params: &SpikeParams,
    ) -> bool {
        let replaces =
            |(c, known): (usize, &ComponentRange)| known.replaces(state[c], last[c], self.rows + 1, params);
        self.known.len() == state.len() && self.known.iter().enumerate().any(replaces)
    }

    /// Components of a state that follows `last` which are a new level.
    pub fn levels(
        &self,
        state: ArrayView1<'_, f64>,
        last: ArrayView1<'_, f64>,
        params: &SpikeParams,
    ) -> Vec<usize> {
        let is_level = |(c, known): (usize, &ComponentRange)| {
            (c < state.len() && known.is_level(state[c], last[c], params)).then_some(c)
        };
        self.known.iter().enumerate().filter_map(is_level).collect()
    }

    /// Whether one of the latest states had an outlier.
    pub fn is_in_run(&self) -> bool {
        self.known.iter().any(|known| known.run > 0.0)
    }

    /// Records a state that follows `last`, if any; returns it with its outliers replaced, if it has
    /// one.
    pub fn meet(
        &mut self,
        state: ArrayView1<'_, f64>,
        last: Option<ArrayView1<'_, f64>>,
        params: &SpikeParams,
    ) -> Option<Vec<f64>> {
        if self.known.len() != state.len() {
            self.known = vec![ComponentRange::default(); state.len()];
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
    pub fn replaced(
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
                    *known = ComponentRange::default();
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
            let numbers: Vec<f64> = self.known.iter().flat_map(ComponentRange::numbers).collect();
            out.matrix("spikes.known", self.known.len(), ComponentRange::NUMBERS, &numbers);
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
        let fits = cols == ComponentRange::NUMBERS && n > 0 && width.is_none_or(|width| width == n);
        let known: Vec<ComponentRange> = if fits {
            numbers.chunks_exact(ComponentRange::NUMBERS).map(ComponentRange::of_numbers).collect()
        } else {
            Vec::new()
        };
        if !fits || replaced > rows || !known.iter().all(ComponentRange::is_sound) {
            return Err(Error::file("spikes.known are not of any states"));
        }
        Ok(Self { known, rows, replaced, first: None })
    }

    pub fn take_first(&mut self) -> Option<(usize, f64)> {
        self.first.take()
    }
}
