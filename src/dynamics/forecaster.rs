//! Forecasts that keep up with the trivial ones.
//!
//! For each horizon a mixture: the operator's power; what is [learned](super::learned) by least squares beside it, in the operator's
//! coordinates, in the state and its delays, and in their leading modes; the state itself; the mean of all states so
//! far; and, where a period is given, the state at the same phase of the last period. Weights follow the squared errors
//! that each made in the stream, each number of a state in units of its own deviation; intervals follow the errors of
//! the mixture itself. Every forecast was made before anything later was learned, and before the state it is from was: so it
//! is as good as those from states that are asked for.

use ndarray::{Array2, Array3, ArrayView1, ArrayView2, Axis, s};

use super::candidates::Ahead;
use super::horizon::{FORECASTS, Horizon};
use super::learned::{Learned, Lens};
use super::seen::Seen;
use crate::error::Result;
use crate::learner::LearnerSpec;
use crate::validate::one_row;

/// The mixtures and what they come from.
#[derive(Clone, Debug)]
pub(super) struct Forecaster {
    pub horizons: Vec<Horizon>,
    pub learned: Learned,
    pub seen: Seen,
    /// States in a period.
    period: Option<usize>,
}

impl Forecaster {
    /// One for an operator learned like this that has seen nothing yet. `again`: whether it may have to learn its first
    /// states again.
    pub fn new(
        horizons: &[usize],
        period: Option<usize>,
        learner: &LearnerSpec,
        again: bool,
    ) -> Result<Self> {
        let kinds = kinds(period);
        Ok(Self {
            horizons: horizons.iter().map(|steps| Horizon::new(*steps, kinds)).collect(),
            learned: Learned::new(horizons.to_vec(), learner, again)?,
            seen: Seen::default(),
            period,
        })
    }

    /// How many kinds of forecasts there are.
    pub fn kinds(&self) -> usize {
        kinds(self.period)
    }

    /// Steps of each horizon.
    pub fn steps(&self) -> Vec<usize> {
        self.horizons.iter().map(|horizon| horizon.steps).collect()
    }

    /// Steps of the longest forecast.
    pub fn longest(&self) -> usize {
        self.horizons.iter().map(|horizon| horizon.steps).max().unwrap_or(0)
    }

    /// Another trajectory begins.
    pub fn begin(&mut self) {
        self.horizons.iter_mut().for_each(Horizon::end_trajectory);
    }

    /// Judges the forecasts of the state that has come, `lag` states a step, and takes it in.
    pub fn meet(&mut self, state: &[f64], lag: usize) {
        let counts = self.seen.weights();
        let keep = self.learned.keep();
        for horizon in &mut self.horizons {
            horizon.judge(state, lag, &counts, keep);
        }
        self.seen.add(state);
        if self.seen.count == 1 {
            self.horizons.iter_mut().for_each(|horizon| horizon.begin(state.len()));
        }
    }

    /// Which horizons have their forecasts from the latest state judged.
    pub fn due(&self) -> Vec<bool> {
        self.horizons.iter().map(|horizon| horizon.is_due(self.seen.count)).collect()
    }

    /// Makes forecasts from the latest state with its delays (1, D), given on the operator's scale too, and keeps them;
    /// returns what was made of them over each horizon, NaN where it is not due.
    /// `periods`: what was there the last period before each horizon; `states`: the states of scaled ones with delays.
    pub fn make(
        &mut self,
        lens: &Lens<'_>,
        x: ArrayView2<'_, f64>,
        scaled: ArrayView2<'_, f64>,
        periods: &[f64],
        states: impl Fn(Array2<f64>) -> Array2<f64>,
    ) -> Result<Ahead> {
        let width = self.seen.mean.len();
        let due = self.due();
        let steps: Vec<usize> =
            self.steps().into_iter().zip(&due).filter(|(_, due)| **due).map(|(steps, _)| steps).collect();
        let z = lens.operator.coordinates_of(&scaled.row(0).to_vec())?;
        let ahead = states(lens.operator.forecast_from(&z, &steps)?);
        let features = self.learned.features(lens, scaled, one_row(z.as_slice()).to_owned(), width);
        let mut ahead = ahead.rows().into_iter();
        let mut made = Vec::with_capacity(due.len());
        for (k, due) in due.iter().enumerate() {
            let part = |all: &[f64]| all.get(k * width..(k + 1) * width).map(<[f64]>::to_vec);
            let kinds = due.then(|| {
                let expected =
                    ahead.next().unwrap_or_else(|| unreachable!("there is one for each that is due"));
                let state = x.slice(s![.., ..width]);
                let learned = self.learned.forecasts(k, state, &features);
                let learned = learned.each_ref().map(|all| all.row(0));
                self.of_all_kinds(expected, state.row(0), learned, part(periods))
            });
            let mixed = self.horizons[k].wait(kinds);
            made.push(mixed.unwrap_or_else(|| vec![f64::NAN; width]));
        }
        Ok(made)
    }

    /// The forecasts of all kinds from a state.
    fn of_all_kinds(
        &self,
        expected: ArrayView1<'_, f64>,
        state: ArrayView1<'_, f64>,
        learned: [ArrayView1<'_, f64>; 3],
        period: Option<Vec<f64>>,
    ) -> Vec<f64> {
        let state = state.to_vec();
        let mut made = expected.to_vec();
        self.seen.bound(&mut made, &state);
        for learned in learned {
            let mut learned = learned.to_vec();
            // One that knows nothing yet has no forecast.
            if !learned.iter().all(|value| value.is_nan()) {
                self.seen.bound(&mut learned, &state);
            }
            made.extend(learned);
        }
        made.extend(&state);
        made.extend(&self.seen.mean);
        if self.period.is_some() {
            made.extend(period.unwrap_or_else(|| vec![f64::NAN; state.len()]));
        }
        made
    }

    /// The mixtures' forecasts (horizons, n, d), and the logarithms of how far apart the kinds are of which these are
    /// mixtures (horizons, n, d), from states with their delays (n, D), given on the operator's scale
    /// too, what the operator expects (horizons, n, d), and what was there a period before (n, horizons d), or nothing (n, 0).
    pub fn mix(
        &self,
        lens: &Lens<'_>,
        x: ArrayView2<'_, f64>,
        scaled: ArrayView2<'_, f64>,
        periods: ArrayView2<'_, f64>,
        mut ahead: Array3<f64>,
    ) -> Result<[Array3<f64>; 2]> {
        let width = self.seen.mean.len();
        let features = self.learned.features(lens, scaled, lens.operator.transform(scaled)?, width);
        let states = x.slice(s![.., ..width]);
        let mut apart = Array3::zeros(ahead.dim());
        let both = ahead.axis_iter_mut(Axis(0)).zip(apart.axis_iter_mut(Axis(0)));
        for (k, (mut of_horizon, mut apart)) in both.enumerate() {
            let part = s![k * width..(k + 1) * width];
            let learned = self.learned.forecasts(k, states, &features);
            let rows = of_horizon.rows_mut().into_iter().zip(apart.rows_mut());
            for (i, (mut row, mut apart)) in rows.enumerate() {
                let period = (periods.ncols() > 0).then(|| periods.row(i).slice_move(part).to_vec());
                let learned = learned.each_ref().map(|all| all.row(i));
                let made = self.of_all_kinds(row.view(), states.row(i), learned, period);
                let (mixed, disagreement) = self.horizons[k].mix(&made);
                row.iter_mut().zip(mixed).for_each(|(to, value)| *to = value);
                apart.iter_mut().zip(disagreement).for_each(|(to, value)| *to = value);
            }
        }
        Ok([ahead, apart])
    }
}

fn kinds(period: Option<usize>) -> usize {
    FORECASTS.len() - usize::from(period.is_none())
}
