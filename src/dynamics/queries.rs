//! Queries, in the user's units. Rows are states with their delays ([`Dynamics::embed`]), followed
//! by inputs if there are any.

use std::sync::Arc;

use faer::c64;
use ndarray::{Array1, Array2, Array3, ArrayView2, ArrayView3, s};

use super::Dynamics;
use super::states::constant_inputs::{constants, held};
use super::states::delay_embedding::embedded;
use crate::error::{Error, Result};
use crate::koopman::{Influences, Moments, Residual, Spectrum, Truncation};

impl Dynamics {
    /// Each state of a trajectory `x` (n, d) with enough predecessors, followed by these, the
    /// latest first: (n - span, d (`n_delays` + 1)), the rows of all queries. Without delays the
    /// states themselves.
    pub fn embed(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        let needed = self.spec.delays.span() + 1;
        if x.nrows() < needed {
            return Err(Error::ShortPast { needed, found: x.nrows() });
        }
        Ok(embedded(&self.spec.delays, x).into_owned())
    }

    /// The value of each input that has not varied yet, as far as stored states and recent rows show.
    #[must_use]
    pub fn constant_inputs(&self) -> Vec<Option<f64>> {
        let mut found = constants(&self.operator);
        if let Some(candidates) = &self.candidates {
            for (constant, varies) in found.iter_mut().zip(candidates.inputs_vary()) {
                *constant = constant.filter(|_| !varies);
            }
        }
        found
    }

    /// The operator's result for rows on its scale.
    fn ask<T>(
        &self,
        x: ArrayView2<'_, f64>,
        answer: impl FnOnce(ArrayView2<'_, f64>) -> Result<T>,
    ) -> Result<T> {
        answer(self.units.scaled(x).view())
    }

    /// Scaled forecasts (steps, n, d with delays) as states in the user's units (steps, n, d).
    pub(super) fn states(&self, forecasts: Array3<f64>) -> Array3<f64> {
        let width = forecasts.dim().2 / self.spec.delays.blocks();
        self.units.given(forecasts.slice_move(s![.., .., ..width]))
    }

    /// See [`Koopman::spectrum`](crate::koopman::Koopman::spectrum).
    pub fn spectrum(&self) -> Result<Arc<Spectrum>> {
        self.operator.spectrum()
    }

    /// See [`Koopman::transform`](crate::koopman::Koopman::transform).
    pub fn transform(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        self.ask(x, |x| self.operator.transform(x))
    }

    /// See [`Koopman::novelty`](crate::koopman::Koopman::novelty).
    pub fn novelty(&self, x: ArrayView2<'_, f64>) -> Result<Array1<f64>> {
        self.ask(x, |x| self.operator.novelty(x))
    }

    /// See [`Koopman::eigenfunctions`](crate::koopman::Koopman::eigenfunctions).
    pub fn eigenfunctions(&self, x: ArrayView2<'_, f64>, k: usize) -> Result<Array2<c64>> {
        self.ask(x, |x| self.operator.eigenfunctions(x, k))
    }

    /// See [`Koopman::left_eigenfunctions`](crate::koopman::Koopman::left_eigenfunctions).
    pub fn left_eigenfunctions(&self, x: ArrayView2<'_, f64>, k: usize) -> Result<Array2<c64>> {
        self.ask(x, |x| self.operator.left_eigenfunctions(x, k))
    }

    /// See [`Koopman::residuals`](crate::koopman::Koopman::residuals).
    pub fn residuals(
        &self,
        x: ArrayView2<'_, f64>,
        next: ArrayView2<'_, f64>,
        k: usize,
        kind: Residual,
    ) -> Result<Array1<f64>> {
        self.ask(x, |x| self.ask(next, |next| self.operator.residuals(x, next, k, kind)))
    }

    /// See [`Koopman::risk`](crate::koopman::Koopman::risk).
    pub fn risk(&self, x: ArrayView2<'_, f64>, next: ArrayView2<'_, f64>) -> Result<f64> {
        self.ask(x, |x| self.ask(next, |next| self.operator.risk(x, next)))
    }

    /// See [`Koopman::learned_residuals`](crate::koopman::Koopman::learned_residuals).
    pub fn learned_residuals(&self, k: usize) -> Result<Array1<f64>> {
        self.operator.learned_residuals(k)
    }

    /// See [`Koopman::moments`](crate::koopman::Koopman::moments).
    pub fn moments(&self, k: usize) -> Result<Moments> {
        self.operator.moments(k)
    }

    /// See [`Koopman::singular_values`](crate::koopman::Koopman::singular_values).
    pub fn singular_values(&self) -> Result<Vec<f64>> {
        self.operator.singular_values()
    }

    /// See [`Koopman::singular_functions`](crate::koopman::Koopman::singular_functions).
    pub fn singular_functions(&self, x: ArrayView2<'_, f64>, k: usize, later: bool) -> Result<Array2<f64>> {
        self.ask(x, |x| self.operator.singular_functions(x, k, later))
    }

    /// See [`Koopman::influences`](crate::koopman::Koopman::influences).
    pub fn influences(&self, k: usize) -> Result<Influences> {
        self.operator.influences(k)
    }

    /// See [`Koopman::modes`](crate::koopman::Koopman::modes). Modes of the state, in the user's
    /// units, add up to the forecast minus the [centre](super::Units::center).
    pub fn modes(&self, values: Option<ArrayView2<'_, f64>>, k: usize) -> Result<Array2<c64>> {
        let modes = self.operator.modes(values, k)?;
        if values.is_some() {
            return Ok(modes);
        }
        let width = modes.ncols() / self.spec.delays.blocks();
        Ok(self.units.stretched(modes.slice_move(s![.., ..width])))
    }

    /// The expected state after each of `steps` (from 1): (steps, n, d). See
    /// [`Koopman::forecast`](crate::koopman::Koopman::forecast), and [`reencoding`](Self::reencoding) for the way that
    /// several steps are made without a truncation.
    ///
    /// Where the bandwidth was selected, a forecast that leaves the states learned by more than their range is made
    /// again without eigenvalues outside the unit circle.
    pub fn forecast(
        &self,
        x: ArrayView2<'_, f64>,
        steps: &[usize],
        truncation: Truncation,
    ) -> Result<Array3<f64>> {
        self.forecast_and_judge(x, steps, truncation).map(|(ahead, _)| ahead)
    }

    /// [`forecast_and_judge`](Self::forecast_and_judge) by powers of the operator.
    pub(super) fn forecast_by_powers(
        &self,
        x: ArrayView2<'_, f64>,
        steps: &[usize],
        truncation: Truncation,
    ) -> Result<(Array3<f64>, bool)> {
        let ask = |x: ArrayView2<'_, f64>, steps: &[usize], truncation| {
            self.operator.forecast_unbounded(x, steps, truncation)
        };
        self.ask(x, |x| self.within(x, steps, truncation, true, ask))
            .map(|(ahead, beyond)| (self.states(ahead), beyond))
    }

    /// See [`Koopman::expectation`](crate::koopman::Koopman::expectation), and
    /// [`forecast_and_judge`](Self::forecast_and_judge) for the second part of the result.
    pub fn expectation(
        &self,
        values: ArrayView2<'_, f64>,
        x: ArrayView2<'_, f64>,
        steps: &[usize],
        truncation: Truncation,
    ) -> Result<(Array3<f64>, bool)> {
        let ask = |x: ArrayView2<'_, f64>, steps: &[usize], truncation| {
            self.operator.expectation_unbounded(values, x, steps, truncation)
        };
        self.ask(x, |x| self.within(x, steps, truncation, false, ask))
    }

    /// See [`Koopman::embedding`](crate::koopman::Koopman::embedding), and
    /// [`forecast_and_judge`](Self::forecast_and_judge) for the second part of the result.
    pub fn embedding(
        &self,
        x: ArrayView2<'_, f64>,
        steps: &[usize],
        truncation: Truncation,
    ) -> Result<(Array3<f64>, bool)> {
        let ask = |x: ArrayView2<'_, f64>, steps: &[usize], truncation| {
            self.operator.embedding_unbounded(x, steps, truncation)
        };
        self.ask(x, |x| self.within(x, steps, truncation, false, ask))
    }

    /// The expected state after each of `steps` under inputs: (steps, n, d); those that have not varied yet have no
    /// effect. See
    /// [`Koopman::forecast_under`](crate::koopman::Koopman::forecast_under).
    pub fn forecast_under(
        &self,
        x: ArrayView2<'_, f64>,
        inputs: ArrayView3<'_, f64>,
        steps: &[usize],
    ) -> Result<Array3<f64>> {
        let inputs = held(&self.operator, inputs);
        self.ask(x, |x| self.operator.forecast_under(x, inputs.view(), steps)).map(|ahead| self.states(ahead))
    }

    /// See [`Koopman::expectation_under`](crate::koopman::Koopman::expectation_under).
    pub fn expectation_under(
        &self,
        values: ArrayView2<'_, f64>,
        x: ArrayView2<'_, f64>,
        inputs: ArrayView3<'_, f64>,
        steps: &[usize],
    ) -> Result<Array3<f64>> {
        let inputs = held(&self.operator, inputs);
        self.ask(x, |x| self.operator.expectation_under(values, x, inputs.view(), steps))
    }

    /// See [`Koopman::embedding_under`](crate::koopman::Koopman::embedding_under).
    pub fn embedding_under(
        &self,
        x: ArrayView2<'_, f64>,
        inputs: ArrayView3<'_, f64>,
        steps: &[usize],
    ) -> Result<Array3<f64>> {
        let inputs = held(&self.operator, inputs);
        self.ask(x, |x| self.operator.embedding_under(x, inputs.view(), steps))
    }
}
