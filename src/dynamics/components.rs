//! Forecasts of single components by several kinds of candidates, one of which is the mixture
//! around an operator.

use ndarray::{Array2, Array3, Array4, ArrayView2, Axis, concatenate, s};

use super::Dynamics;
use super::candidates::{Ahead, CANDIDATES, Candidates, WIDEST};
use crate::error::{Error, Result};
use crate::uncertainty::{Calibration, around};
use crate::validate::check_width;

impl Dynamics {
    /// Initial state for this number of components; `None` if candidates are disabled.
    pub(super) fn new_candidates(&self, width: usize, lag: usize) -> Option<Candidates> {
        let forecaster = self.forecaster.as_ref().filter(|_| self.spec.candidates && width <= WIDEST)?;
        let rows = forecaster.steps().iter().map(|steps| steps * lag).collect();
        let strides = forecaster.horizons.iter().map(super::horizon::Horizon::stride).collect();
        Some(Candidates::new(width, rows, strides, self.spec.period))
    }

    /// Learns the latest state; `operator`: the mixture around the operator for each horizon.
    pub(super) fn learn_candidates(
        &mut self,
        state: &[f64],
        lag: usize,
        continued: bool,
        operator: &Ahead,
        due: &[bool],
    ) {
        let known = self.candidates.take();
        let Some(mut candidates) = known.or_else(|| self.new_candidates(state.len(), lag)) else { return };
        let rows: Vec<usize> = self.spec.horizons.iter().map(|steps| steps * lag).collect();
        if candidates.rows() != rows {
            candidates.resize(rows);
        }
        if !continued {
            candidates.begin();
        }
        candidates.learn(state, operator, due);
        self.candidates = Some(candidates);
    }

    /// Whether candidates are enabled.
    #[must_use]
    pub fn has_candidates(&self) -> bool {
        self.candidates.is_some()
    }

    fn asked(&self) -> Result<&Candidates> {
        self.candidates.as_ref().ok_or(Error::NothingLearned)
    }

    /// Forecast over each horizon by all candidates, from each of these consecutive states, `lag`
    /// per step, from number `first` on, or from the state learned last: (horizons, n, d). If the
    /// first of them are those learned last, the others continue from the full state.
    pub fn ahead(
        &self,
        states: Option<ArrayView2<'_, f64>>,
        lag: usize,
        first: usize,
    ) -> Result<Array3<f64>> {
        self.all_ahead(states, lag, first).map(|[made, _]| made)
    }

    /// The same, and factors by which errors are expected to be larger than along the stream.
    fn all_ahead(
        &self,
        states: Option<ArrayView2<'_, f64>>,
        lag: usize,
        first: usize,
    ) -> Result<[Array3<f64>; 2]> {
        let all = self.each_ahead(states, lag, first)?;
        let candidates = self.asked()?;
        let shape = (candidates.rows().len(), all.len(), candidates.width());
        Ok([0, 1].map(|part| Array3::from_shape_fn(shape, |(k, i, c)| all[i][part][k][c])))
    }

    fn each_ahead(
        &self,
        states: Option<ArrayView2<'_, f64>>,
        lag: usize,
        first: usize,
    ) -> Result<Vec<[Ahead; 2]>> {
        let candidates = self.asked()?;
        self.check_lag(lag)?;
        let Some(states) = states else {
            let tail = self.tail.as_ref().ok_or(Error::NoTrajectory)?;
            return Ok(vec![candidates.forecasts(&self.operator_ahead(tail.view(), lag)?)]);
        };
        check_width("X", Some(candidates.width()), states.ncols())?;
        let overlap = self.overlap(states);
        let tail = self.tail.as_ref().filter(|_| overlap > 0);
        let mut model = candidates.clone();
        model.begin();
        let mut out = Vec::with_capacity(states.nrows().saturating_sub(first));
        let ask = |model: &Candidates, known: ArrayView2<'_, f64>, i: usize| {
            let from = (i + 1).saturating_sub(self.reach(lag) + self.spec.delays.span() + 1);
            Ok(model.forecasts(&self.operator_ahead(known.slice(s![from..=i, ..]), lag)?))
        };
        for i in 0..overlap.saturating_sub(1).max(if tail.is_some() { 0 } else { states.nrows() }) {
            model.advance(&states.row(i).to_vec());
            if i >= first {
                out.push(ask(&model, states, i)?);
            }
        }
        let Some(tail) = tail else { return Ok(out) };
        // From here on the state contains everything learned.
        let all = concatenate![Axis(0), tail.view(), states.slice(s![overlap.., ..])];
        model = candidates.clone();
        for i in tail.nrows() - 1..all.nrows() {
            if i >= tail.nrows() {
                model.advance(&all.row(i).to_vec());
            }
            if i + overlap >= first + tail.nrows() {
                out.push(ask(&model, all.view(), i)?);
            }
        }
        Ok(out)
    }

    /// Number of leading states that equal the last ones learned.
    fn overlap(&self, states: ArrayView2<'_, f64>) -> usize {
        let Some(tail) = &self.tail else { return 0 };
        let ends = |end: &usize| {
            let k = tail.nrows().min(*end);
            tail.slice(s![tail.nrows() - k.., ..]) == states.slice(s![end - k..*end, ..])
        };
        (1..=states.nrows()).rev().find(ends).unwrap_or(0)
    }

    /// Forecast of the mixture around the operator from the last of these states; empty if they are
    /// too few.
    fn operator_ahead(&self, states: ArrayView2<'_, f64>, lag: usize) -> Result<Ahead> {
        let span = self.spec.delays.span();
        if self.operator.n_seen() < 2 || states.nrows() <= span {
            return Ok(Vec::new());
        }
        let taken = states.nrows().min(span + 1 + self.spec.period.unwrap_or(0));
        let rows = self.forecast_rows(states.slice(s![states.nrows() - taken.., ..]), lag)?;
        let made = self.forecasts(rows.slice(s![rows.nrows() - 1.., ..]))?;
        Ok(made.outer_iter().map(|of_horizon| of_horizon.row(0).to_vec()).collect())
    }

    /// Intervals about [these](Self::ahead) with this coverage, for each component: lower and upper
    /// ends (horizons, n, d, 2). Infinite before the first forecast over the horizon is judged.
    pub fn ahead_intervals(
        &self,
        states: Option<ArrayView2<'_, f64>>,
        lag: usize,
        first: usize,
        coverage: f64,
    ) -> Result<Array4<f64>> {
        let coverage = Calibration::check(coverage)?;
        let [made, wider] = self.all_ahead(states, lag, first)?;
        let candidates = self.asked()?;
        let (horizons, n, d) = made.dim();
        let mut out = Array4::zeros((horizons, n, d, 2));
        for ((k, i, c), value) in made.indexed_iter() {
            let (low, high) =
                around(*value, wider[(k, i, c)] * candidates.half_width(k, c, *value, coverage));
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

    /// Weights of the [kinds](CANDIDATES) in the forecast from the state learned last: (kinds,
    /// horizons, d).
    pub fn ahead_weights(&self, lag: usize) -> Result<Array3<f64>> {
        let candidates = self.asked()?;
        self.check_lag(lag)?;
        let tail = self.tail.as_ref().ok_or(Error::NoTrajectory)?;
        let weights = candidates.weights(&self.operator_ahead(tail.view(), lag)?);
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
