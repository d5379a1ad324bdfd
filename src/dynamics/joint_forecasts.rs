//! Mixed forecasts at several horizons, judged along the learned trajectories, and their
//! uncertainty.

use ndarray::{Array2, Array3, Array4, ArrayView2, Axis, concatenate, s};

use super::driven::Driven;
use super::joint::{DelayEmbedding, JointForecaster};
use super::judging::Ahead;
use super::states::delay_embedding::embedded;
use super::{Dynamics, DynamicsSpec};
use crate::error::{Error, Result, in_range};
use crate::koopman::{Koopman, Truncation};
use crate::uncertainty::{Calibration, around};
use crate::validate::check_width;

/// Longest horizon and period.
const FURTHEST: usize = 100_000;

/// Most horizons: each takes kilobytes from the beginning.
const MOST_HORIZONS: usize = 1000;

impl DynamicsSpec {
    /// Initial mixtures for the horizons, if any.
    pub(super) fn forecaster(&self, operator: &Koopman) -> Result<Option<JointForecaster>> {
        let count = self.horizons.len();
        in_range(
            "horizons",
            format!("{count} of them"),
            count <= MOST_HORIZONS,
            "at most 1,000 steps ahead",
        )?;
        for (k, horizon) in self.horizons.iter().enumerate() {
            in_range("horizons", horizon, (1..=FURTHEST).contains(horizon), "from 1 to 100,000")?;
            let new = !self.horizons[..k].contains(horizon);
            in_range("horizons", format_args!("{horizon} twice"), new, "all different")?;
            let possible = self.operator.control.is_none() || self.candidates;
            in_range("horizons", horizon, possible, "none for a system with inputs and without candidates")?;
        }
        if let Some(period) = self.period {
            in_range("period", period, (2..=FURTHEST).contains(&period), "from 2 to 100,000")?;
            in_range(
                "period",
                period,
                !self.horizons.is_empty(),
                "left out without horizons, which it is for",
            )?;
        }
        let new = || {
            JointForecaster::new(&self.horizons, self.period, &operator.spec().learner, self.learns_first())
        };
        (!self.horizons.is_empty() && self.operator.control.is_none()).then(new).transpose()
    }
}

impl Dynamics {
    /// Number of states learned with horizons.
    #[must_use]
    pub fn n_states(&self) -> u64 {
        let driven = self.driven.as_ref().map(Driven::count);
        driven.or_else(|| Some(self.forecaster.as_ref()?.seen.count)).unwrap_or(0)
    }

    /// Longest horizon; 0 without one.
    pub(super) fn longest(&self) -> usize {
        self.spec.horizons.iter().max().copied().unwrap_or(0)
    }

    /// Number of past states that forecasts use, besides the latest with its delays, `lag` states
    /// per step.
    pub(super) fn reach(&self, lag: usize) -> usize {
        let period = self.spec.period.unwrap_or(0);
        (self.longest() * lag).max(period)
    }

    /// Learns a trajectory state by state: before each, due forecasts are judged, and others made.
    pub(super) fn follow_and_judge(
        &mut self,
        x: ArrayView2<'_, f64>,
        lag: usize,
        (continued, missing): (bool, usize),
        should_continue: &mut dyn FnMut(usize) -> bool,
    ) -> Result<usize> {
        let before = (x.nrows() > 0).then(|| self.clone());
        for i in 0..x.nrows() {
            if !should_continue(i) {
                return Ok(i);
            }
            let row = x.slice(s![i..=i, ..]);
            let continued = continued || i > 0;
            self.missing = if i == 0 { missing } else { 0 };
            match self.follow_without_spikes(row, lag, continued) {
                Ok(true) => {}
                Ok(false) => return Ok(i),
                Err(error) => {
                    if let Some(before) = before {
                        *self = before;
                    }
                    return Err(error.shifted(i));
                }
            }
        }
        self.missing = 0;
        Ok(x.nrows())
    }

    /// Learns the next state of a trajectory (1, d), with its inputs if there are any; returns whether
    /// it was learned, not if it was interrupted before.
    pub(super) fn follow_and_judge_next(
        &mut self,
        row: ArrayView2<'_, f64>,
        lag: usize,
        continued: bool,
    ) -> Result<bool> {
        if self.driven.is_some() {
            return self.follow_and_judge_driven(row, lag, continued);
        }
        self.follow_and_judge_one(row, lag, continued).map(|()| true)
    }

    fn follow_and_judge_one(&mut self, row: ArrayView2<'_, f64>, lag: usize, continued: bool) -> Result<()> {
        let Some(mut forecaster) = self.forecaster.take() else { return Ok(()) };
        let tail = self.tail.as_ref().filter(|_| continued);
        let states = tail.map_or(Ok(row.to_owned()), |tail| concatenate(Axis(0), &[tail.view(), row]));
        let states = states.unwrap_or_else(|_| unreachable!("its width was checked"));
        let judged = self.judge(&mut forecaster, states.view(), lag, continued);
        let due = forecaster.due();
        self.forecaster = Some(forecaster);
        let operator = judged?;
        self.follow_part(row, lag, continued, &mut |_| true)?;
        self.learn_what_came(states.view(), lag, continued)?;
        self.learn_candidates(&row.row(0).to_vec(), lag, continued, &operator, &due);
        Ok(())
    }

    /// Judges earlier forecasts of the latest state, and makes forecasts from it, before it is
    /// learned; returns the mixture over each horizon.
    fn judge(
        &self,
        forecaster: &mut JointForecaster,
        states: ArrayView2<'_, f64>,
        lag: usize,
        continued: bool,
    ) -> Result<Ahead> {
        if !continued {
            forecaster.begin();
        }
        let (span, n) = (self.spec.delays.span(), states.nrows());
        forecaster.meet(&states.row(n - 1).to_vec(), lag);
        // One pair does not determine a scale.
        if self.operator.n_seen() < 2 || n <= span {
            return Ok(Vec::new());
        }
        let x = embedded(&self.spec.delays, states.slice_move(s![n - span - 1.., ..]));
        let periods = a_period_before(&self.spec, states, n - 1, lag);
        let given = |ahead: Array2<f64>| self.units.given(ahead);
        forecaster.make(
            &self.delay_embedding(),
            x.view(),
            self.units.scaled(x.view()).view(),
            &periods,
            given,
        )
    }

    /// Learns the latest of these states beside the operator.
    fn learn_what_came(&mut self, states: ArrayView2<'_, f64>, lag: usize, continued: bool) -> Result<()> {
        let Some(mut forecaster) = self.forecaster.take() else { return Ok(()) };
        let learned = &mut forecaster.learned;
        learned.remember(&states.row(states.nrows() - 1).to_vec(), self.spec.delays.span(), lag, continued);
        let known = self.operator.n_seen() >= 2;
        let result = if known { learned.learn(&self.delay_embedding(), states, lag) } else { Ok(()) };
        self.forecaster = Some(forecaster);
        result
    }

    pub(super) fn delay_embedding(&self) -> DelayEmbedding<'_> {
        DelayEmbedding { operator: &self.operator, units: &self.units, delays: &self.spec.delays }
    }

    /// Rows for forecast queries from the states of a trajectory (n, d): each state with enough
    /// predecessors, followed by these ([`embed`](Self::embed)) and, with a period, by the states
    /// one period before each horizon, `lag` states per step; NaN where the trajectory does not go
    /// back far enough.
    pub fn forecast_rows(&self, states: ArrayView2<'_, f64>, lag: usize) -> Result<Array2<f64>> {
        let rows = self.embed(states)?;
        self.check_lag(lag)?;
        let span = self.spec.delays.span();
        let widths =
            (rows.ncols(), self.spec.period.map_or(0, |_| self.spec.horizons.len() * states.ncols()));
        let mut out = Array2::zeros((rows.nrows(), widths.0 + widths.1));
        out.slice_mut(s![.., ..widths.0]).assign(&rows);
        for (i, mut row) in out.rows_mut().into_iter().enumerate() {
            let periods = a_period_before(&self.spec, states, span + i, lag);
            row.slice_mut(s![widths.0..]).iter_mut().zip(periods).for_each(|(to, value)| *to = value);
        }
        Ok(out)
    }

    /// Forecast over each horizon, from [rows](Self::forecast_rows): (horizons, n, d).
    ///
    /// A mixture of the operator's forecast, least squares in its coordinates, in the state and in
    /// its leading modes, the state itself, the running mean, and the previous period, with
    /// [weights](Self::forecast_weights) that follow errors along the learned trajectories.
    pub fn forecasts(&self, rows: ArrayView2<'_, f64>) -> Result<Array3<f64>> {
        self.forecasts_and_disagreement(rows).map(|[made, _]| made)
    }

    /// The same, and the log distance between the mixed forecasts.
    fn forecasts_and_disagreement(&self, rows: ArrayView2<'_, f64>) -> Result<[Array3<f64>; 2]> {
        let forecaster = self.mixing()?;
        let width = self.operator.n_features().unwrap_or(0);
        let periods = self.spec.period.map_or(0, |_| forecaster.horizons.len() * forecaster.seen.mean.len());
        check_width("X", Some(width + periods), rows.ncols())?;
        let (x, periods) = rows.split_at(Axis(1), width);
        let scaled = self.units.scaled(x);
        let steps = forecaster.steps();
        let ahead = self.operator.forecast_unbounded(scaled.view(), &steps, Truncation::default())?;
        let ahead = self.states(ahead);
        forecaster.mix(&self.delay_embedding(), x, scaled.view(), periods, ahead)
    }

    /// Standard deviation of each component about its forecast over each horizon, from weighted
    /// errors of past forecasts: (horizons, d). Infinite before the first is judged.
    pub fn forecast_deviations(&self) -> Result<Array2<f64>> {
        let forecaster = self.mixing()?;
        let shape = (forecaster.horizons.len(), forecaster.seen.mean.len());
        Ok(Array2::from_shape_fn(shape, |(k, c)| forecaster.horizons[k].errors.deviation(c)))
    }

    /// Intervals with this coverage for each component, from [rows](Self::forecast_rows): lower and
    /// upper ends (horizons, n, d, 2). Infinite before the first forecast over the horizon is
    /// judged.
    ///
    /// Conformal for each horizon and component: half-widths follow the errors of the forecasts
    /// issued along the trajectories before their targets were learned, as in a [`Calibration`].
    /// Intervals are narrower from states in which the kinds of forecasts agree, as far as errors
    /// were smaller there.
    pub fn forecast_intervals(&self, rows: ArrayView2<'_, f64>, coverage: f64) -> Result<Array4<f64>> {
        let coverage = Calibration::check(coverage)?;
        let forecaster = self.mixing()?;
        let [made, apart] = self.forecasts_and_disagreement(rows)?;
        let (horizons, n, d) = made.dim();
        let mut out = Array4::zeros((horizons, n, d, 2));
        for (k, horizon) in forecaster.horizons.iter().enumerate() {
            for c in 0..d {
                let reach = horizon.errors.reach(c, coverage);
                for i in 0..n {
                    let spread = horizon.errors.spread(c, apart[(k, i, c)]);
                    let (low, high) = around(made[(k, i, c)], spread * reach);
                    (out[(k, i, c, 0)], out[(k, i, c, 1)]) = (low, high);
                }
            }
        }
        Ok(out)
    }

    /// Weights of the [kinds of forecasts](super::FORECASTS) for each component and horizon:
    /// (kinds, horizons, d).
    pub fn forecast_weights(&self) -> Result<Array3<f64>> {
        let forecaster = self.mixing()?;
        let (horizons, width) = (&forecaster.horizons, forecaster.seen.mean.len());
        let mut out = Array3::zeros((forecaster.kinds(), horizons.len(), width));
        for (k, horizon) in horizons.iter().enumerate() {
            for c in 0..width {
                let weights = horizon.blend.weights(c);
                out.slice_mut(s![.., k, c]).iter_mut().zip(weights).for_each(|(to, weight)| *to = weight);
            }
        }
        Ok(out)
    }

    /// The latest states of the trajectory learned last, as many as a forecast needs: one with its
    /// delays, and the previous period if available.
    pub fn latest(&self) -> Result<Array2<f64>> {
        let needed = self.spec.delays.span() + 1;
        let tail = self.tail.as_ref().ok_or(Error::NoTrajectory)?;
        if tail.nrows() < needed {
            return Err(Error::ShortPast { needed, found: tail.nrows() });
        }
        let taken = needed.max(self.spec.period.unwrap_or(0)).min(tail.nrows());
        let width = tail.ncols() - self.operator.n_controls();
        Ok(tail.slice(s![tail.nrows() - taken.., ..width]).to_owned())
    }

    pub(super) fn mixing(&self) -> Result<&JointForecaster> {
        let forecaster = self.forecaster.as_ref().ok_or_else(|| Error::InvalidParameter {
            name: "horizons",
            value: "none".to_owned(),
            requirement: "the steps ahead that forecasts and their intervals are for, such as [1, 6, 24]",
        })?;
        match (self.operator.n_features(), forecaster.seen.count) {
            (None, _) => Err(Error::NothingLearned),
            (_, 0) => Err(Error::NoForecasts),
            _ => Ok(forecaster),
        }
    }
}

/// States one period before each horizon, from the state with this number: horizons d numbers, NaN
/// where the trajectory does not go back far enough; empty without a period.
fn a_period_before(spec: &DynamicsSpec, states: ArrayView2<'_, f64>, now: usize, lag: usize) -> Vec<f64> {
    let Some(period) = spec.period else { return Vec::new() };
    let before = |horizon: &usize| {
        let ahead = horizon * lag;
        (now + ahead).checked_sub(ahead.div_ceil(period) * period)
    };
    let there = |at: Option<usize>| at.map_or(vec![f64::NAN; states.ncols()], |at| states.row(at).to_vec());
    spec.horizons.iter().flat_map(|horizon| there(before(horizon))).collect()
}
