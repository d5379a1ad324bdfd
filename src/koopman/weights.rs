//! Quantities derived from the learned weights: the operator, the next state, functions of it.

use std::sync::Arc;

use faer::{Mat, MatRef};
use ndarray::ArrayView2;

use super::dictionaries::Dictionaries;
use super::model::{Koopman, kept};
use super::products::product;
use crate::error::{Error, Result};
use crate::interrupt::aside;
use crate::linalg::from_array;

impl Koopman {
    /// The matrix `K` (m, m) that takes the coordinates of a function to those of its
    /// expectation one step later.
    pub fn matrix(&self) -> Result<Arc<Mat<f64>>> {
        let dictionaries = self.dictionaries.as_ref().ok_or(Error::NothingLearned)?;
        if self.spec.control.is_some() {
            return Err(Error::Inputs);
        }
        let matrix = kept(&self.derived.matrix, || {
            let weights = self.coordinate_weights(dictionaries)?.to_owned();
            let dictionaries = dictionaries.clone();
            Ok(Arc::new(aside(move || dictionaries.matrix(weights.as_ref()))?))
        });
        matrix.map(Arc::clone)
    }

    /// Weights (stored, next) of the coordinates of the next state.
    pub(super) fn coordinate_weights(&self, dictionaries: &Dictionaries) -> Result<MatRef<'_, f64>> {
        let d = dictionaries.width();
        let (stored, stored_next) = dictionaries.sizes();
        Ok(self.estimate()?.as_faer().submatrix(0, d, stored, stored_next))
    }

    /// Weights (stored, d) of the next state itself.
    pub(super) fn state_weights(&self, dictionaries: &Dictionaries) -> Result<MatRef<'_, f64>> {
        Ok(self.estimate()?.as_faer().submatrix(0, 0, dictionaries.sizes().0, dictionaries.width()))
    }

    /// Weights (stored, p) of the expectation one step later of functions given by their values at the
    /// stored next states (m, p).
    pub(super) fn function_weights(
        &self,
        dictionaries: &Dictionaries,
        values: ArrayView2<'_, f64>,
    ) -> Result<Mat<f64>> {
        let (_, stored_next) = dictionaries.sizes();
        if values.nrows() != stored_next {
            return Err(Error::LengthMismatch {
                left: "the values of a function",
                left_rows: values.nrows(),
                right: "the stored next states",
                right_rows: stored_next,
            });
        }
        for ((row, column), &value) in values.indexed_iter() {
            if !value.is_finite() {
                return Err(Error::NotFinite { what: "the values of a function", row, column, value });
            }
        }
        let mut inner = from_array(values);
        dictionaries.dictionary_next().factor().solve_block(inner.as_mut());
        Ok(product(self.coordinate_weights(dictionaries)?, inner.as_ref()))
    }

    /// Weights (stored, next) of the conditional mean embedding one step later.
    pub(super) fn embedding_weights(&self, dictionaries: &Dictionaries) -> Result<Mat<f64>> {
        let mut transposed = self.coordinate_weights(dictionaries)?.transpose().to_owned();
        dictionaries.dictionary_next().factor().solve_transposed_block(transposed.as_mut());
        Ok(transposed.transpose().to_owned())
    }
}
