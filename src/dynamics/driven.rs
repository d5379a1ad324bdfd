//! Forecasts of systems with inputs.
//!
//! Their forecasts depend on the inputs that act until the target, and so are made for comparison when these are known, by
//! models from before any state after the first of the forecast was learned: regressions by their
//! former coefficients, the operator by a copy.

use std::sync::Arc;

use ndarray::{Array2, Array3, ArrayView2, Axis, concatenate, s};

use super::candidates::WIDEST;
use super::judging::{Ahead, is_due, stride_under};
use super::states::constant_inputs::held;
use super::states::delay_embedding::embedded;
use super::{DelaysSpec, Dynamics, DynamicsSpec, Units};
use crate::error::{Error, Result, in_range};
use crate::koopman::Koopman;
use crate::persist::{Persist as _, Reader, Writer, load};
use crate::validate::{check_finite, check_width};

/// Rows from one copy to the next: at least this many, and this share of those so far.
const APART: u64 = 16;
const SHARE: u64 = 16;

/// Copies of an operator: the latest, and one from before the first states of all pending forecasts.
#[derive(Clone, Debug, Default)]
pub(super) struct Driven {
    /// States learned.
    count: u64,
    copies: Vec<Arc<Copied>>,
}

/// An operator and its scale after `since` states.
#[derive(Clone, Debug)]
struct Copied {
    since: u64,
    operator: Koopman,
    units: Units,
}

/// Forecasts by an operator over these numbers of steps from the last of these states, with its predecessors, under these
/// inputs (steps, k); NaN where it has none, as where it overflows.
fn expected(
    (operator, units): (&Koopman, &Units),
    delays: &DelaysSpec,
    states: ArrayView2<'_, f64>,
    under: ArrayView2<'_, f64>,
    steps: &[usize],
) -> Result<Ahead> {
    let (n, width) = states.dim();
    let window = embedded(delays, states.slice_move(s![n - delays.span() - 1.., ..]));
    let scaled = units.scaled(window.view());
    let under = held(operator, under);
    let ask =
        |steps: &[usize]| operator.forecast_under(scaled.view(), under.view().insert_axis(Axis(0)), steps);
    let given = |made: Array3<f64>| {
        let states = units.given(made.slice_move(s![.., 0, ..width]));
        states.rows().into_iter().map(|row| row.to_vec()).collect::<Ahead>()
    };
    match ask(steps) {
        Ok(made) => Ok(given(made)),
        Err(Error::Interrupted) => Err(Error::Interrupted),
        // Over fewer steps it may not.
        Err(Error::ForecastOverflow { .. }) if steps.len() > 1 => {
            let one = |steps: &usize| expected((operator, units), delays, states, under.view(), &[*steps]);
            Ok(steps.iter().map(one).collect::<Result<Vec<_>>>()?.concat())
        }
        // Also states or inputs that are far beyond all that it has learned.
        Err(_) => Ok(vec![vec![f64::NAN; width]; steps.len()]),
    }
}

impl DynamicsSpec {
    /// Initial state, with inputs and horizons.
    pub(super) fn driven(&self) -> Option<Driven> {
        (self.operator.control.is_some() && !self.horizons.is_empty()).then(Driven::default)
    }
}

impl Dynamics {
    /// Learns a state with its inputs (1, d + k): before, forecasts of it are judged; afterwards, others are made from it.
    /// Returns whether it was learned; not if it was interrupted before.
    pub(super) fn follow_and_judge_driven(
        &mut self,
        row: ArrayView2<'_, f64>,
        lag: usize,
        continued: bool,
    ) -> Result<bool> {
        let Some(driven) = &self.driven else { return Ok(true) };
        let tail = self.tail.as_ref().filter(|_| continued);
        let all = tail.map_or_else(|| row.to_owned(), |tail| concatenate![Axis(0), tail.view(), row]);
        let operator = match self.expected_now(driven, all.view()) {
            Err(Error::Interrupted) => return Ok(false),
            operator => operator?,
        };
        let due: Vec<bool> =
            self.spec.horizons.iter().map(|steps| is_due(stride_under(*steps), driven.count + 1)).collect();
        self.follow_part(row, lag, continued, &mut |_| true)?;
        self.learn_candidates(&row.row(0).to_vec(), lag, continued, &operator, &due);
        if let Some(driven) = &mut self.driven {
            driven.count += 1;
            driven.copy(&self.operator, &self.units, &self.spec.horizons);
        }
        Ok(true)
    }

    /// Forecasts of the latest of these states with their inputs by the operator over each horizon, NaN if there is none.
    fn expected_now(&self, driven: &Driven, all: ArrayView2<'_, f64>) -> Result<Ahead> {
        let (n, width) = (all.nrows(), all.ncols() - self.operator.n_controls());
        let (states, inputs) = all.split_at(Axis(1), width);
        let delays = &self.spec.delays;
        let mut all = Vec::with_capacity(self.spec.horizons.len());
        for steps in &self.spec.horizons {
            let copied = driven.copied_before(*steps).filter(|_| n > delays.span() + steps);
            let made = copied.map(|copied| {
                let (states, under) =
                    (states.slice(s![..n - steps, ..]), inputs.slice(s![n - 1 - steps..n - 1, ..]));
                expected((&copied.operator, &copied.units), delays, states, under, &[*steps])
            });
            all.extend(made.unwrap_or_else(|| Ok(vec![vec![f64::NAN; width]]))?);
        }
        Ok(all)
    }

    /// Forecasts of the operator over each horizon from the last of these states, under these inputs.
    pub(super) fn expected_under(
        &self,
        states: ArrayView2<'_, f64>,
        under: ArrayView2<'_, f64>,
    ) -> Result<Ahead> {
        if self.operator.n_seen() < 2 || states.nrows() <= self.spec.delays.span() {
            return Ok(Vec::new());
        }
        let operator = (&self.operator, &self.units);
        expected(operator, &self.spec.delays, states, under, &self.spec.horizons)
    }

    /// The inputs of `states` states and of those up to the longest horizon after the last; none for a system without.
    pub(super) fn checked_inputs(
        &self,
        under: Option<ArrayView2<'_, f64>>,
        states: usize,
    ) -> Result<Array2<f64>> {
        let width = self.operator.n_controls();
        let needed = states + self.longest() - 1;
        let Some(under) = under.filter(|_| self.driven.is_some()) else {
            let found = under.map_or(0, |under| under.ncols());
            if found == width {
                return Ok(Array2::zeros((needed, 0)));
            }
            return Err(Error::WrongWidth { what: "inputs", expected: width, found });
        };
        check_width("inputs", Some(width), under.ncols())?;
        if under.nrows() < needed {
            return Err(Error::ShortInputs { states, needed, found: under.nrows() });
        }
        let under = under.slice_move(s![..needed, ..]);
        check_finite("inputs", under)?;
        Ok(under.to_owned())
    }

    /// Refuses what forecasts under inputs do not support.
    pub(super) fn check_driven(&self, lag: usize, states: usize) -> Result<()> {
        if self.driven.is_none() {
            return Ok(());
        }
        in_range("lag", lag, lag == 1, "1 for forecasts under inputs")?;
        let (most, inputs) = (WIDEST, self.operator.n_controls());
        in_range("inputs", format!("{inputs} of each state"), inputs <= most, "at most 64 for forecasts")?;
        let wide = format!("{states} numbers");
        in_range("a state", wide, states <= most, "at most 64 numbers for forecasts under inputs")?;
        Ok(())
    }
}

impl Driven {
    /// States learned.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Forgets the copies: parameters of the operator were chosen again.
    pub fn forget(&mut self) {
        self.copies.clear();
    }

    /// The copy for the forecast of the next state over n `steps`, if it is compared: from before the states in between.
    fn copied_before(&self, steps: usize) -> Option<&Copied> {
        // States learned when the forecast would have been made.
        let then = (self.count + 1).checked_sub(steps as u64)?;
        let copied = self.copies.iter().rev().find(|copied| copied.since <= then);
        copied.filter(|_| is_due(stride_under(steps), then)).map(Arc::as_ref)
    }

    /// Copies the operator, if the latest copy is old.
    fn copy(&mut self, operator: &Koopman, units: &Units, horizons: &[usize]) {
        let longest = horizons.iter().max().map_or(1, |steps| *steps as u64);
        let old = |last: &Arc<Copied>| self.count - last.since >= longest.max(APART).max(last.since / SHARE);
        if operator.n_seen() < 2 || !self.copies.last().is_none_or(old) {
            return;
        }
        self.copies.drain(..self.copies.len().saturating_sub(1));
        let (since, operator, units) = (self.count, operator.clone(), units.clone());
        self.copies.push(Arc::new(Copied { since, operator, units }));
    }

    pub fn write(&self, out: &mut Writer) -> Result<()> {
        out.counts("driven.count", &[self.count, self.copies.len() as u64]);
        for (i, copied) in self.copies.iter().enumerate() {
            let mut own = Writer::default();
            own.counts("since", &[copied.since]);
            own.bytes("operator", copied.operator.to_bytes(serde_json::Value::Null)?);
            copied.units.write(&mut own);
            out.bytes(&name(i), own.finish(KIND, serde_json::Value::Null, serde_json::Value::Null)?);
        }
        Ok(())
    }

    /// Reads what [`write`](Self::write) wrote, beside this operator.
    pub fn read(from: &Reader<'_>, operator: &Koopman) -> Result<Self> {
        let wrong = || Error::file("the copies of its operator are not older ones of its own");
        let [count, copies] = from.counts("driven.count")?;
        if copies > 2 {
            return Err(wrong());
        }
        let read = |i: usize| {
            load(from.bytes(&name(i))?, KIND, |_: serde_json::Value, from| Copied::read(from))
                .map(|(one, _)| Arc::new(one))
        };
        let copies: Vec<Arc<Copied>> =
            (0..usize::try_from(copies).unwrap_or(0)).map(read).collect::<Result<_>>()?;
        let rising = copies.is_sorted_by(|a, b| a.since < b.since);
        let own = |copied: &Arc<Copied>| {
            copied.since <= count
                && copied.operator.n_seen() >= 2
                && copied.operator.n_features() == operator.n_features()
                && copied.operator.n_controls() == operator.n_controls()
                && copied.units.suits(operator.n_features())
        };
        if rising && copies.iter().all(own) { Ok(Self { count, copies }) } else { Err(wrong()) }
    }
}

impl Copied {
    fn read(from: &Reader<'_>) -> Result<Self> {
        let [since] = from.counts("since")?;
        let operator = Koopman::from_bytes(from.bytes("operator")?)?.0;
        Ok(Self { since, operator, units: Units::read(from)? })
    }
}

const KIND: &str = "copy";

fn name(i: usize) -> String {
    format!("driven.{i}")
}
