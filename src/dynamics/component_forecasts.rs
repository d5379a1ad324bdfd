//! Forecasts of single components by several kinds of candidates, one of which is the mixture
//! around an operator.

use std::ops::Range;

use ndarray::{Array2, Array3, Array4, ArrayView2, Axis, concatenate, s};

use super::Dynamics;
use super::candidates::{CANDIDATES, Candidates, LONGEST, WIDEST};
use super::judging::{Ahead, is_due, stride, stride_under};
use crate::error::{Error, Result, in_range};
use crate::interrupt::check;
use crate::uncertainty::{Calibration, around};
use crate::validate::{check_finite, check_width};

/// States that may be the last ones learned by chance.
const FEW: usize = 2;

/// Forecasts from all of the first states of a history are compared with its later states, and after this many from fewer
/// and fewer, at least one in `FURTHEST_APART`.
const COMPARED: usize = 16;
const FURTHEST_APART: usize = 8;

/// Most periods of a calendar.
const PERIODS: usize = 4;

/// States from which forecasts are made together.
const BLOCK: usize = 1024;

/// Refuses periods that are not some of a calendar.
pub(super) fn check_calendar(calendar: &[usize]) -> Result<()> {
    let is_one = calendar.len() <= PERIODS
        && calendar.is_sorted_by(|one, next| one < next)
        && calendar.iter().all(|period| (2..=LONGEST).contains(period));
    in_range("calendar", calendar, is_one, "at most four periods from 2 to 100,000, rising").map(drop)
}

impl Dynamics {
    /// Initial state for this number of components; `None` if candidates are disabled.
    pub(super) fn new_candidates(&self, width: usize, lag: usize) -> Option<Candidates> {
        let horizons = &self.spec.horizons;
        let there = self.check_candidates(width).is_ok();
        let rows = horizons.iter().map(|steps| steps * lag).collect();
        let stride = if self.driven.is_some() { stride_under } else { stride };
        let strides = horizons.iter().map(|steps| stride(*steps)).collect();
        let widths = [width, self.operator.n_controls()];
        there.then(|| {
            let mut candidates = Candidates::new(widths, rows, strides, self.spec.period);
            candidates.calendar.clone_from(&self.spec.calendar);
            candidates
        })
    }

    /// Changes the [periods of the calendar](super::DynamicsSpec::calendar), which are looked for from the next state on.
    pub fn expect_periods(&mut self, calendar: Vec<usize>) -> Result<()> {
        check_calendar(&calendar)?;
        if let Some(candidates) = &mut self.candidates {
            candidates.calendar.clone_from(&calendar);
        }
        if let Some(unconfirmed) = &mut self.unconfirmed {
            unconfirmed.expect_periods(&calendar)?;
        }
        self.spec.calendar = calendar;
        Ok(())
    }

    /// Learns the latest state, followed by its inputs; `operator`: forecasts around the operator for each horizon, from this
    /// state, or with inputs of this state.
    pub(super) fn learn_candidates(
        &mut self,
        row: &[f64],
        lag: usize,
        continued: bool,
        operator: &Ahead,
        due: &[bool],
    ) {
        let known = self.candidates.take();
        let width = row.len() - self.operator.n_controls();
        let Some(mut candidates) = known.or_else(|| self.new_candidates(width, lag)) else { return };
        let rows: Vec<usize> = self.spec.horizons.iter().map(|steps| steps * lag).collect();
        if candidates.rows() != rows {
            candidates.resize(rows);
        }
        let missing = std::mem::take(&mut self.missing);
        if !continued {
            candidates.pass_over(missing, &row[..width]);
        }
        candidates.learn(row, operator, due);
        self.candidates = Some(candidates);
    }

    /// Whether candidates are enabled.
    #[must_use]
    pub fn has_candidates(&self) -> bool {
        self.candidates.is_some()
    }

    /// Refuses what has no candidates however much it learns: a specification without them, or too many components.
    fn check_candidates(&self, width: usize) -> Result<()> {
        let spec = &self.spec;
        let needed = "true for forecasts of single components";
        in_range("candidates", spec.candidates, spec.candidates, needed)?;
        let needed = "at least one for forecasts of single components";
        in_range("horizons", &spec.horizons, !spec.horizons.is_empty(), needed)?;
        let needed = "at most 64 for forecasts of single components";
        in_range("components", width, width <= WIDEST, needed)?;
        Ok(())
    }

    fn asked(&self) -> Result<&Candidates> {
        // Before the first row the width is unknown, and only the specification decides.
        self.check_candidates(self.n_features().unwrap_or(0))?;
        self.candidates.as_ref().ok_or(Error::NothingLearned)
    }

    /// Forecast over each horizon by all candidates, from each of these consecutive states, `lag`
    /// per step, from number `first` on, or from the state learned last: (horizons, n, d). If the
    /// first of them are those learned last, the others continue from the full state.
    ///
    /// `under`: for a system with inputs, those that act on each of the states and after the last, up to the longest
    /// horizon: (n - 1 + longest, k) or more.
    pub fn ahead(
        &self,
        states: Option<ArrayView2<'_, f64>>,
        under: Option<ArrayView2<'_, f64>>,
        lag: usize,
        first: usize,
    ) -> Result<Array3<f64>> {
        self.all_ahead(states, under, lag, first, None).map(|[made, _]| made)
    }

    /// The same, and half-widths of intervals with this coverage, if any.
    fn all_ahead(
        &self,
        states: Option<ArrayView2<'_, f64>>,
        under: Option<ArrayView2<'_, f64>>,
        lag: usize,
        first: usize,
        coverage: Option<f64>,
    ) -> Result<[Array3<f64>; 2]> {
        let all = self.each_ahead(states, under, lag, first, coverage)?;
        let candidates = self.asked()?;
        let shape = (candidates.rows().len(), all.len(), candidates.width());
        Ok([0, 1].map(|part| Array3::from_shape_fn(shape, |(k, i, c)| all[i][part][k][c])))
    }

    fn each_ahead(
        &self,
        states: Option<ArrayView2<'_, f64>>,
        under: Option<ArrayView2<'_, f64>>,
        lag: usize,
        first: usize,
        coverage: Option<f64>,
    ) -> Result<Vec<[Ahead; 2]>> {
        let candidates = self.asked()?;
        self.check_lag(lag)?;
        let under = self.checked_inputs(under, states.map_or(1, |states| states.nrows().max(1)))?;
        let Some(states) = states else {
            let under = under.slice(s![..self.longest(), ..]);
            let tail = self.learned_end().ok_or(Error::NoTrajectory)?;
            let operator = self.operator_ahead(tail, &[tail.nrows() - 1], |_| under, lag)?;
            return Ok(vec![candidates.forecasts(&operator[0], under, coverage)]);
        };
        check_width("X", Some(candidates.width()), states.ncols())?;
        check_finite("X", states)?;
        let replaced = self.history_without_spikes(states);
        let states = replaced.as_ref().map_or(states, |states| states.view());
        let history = GivenHistory { model: self, states, under: under.view(), lag, first, coverage };
        let overlap = self.overlap(states);
        let tail = self.learned_end().filter(|_| overlap > 0);
        let mut out = Vec::with_capacity(states.nrows().saturating_sub(first));
        let mut followed = candidates.clone();
        followed.begin();
        let apart = if tail.is_some() { overlap - 1 } else { states.nrows() };
        history.follow(&mut followed, (states, 0), 0..apart, true, &mut out)?;
        if let Some(tail) = tail {
            // From here on the state contains everything learned.
            let all = concatenate![Axis(0), tail, states.slice(s![overlap.., ..])];
            followed.clone_from(candidates);
            if self.driven.is_some() {
                // So the first rows are not compared over long horizons.
                followed.drop_pending();
            }
            followed.drive(history.under_from(overlap - 1));
            let known = (all.view(), tail.nrows() - 1);
            history.follow(&mut followed, known, overlap - 1..states.nrows(), false, &mut out)?;
        }
        Ok(out)
    }

    /// Over which horizons forecasts from state number `i` of a history are compared with its later states: fewer of them
    /// where it is long.
    fn compared(&self, i: usize) -> Vec<bool> {
        let stride = if self.driven.is_some() { stride_under } else { stride };
        let apart = (i / COMPARED).clamp(1, FURTHEST_APART);
        self.spec.horizons.iter().map(|steps| is_due(stride(*steps).max(apart), i as u64 + 1)).collect()
    }

    /// The states learned last, without inputs.
    fn learned_end(&self) -> Option<ArrayView2<'_, f64>> {
        let inputs = self.operator.n_controls();
        self.tail.as_ref().map(|tail| tail.slice(s![.., ..tail.ncols() - inputs]))
    }

    /// Number of leading states that equal the last ones learned. If there are few of them, more others follow, and the same
    /// states had occurred before, as whole numbers do, they need not be the same.
    fn overlap(&self, states: ArrayView2<'_, f64>) -> usize {
        let Some(tail) = self.learned_end() else { return 0 };
        let ends = |end: &usize| {
            let k = tail.nrows().min(*end);
            tail.slice(s![tail.nrows() - k.., ..]) == states.slice(s![end - k..*end, ..])
        };
        let certain = |end: &usize| {
            let known =
                self.candidates.as_ref().is_some_and(|model| model.knows(states.slice(s![..*end, ..])));
            *end > FEW || 2 * end >= states.nrows() || !known
        };
        (1..=states.nrows()).rev().find(|end| ends(end) && certain(end)).unwrap_or(0)
    }

    /// Forecasts of the mixture around the operator, or with inputs of the operator, from the states with these numbers;
    /// empty where too few precede.
    fn operator_ahead<'a>(
        &self,
        states: ArrayView2<'_, f64>,
        numbers: &[usize],
        under: impl Fn(usize) -> ArrayView2<'a, f64>,
        lag: usize,
    ) -> Result<Vec<Ahead>> {
        if self.driven.is_some() {
            let ask = |number: &usize| self.expected_under(states.slice(s![..=*number, ..]), under(*number));
            return numbers.iter().map(ask).collect();
        }
        let span = self.spec.delays.span();
        let mut out = vec![Vec::new(); numbers.len()];
        let few = numbers.partition_point(|number| *number < span);
        let (Some(first), Some(last)) = (numbers.get(few), numbers.last()) else { return Ok(out) };
        if self.operator.n_seen() < 2 {
            return Ok(out);
        }
        // Only what precedes these states by the delays and a period.
        let begin = (first - span).saturating_sub(self.spec.period.unwrap_or(0));
        let rows = self.forecast_rows(states.slice(s![begin..=*last, ..]), lag)?;
        let places: Vec<usize> = numbers[few..].iter().map(|number| number - span - begin).collect();
        let made = self.forecasts(rows.select(Axis(0), &places).view())?;
        for (i, out) in out[few..].iter_mut().enumerate() {
            *out = made.outer_iter().map(|of_horizon| of_horizon.row(i).to_vec()).collect();
        }
        Ok(out)
    }

    /// Intervals about [these](Self::ahead) with this coverage, for each component: lower and upper
    /// ends (horizons, n, d, 2). Infinite before the first forecast over the horizon is judged.
    pub fn ahead_intervals(
        &self,
        states: Option<ArrayView2<'_, f64>>,
        under: Option<ArrayView2<'_, f64>>,
        lag: usize,
        first: usize,
        coverage: f64,
    ) -> Result<Array4<f64>> {
        let coverage = Calibration::check(coverage)?;
        let [made, half_widths] = self.all_ahead(states, under, lag, first, Some(coverage))?;
        let (horizons, n, d) = made.dim();
        let mut out = Array4::zeros((horizons, n, d, 2));
        for ((k, i, c), value) in made.indexed_iter() {
            let (low, high) = around(*value, half_widths[(k, i, c)]);
            (out[(k, i, c, 0)], out[(k, i, c, 1)]) = (low, high);
        }
        Ok(out)
    }

    /// Standard deviation of each component about its forecast over each horizon: (horizons, d).
    pub fn ahead_deviations(&self) -> Result<Array2<f64>> {
        let candidates = self.asked()?;
        let shape = (candidates.rows().len(), candidates.width());
        Ok(Array2::from_shape_fn(shape, |(k, c)| candidates.deviation(k, c)))
    }

    /// Weights of the [kinds](CANDIDATES) in the forecast from the state learned last, with inputs held at theirs: (kinds,
    /// horizons, d).
    pub fn ahead_weights(&self, lag: usize) -> Result<Array3<f64>> {
        let candidates = self.asked()?;
        self.check_lag(lag)?;
        let tail = self.tail.as_ref().ok_or(Error::NoTrajectory)?;
        let (states, inputs) = tail.view().split_at(Axis(1), candidates.width());
        let held = inputs.row(tail.nrows() - 1);
        let under = held.broadcast((self.longest(), held.len())).ok_or(Error::NoTrajectory)?;
        let operator = self.operator_ahead(states, &[states.nrows() - 1], |_| under, lag)?;
        let weights = candidates.weights(&operator[0], under);
        let shape = (CANDIDATES.len(), candidates.rows().len(), candidates.width());
        Ok(Array3::from_shape_fn(shape, |(kind, k, c)| weights[kind][k][c]))
    }

    /// Periods found in each component, by importance.
    #[must_use]
    pub fn periods(&self) -> Vec<Vec<usize>> {
        let found = self.candidates.as_ref().map(Candidates::periods).unwrap_or_default();
        found.into_iter().map(<[usize]>::to_vec).collect()
    }
}

/// Consecutive states that a query gives, with the inputs that act on them and afterwards.
struct GivenHistory<'a> {
    model: &'a Dynamics,
    states: ArrayView2<'a, f64>,
    under: ArrayView2<'a, f64>,
    lag: usize,
    /// Forecasts are asked for from this state on.
    first: usize,
    coverage: Option<f64>,
}

impl GivenHistory<'_> {
    /// Inputs from the state with this number up to the longest horizon.
    fn under_from(&self, i: usize) -> ArrayView2<'_, f64> {
        self.under.slice(s![i..i + self.model.longest(), ..])
    }

    /// Adds the forecasts of these candidates from the states of a range that are asked for; some are compared with later
    /// states. `known`: all states, the one number `place` of which is the first of the range, and was learned unless the
    /// candidates `begin` with it.
    fn follow(
        &self,
        candidates: &mut Candidates,
        (known, place): (ArrayView2<'_, f64>, usize),
        range: Range<usize>,
        begin: bool,
        out: &mut Vec<[Ahead; 2]>,
    ) -> Result<()> {
        for start in range.clone().step_by(BLOCK) {
            let block = start..range.end.min(start + BLOCK);
            let due = block.clone().map(|i| (i, self.model.compared(i)));
            let needed: Vec<_> = due.filter(|(i, due)| *i >= self.first || due.contains(&true)).collect();
            let numbers: Vec<usize> = needed.iter().map(|(i, _)| place + (i - range.start)).collect();
            let under = |number: usize| self.under_from(number - place + range.start);
            let operator = self.model.operator_ahead(known, &numbers, under, self.lag)?;
            let mut needed = needed.into_iter().zip(operator).peekable();
            for i in block {
                check()?;
                if begin || i > range.start {
                    let row: Vec<f64> = self.states.row(i).iter().chain(self.under.row(i)).copied().collect();
                    candidates.advance(&row);
                }
                if let Some(((_, due), operator)) = needed.next_if(|((next, _), _)| *next == i) {
                    let (under, asked) = (self.under_from(i), i >= self.first);
                    out.extend(candidates.follow(&operator, under, &due, asked, self.coverage));
                }
            }
        }
        Ok(())
    }
}
