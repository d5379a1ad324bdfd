//! The interface of all models: every method is that of the model inside, also those with defaults, of which a kind of
//! model has its own.

use ndarray::{Array1, Array2, Array3, ArrayView1, ArrayView2, ArrayViewMut2};

use super::AnyModel;
use crate::error::Result;
use crate::model::{Introspection, Model, Uncertainty};
use crate::uncertainty::{Calibration, Diagnostics, Prequential, Spread};

impl Model for AnyModel {
    fn check(
        &self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
    ) -> Result<()> {
        (**self).check(x, y, weights)
    }

    fn learn_prequential(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        prequential: Prequential<'_>,
        should_continue: &mut dyn FnMut(usize) -> bool,
    ) -> Result<usize> {
        (**self).learn_prequential(x, y, weights, prequential, should_continue)
    }

    fn predict(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        (**self).predict(x)
    }

    fn predict_one_into(&self, x: &[f64], out: &mut [f64]) -> Result<()> {
        (**self).predict_one_into(x, out)
    }

    fn n_seen(&self) -> u64 {
        (**self).n_seen()
    }

    fn n_features(&self) -> Option<usize> {
        (**self).n_features()
    }

    fn n_outputs(&self) -> Option<usize> {
        (**self).n_outputs()
    }

    fn can_refuse(&self, weights: Option<ArrayView1<'_, f64>>) -> bool {
        (**self).can_refuse(weights)
    }

    fn learn_while(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        predictions: Option<ArrayViewMut2<'_, f64>>,
        should_continue: &mut dyn FnMut(usize) -> bool,
    ) -> Result<usize> {
        (**self).learn_while(x, y, weights, predictions, should_continue)
    }

    fn learn_one(&mut self, x: &[f64], y: &[f64]) -> Result<()> {
        (**self).learn_one(x, y)
    }

    fn predict_and_learn_one(&mut self, x: &[f64], y: &[f64], made: &mut [f64]) -> Result<()> {
        (**self).predict_and_learn_one(x, y, made)
    }

    fn predict_one(&self, x: &[f64]) -> Result<Vec<f64>> {
        (**self).predict_one(x)
    }

    fn learn(&mut self, x: ArrayView2<'_, f64>, y: ArrayView2<'_, f64>) -> Result<()> {
        (**self).learn(x, y)
    }

    fn learn_and_predict(&mut self, x: ArrayView2<'_, f64>, y: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        (**self).learn_and_predict(x, y)
    }
}

impl Uncertainty for AnyModel {
    fn predict_with_spread(
        &self,
        x: ArrayView2<'_, f64>,
        spread: Spread,
    ) -> Result<(Array2<f64>, Array2<f64>)> {
        (**self).predict_with_spread(x, spread)
    }

    fn knows_deviation(&self) -> bool {
        (**self).knows_deviation()
    }

    fn noise(&self) -> Option<Array1<f64>> {
        (**self).noise()
    }

    fn calibration(&self) -> Option<&Calibration> {
        (**self).calibration()
    }

    fn predict_with_deviation(&self, x: ArrayView2<'_, f64>) -> Result<(Array2<f64>, Array2<f64>)> {
        (**self).predict_with_deviation(x)
    }

    fn interval(&self, x: ArrayView2<'_, f64>, coverage: f64) -> Result<Array3<f64>> {
        (**self).interval(x, coverage)
    }
}

impl Introspection for AnyModel {
    fn transform(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        (**self).transform(x)
    }

    fn dictionary(&self) -> Array2<f64> {
        (**self).dictionary()
    }

    fn n_stored(&self) -> usize {
        (**self).n_stored()
    }

    fn quality(&self) -> Diagnostics {
        (**self).quality()
    }

    fn diagnostics(&self) -> Diagnostics {
        (**self).diagnostics()
    }

    fn condition(&self) -> Option<f64> {
        (**self).condition()
    }

    fn mixture(&self) -> Option<Array2<f64>> {
        (**self).mixture()
    }

    fn novelty(&self, x: ArrayView2<'_, f64>) -> Result<Array1<f64>> {
        (**self).novelty(x)
    }

    fn gradient(&self, x: ArrayView2<'_, f64>) -> Result<Array3<f64>> {
        (**self).gradient(x)
    }

    fn importances(&self) -> Result<Array1<f64>> {
        (**self).importances()
    }

    fn importances_at(&self, x: ArrayView2<'_, f64>) -> Result<Array1<f64>> {
        (**self).importances_at(x)
    }
}
