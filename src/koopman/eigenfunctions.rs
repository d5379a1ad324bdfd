//! Functions of states: coordinates, eigenfunctions, and modes.

use std::sync::Arc;

use faer::c64;
use ndarray::{Array1, Array2, ArrayView2, Axis};

use super::blocks::{BLOCK, blocks_of, check_count};
use super::model::{Koopman, kept};
use super::products::real_times_complex;
use super::spectrum::Spectrum;
use crate::error::{Error, Result};
use crate::interrupt::aside;
use crate::kernel::PointSet;
use crate::linalg::{Coordinates, Panel, write_array};
use crate::threads::ask_each_block;
use crate::validate::one_row;

impl Koopman {
    /// Eigenvalues and eigenfunctions, cached until the operator changes. `O(m^3)`.
    pub fn spectrum(&self) -> Result<Arc<Spectrum>> {
        let spectrum = kept(&self.derived.spectrum, || {
            let dictionaries = self.dictionaries.as_ref().ok_or(Error::NothingLearned)?;
            let points = dictionaries.dictionary().factor().factor().as_faer().to_owned();
            let matrix = self.matrix()?;
            Ok(Arc::new(aside(move || Spectrum::of(matrix.as_ref().as_ref(), points.as_ref()))??))
        });
        spectrum.map(Arc::clone)
    }

    /// Coordinates of rows `x` (n, d) in the dictionary (n, m).
    pub fn transform(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        let dictionaries = self.ready("X", x)?;
        let mut out = Array2::zeros((x.nrows(), dictionaries.sizes().0));
        ask_each_block(blocks_of(x).zip(out.axis_chunks_iter_mut(Axis(0), BLOCK)), |(rows, out)| {
            let z = dictionaries.dictionary().coordinates(rows);
            write_array(z.as_faer(), out);
        })?;
        Ok(out)
    }

    /// Novelty of rows `x` (n, d) (n), from 0 to 1: the share of each that the stored states do not
    /// explain, `(k(x, x) - |z|^2) / k(x, x)`.
    pub fn novelty(&self, x: ArrayView2<'_, f64>) -> Result<Array1<f64>> {
        let dictionaries = self.ready("X", x)?;
        let mut out = Array1::zeros(x.nrows());
        ask_each_block(blocks_of(x).zip(out.axis_chunks_iter_mut(Axis(0), BLOCK)), |(rows, mut out)| {
            let seen =
                dictionaries.dictionary().project_block(&PointSet::gather(rows), &mut Panel::default());
            out.iter_mut().zip(seen).for_each(|(out, seen)| *out = seen.novelty());
        })?;
        Ok(out)
    }

    /// Coordinates of one state.
    pub(crate) fn coordinates_of(&self, x: &[f64]) -> Result<Coordinates> {
        let dictionaries = self.ready("X", one_row(x))?;
        let mut z = Coordinates::default();
        dictionaries.dictionary().project(x, &mut z);
        Ok(z)
    }

    /// Values of the first `k` right eigenfunctions at rows `x` (n, d): (n, k).
    pub fn eigenfunctions(&self, x: ArrayView2<'_, f64>, k: usize) -> Result<Array2<c64>> {
        let dictionaries = self.ready("X", x)?;
        let spectrum = self.spectrum()?;
        let k = check_count("k", k, spectrum.values().len())?;
        let mut out = Array2::zeros((x.nrows(), k));
        ask_each_block(blocks_of(x).zip(out.axis_chunks_iter_mut(Axis(0), BLOCK)), |(rows, out)| {
            let z = dictionaries.dictionary().coordinates(rows);
            let values = spectrum.at(z.as_faer(), k);
            write_array(values.as_ref(), out);
        })?;
        Ok(out)
    }

    /// Values of the first `k` left eigenfunctions at rows `x` (n, d): (n, k).
    ///
    /// They are those of the adjoint operator, dual to the right ones: the inner product, conjugate
    /// linear in the left one, of left `i` and right `j` is 1 if `i = j`, else 0. A left
    /// eigenfunction of eigenvalue 0 is 0.
    pub fn left_eigenfunctions(&self, x: ArrayView2<'_, f64>, k: usize) -> Result<Array2<c64>> {
        let dictionaries = self.ready("X", x)?;
        let spectrum = self.spectrum()?;
        let k = check_count("k", k, spectrum.values().len())?;
        let duals = spectrum.duals(spectrum.whole(k))?;
        // In the span of the next states: C times the dual, divided by the eigenvalue.
        let c = self.coordinate_weights(dictionaries)?.transpose();
        let mut vectors = real_times_complex(c, duals.get(..k, ..).transpose());
        for (j, value) in spectrum.values()[..k].iter().enumerate() {
            for i in 0..vectors.nrows() {
                let v = &mut vectors[(i, j)];
                *v = if value.norm() > 0.0 { (*v / value).conj() } else { c64::new(0.0, 0.0) };
            }
        }
        let mut out = Array2::zeros((x.nrows(), k));
        ask_each_block(blocks_of(x).zip(out.axis_chunks_iter_mut(Axis(0), BLOCK)), |(rows, out)| {
            let s = dictionaries.dictionary_next().coordinates(rows);
            let values = real_times_complex(s.as_faer(), vectors.as_ref());
            write_array(values.as_ref(), out);
        })?;
        Ok(out)
    }

    /// Modes of the state, or of functions given by their values at the stored next states (m, p):
    /// the expectation after `n >= 1` steps is `sum_j value_j^n eigenfunction_j(x) mode_j`, over
    /// the first `k` eigenvalues (one more if that would separate a conjugate pair): (k, p).
    pub fn modes(&self, values: Option<ArrayView2<'_, f64>>, k: usize) -> Result<Array2<c64>> {
        let dictionaries = self.dictionaries.as_ref().ok_or(Error::NothingLearned)?;
        let spectrum = self.spectrum()?;
        let k = spectrum.whole(check_count("k", k, spectrum.values().len())?);
        let first = match values {
            Some(values) => self.function_weights(dictionaries, values)?,
            None => self.state_weights(dictionaries)?.to_owned(),
        };
        let parts = real_times_complex(first.transpose(), spectrum.duals(k)?.transpose());
        let mut out = Array2::from_elem((k, first.ncols()), c64::new(0.0, 0.0));
        for ((j, c), mode) in out.indexed_iter_mut() {
            let (part, value) = (parts[(c, j)], spectrum.values()[j]);
            if value.norm() > 0.0 {
                *mode = part / value;
            } else if part.norm() > 0.0 {
                let reason = format!("eigenvalue {j} is 0, so it has no mode; request fewer modes");
                return Err(Error::Spectrum { reason });
            }
        }
        Ok(out)
    }
}
