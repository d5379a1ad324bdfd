//! Forecasts of several horizons, mixed and judged along the trajectories learned.

use ndarray::{Array2, Array3, ArrayView2, Axis, s};

use super::delays::embedded;
use super::forecaster::Forecaster;
use super::{Dynamics, DynamicsSpec};
use crate::error::{Error, Result, in_range};
use crate::koopman::{Koopman, Truncation};

/// Most steps ahead.
const FURTHEST: usize = 100_000;

impl DynamicsSpec {
    /// The mixtures for the horizons, if there are any.
    pub(super) fn forecaster(&self, operator: &Koopman) -> Result<Option<Forecaster>> {
        for (k, horizon) in self.horizons.iter().enumerate() {
            in_range("horizons", horizon, (1..=FURTHEST).contains(horizon), "from 1 to 100,000")?;
            in_range("horizons", horizon, !self.horizons[..k].contains(horizon), "all different")?;
            in_range("horizons", horizon, self.operator.control.is_none(), "none for a system with inputs")?;
        }
        let new = || Forecaster::new(&self.horizons, &operator.spec().learner, self.learns_first());
        (!self.horizons.is_empty()).then(new).transpose()
    }
}

impl Dynamics {
    /// Steps back from the latest state that forecasts have to do with.
    pub(super) fn reach(&self) -> usize {
        self.forecaster.as_ref().map_or(0, Forecaster::longest)
    }

    /// Learns a trajectory state by state: after each, forecasts that it settles are judged, and others made.
    pub(super) fn follow_and_judge(
        &mut self,
        x: ArrayView2<'_, f64>,
        lag: usize,
        continued: bool,
        go_on: &mut dyn FnMut(usize) -> bool,
    ) -> Result<usize> {
        let before = (x.nrows() > 1).then(|| self.clone());
        for i in 0..x.nrows() {
            if !go_on(i) {
                return Ok(i);
            }
            let row = x.slice(s![i..=i, ..]);
            let learned = self.follow_and_judge_one(row, lag, continued || i > 0);
            if let Err(error) = learned {
                if let Some(before) = before {
                    *self = before;
                }
                return Err(error.shifted(i));
            }
        }
        Ok(x.nrows())
    }

    fn follow_and_judge_one(&mut self, row: ArrayView2<'_, f64>, lag: usize, continued: bool) -> Result<()> {
        self.follow_part(row, lag, continued, &mut |_| true)?;
        let (Some(mut forecaster), Some(tail)) = (self.forecaster.take(), self.tail.take()) else {
            return Ok(());
        };
        let result = self.judge(&mut forecaster, tail.view(), lag, continued);
        (self.forecaster, self.tail) = (Some(forecaster), Some(tail));
        result
    }

    /// What the latest of these states says of earlier forecasts, and forecasts from it.
    fn judge(
        &self,
        forecaster: &mut Forecaster,
        states: ArrayView2<'_, f64>,
        lag: usize,
        continued: bool,
    ) -> Result<()> {
        if !continued {
            forecaster.begin();
        }
        let (span, n) = (self.spec.delays.span(), states.nrows());
        let latest: Vec<f64> = states.row(n - 1).to_vec();
        forecaster.judge(&latest, lag);
        forecaster.count(&latest);
        if self.operator.n_features().is_none() || n <= span {
            return Ok(());
        }
        let window = |end: usize| embedded(&self.spec.delays, states.slice_move(s![end - span - 1..end, ..]));
        let back = forecaster.longest() * lag;
        if n > span + back {
            let x = window(n - back);
            let start = n - 1 - back;
            let later = |horizon: usize| states.row(start + horizon * lag);
            let differences: Vec<f64> = forecaster
                .horizons
                .iter()
                .flat_map(|horizon| (&later(*horizon) - &states.row(start)).to_vec())
                .collect();
            forecaster.learn(&self.operator, self.units.scaled(x.view()).view(), &differences)?;
            forecaster.keep(x.view(), &differences);
        }
        let x = window(n);
        let states = |ahead: Array2<f64>| self.units.given(self.current(ahead));
        forecaster.make(&self.operator, x.view(), self.units.scaled(x.view()).view(), states)
    }

    /// The forecast over each of the horizons, from states with their delays ([`embed`](Self::embed)): (horizons, n, d).
    ///
    /// A mixture of the operator's forecast, of the state with what is expected to be added to it, of the state
    /// itself and of the mean so far, with the [weights](Self::forecast_weights) that did best along the trajectories
    /// learned.
    pub fn forecasts(&self, x: ArrayView2<'_, f64>) -> Result<Array3<f64>> {
        let forecaster = self.mixing()?;
        let scaled = self.units.scaled(x);
        let steps = &forecaster.horizons;
        let ahead = self.operator.forecast_unbounded(scaled.view(), steps, Truncation::default())?;
        let ahead = self.states(ahead);
        forecaster.mix(&self.operator, x, scaled.view(), ahead)
    }

    /// Weights of the [kinds of forecasts](super::FORECASTS) in those of each horizon (horizons, kinds).
    pub fn forecast_weights(&self) -> Result<Array2<f64>> {
        self.mixing().map(Forecaster::weights)
    }

    /// The latest states of the trajectory that was learned last, as many as one with its delays has.
    pub fn latest(&self) -> Result<Array2<f64>> {
        let needed = self.spec.delays.span() + 1;
        let tail = self.tail.as_ref().ok_or(Error::NoTrajectory)?;
        if tail.nrows() < needed {
            return Err(Error::ShortPast { needed, found: tail.nrows() });
        }
        let width = tail.ncols() - self.operator.n_controls();
        Ok(tail.slice_axis(Axis(0), (tail.nrows() - needed..).into()).slice(s![.., ..width]).to_owned())
    }

    fn mixing(&self) -> Result<&Forecaster> {
        let forecaster = self.forecaster.as_ref().ok_or_else(|| Error::InvalidParameter {
            name: "horizons",
            value: "none".to_owned(),
            requirement: "the steps ahead that forecasts are mixed for",
        })?;
        if forecaster.seen.count == 0 { Err(Error::NothingLearned) } else { Ok(forecaster) }
    }
}
