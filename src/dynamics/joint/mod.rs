//! Mixtures of an operator's forecasts with linear and trivial ones.
//!
//! For each horizon: the operator's power; [least squares](least_squares) in the operator's
//! coordinates, in the state with delays, and in leading modes; the state itself; the running mean;
//! and, with a period, the state one period before. Weights follow squared errors along the stream,
//! in units of the deviation of each component; intervals follow the errors of the mixture. Every
//! forecast is made before the state it starts from is learned, so its errors are those of queries.
//!
//! The kinds that are learned: `readouts` (the operator's), `least_squares` (each a `regression`; in `modes`; again after the
//! warm-up from `warm_up_states`), `state_statistics` (the mean, and bounds of all). Their mixture over one horizon is a
//! `joint_horizon`: `pending` forecasts, whose targets change the weights (`blend`, of `posterior` weights) and the intervals
//! (`errors`). `file` writes all of them.

mod blend;
mod errors;
mod file;
mod joint_horizon;
mod least_squares;
mod modes;
mod pending;
mod posterior;
mod readouts;
mod regression;
mod state_statistics;
mod warm_up_states;

use ndarray::{Array2, Array3, ArrayView1, ArrayView2, Axis, s};

pub use joint_horizon::FORECASTS;
pub use least_squares::DelayEmbedding;
pub use readouts::Readouts;

use super::judging::{Ahead, is_due, stride};
use crate::error::Result;
use crate::learner::LearnerSpec;
use crate::validate::one_row;
use joint_horizon::JointHorizon;
use least_squares::LeastSquares;
use state_statistics::StateStatistics;

/// The mixtures and the forecasts that they combine.
#[derive(Clone, Debug)]
pub struct JointForecaster {
    pub horizons: Vec<JointHorizon>,
    pub learned: LeastSquares,
    pub readouts: Readouts,
    pub seen: StateStatistics,
    /// States in a period.
    period: Option<usize>,
}

impl JointForecaster {
    /// Initial state for an operator with this specification. `again`: whether its first states may
    /// be relearned.
    pub fn new(
        horizons: &[usize],
        period: Option<usize>,
        learner: &LearnerSpec,
        again: bool,
    ) -> Result<Self> {
        let kinds = kinds(period);
        Ok(Self {
            horizons: horizons.iter().map(|steps| JointHorizon::new(*steps, kinds)).collect(),
            learned: LeastSquares::new(horizons.to_vec(), learner, again)?,
            readouts: Readouts::default(),
            seen: StateStatistics::default(),
            period,
        })
    }

    /// Number of kinds of forecasts.
    pub fn kinds(&self) -> usize {
        kinds(self.period)
    }

    /// Steps of each horizon.
    pub fn steps(&self) -> Vec<usize> {
        self.horizons.iter().map(|horizon| horizon.steps).collect()
    }

    /// Starts another trajectory.
    pub fn begin(&mut self) {
        self.horizons.iter_mut().for_each(JointHorizon::end_trajectory);
    }

    /// Judges the forecasts of the new state, `lag` states per step, and records it.
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
        self.horizons.iter().map(|horizon| is_due(stride(horizon.steps), self.seen.count)).collect()
    }

    /// Computes and stores forecasts from the latest state with its delays (1, D), also given on
    /// the operator's scale; returns the mixture over each horizon, NaN where it is not due.
    /// `periods`: states one period before each horizon; `states`: number of leading columns that
    /// are the state.
    pub fn make(
        &mut self,
        embedding: &DelayEmbedding<'_>,
        x: ArrayView2<'_, f64>,
        scaled: ArrayView2<'_, f64>,
        periods: &[f64],
        states: impl Fn(Array2<f64>) -> Array2<f64>,
    ) -> Result<Ahead> {
        let width = self.seen.mean.len();
        let due = self.due();
        let z = embedding.operator.coordinates_of(&scaled.row(0).to_vec())?;
        let steps = self.steps();
        let keep = self.learned.keep();
        let ahead = if self.readouts.follow(embedding.operator, &z, &steps, width, keep)? {
            self.readouts.forecasts(&z, &due, width)
        } else {
            let steps: Vec<usize> =
                steps.into_iter().zip(&due).filter(|(_, due)| **due).map(|(steps, _)| steps).collect();
            embedding.operator.forecast_from(&z, &steps)?.slice_move(s![.., ..width])
        };
        let ahead = states(ahead);
        let features = self.learned.features(embedding, x, one_row(z.as_slice()).to_owned(), width);
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

    /// Forecasts of all kinds from a state.
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
            // An untrained kind has no forecast.
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

    /// Mixture (horizons, n, d), and log distance between the kinds (horizons, n, d), from states
    /// with their delays (n, D), also given on the operator's scale, the operator's forecasts
    /// (horizons, n, d), and the states a period before (n, horizons d), or nothing (n, 0).
    pub fn mix(
        &self,
        embedding: &DelayEmbedding<'_>,
        x: ArrayView2<'_, f64>,
        scaled: ArrayView2<'_, f64>,
        periods: ArrayView2<'_, f64>,
        mut ahead: Array3<f64>,
    ) -> Result<[Array3<f64>; 2]> {
        let width = self.seen.mean.len();
        let features = self.learned.features(embedding, x, embedding.operator.transform(scaled)?, width);
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
