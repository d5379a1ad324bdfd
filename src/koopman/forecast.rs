//! From the learned operator to forecasts: powers, truncation, modes.

use std::sync::Arc;

use faer::{Mat, MatRef, c64};
use ndarray::{Array2, Array3, ArrayView2, Axis, s};

use super::dictionaries::{Dictionaries, rows_of};
use super::products::{complex_product, product, real_times_complex};
use super::spectrum::Spectrum;
use super::{Derived, Koopman};
use crate::error::{Error, Result, in_range};
use crate::threads::for_each_block;

/// Rows handled at once: enough for matrix products to pay, few enough to stay in the cache.
const BLOCK: usize = 512;

/// Which part of the operator a forecast uses; all of it by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Truncation {
    /// The leading eigenvalues only, this many (one more where that would part a conjugate pair).
    pub rank: Option<usize>,
    /// Eigenvalues outside the unit circle are moved onto it, so that no forecast grows without
    /// bound.
    pub clip: bool,
}

impl Koopman {
    /// The matrix `K` (m, m) that takes the coordinates of a function on the inputs to those of its
    /// expectation one step later.
    pub fn matrix(&self) -> Result<Arc<Mat<f64>>> {
        let dictionaries = self.dictionaries.as_ref().ok_or(Error::NothingLearned)?;
        if self.spec.control.is_some() {
            return Err(Error::Inputs);
        }
        Ok(Arc::clone(self.derived.matrix.get_or_init(|| {
            let weights = self.output_weights(dictionaries);
            Arc::new(match dictionaries {
                Dictionaries::Shared(_) | Dictionaries::Controlled(_) => weights.to_owned(),
                Dictionaries::Separate(pair) => {
                    // Where the inputs stand in the span of the outputs: what leads from a pair's
                    // end to the next one's beginning.
                    let inputs = rows_of(pair.inputs.points());
                    let mut across = pair.outputs.coordinates(inputs.view());
                    pair.inputs.factor().solve_block(across.as_faer_mut());
                    product(weights, across.as_faer().transpose())
                }
            })
        })))
    }

    /// Weights (inputs, outputs) of the coordinates of the next state.
    pub(super) fn output_weights(&self, dictionaries: &Dictionaries) -> MatRef<'_, f64> {
        let d = dictionaries.width();
        let (inputs, outputs) = dictionaries.sizes();
        self.operator.estimate().as_faer().submatrix(0, d, inputs, outputs)
    }

    /// Weights (inputs, d) of the next state itself.
    pub(super) fn state_weights(&self, dictionaries: &Dictionaries) -> MatRef<'_, f64> {
        self.operator.estimate().as_faer().submatrix(0, 0, dictionaries.sizes().0, dictionaries.width())
    }

    /// Weights (inputs, p) of the expectation one step later of functions given by their values at the
    /// stored outputs (m, p).
    pub(super) fn function_weights(
        &self,
        dictionaries: &Dictionaries,
        values: ArrayView2<'_, f64>,
    ) -> Result<Mat<f64>> {
        let (_, outputs) = dictionaries.sizes();
        if values.nrows() != outputs {
            return Err(Error::LengthMismatch {
                left: "the values of a function",
                left_rows: values.nrows(),
                right: "the stored outputs",
                right_rows: outputs,
            });
        }
        for ((row, column), &value) in values.indexed_iter() {
            if !value.is_finite() {
                return Err(Error::NotFinite { what: "the values of a function", row, column, value });
            }
        }
        let mut inner = Mat::from_fn(outputs, values.ncols(), |i, j| values[[i, j]]);
        dictionaries.outputs().factor().solve_block(inner.as_mut());
        Ok(product(self.output_weights(dictionaries), inner.as_ref()))
    }

    /// Eigenvalues and eigenfunctions, kept until the operator changes. `O(m^3)`.
    pub fn spectrum(&self) -> Result<Arc<Spectrum>> {
        let Derived { spectrum, .. } = &self.derived;
        if let Some(known) = spectrum.get() {
            return Ok(Arc::clone(known));
        }
        let dictionaries = self.dictionaries.as_ref().ok_or(Error::NothingLearned)?;
        let points = dictionaries.inputs().factor().factor().as_faer();
        let new = Arc::new(Spectrum::of(self.matrix()?.as_ref().as_ref(), points)?);
        Ok(Arc::clone(spectrum.get_or_init(|| new)))
    }

    /// Coordinates of rows `x` (n, d) in the dictionary of inputs (n, m).
    pub fn transform(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        let dictionaries = self.ready("X", x)?;
        let mut out = Array2::zeros((x.nrows(), dictionaries.sizes().0));
        for_each_block(blocks_of(x).zip(out.axis_chunks_iter_mut(Axis(0), BLOCK)), |(rows, mut out)| {
            let z = dictionaries.inputs().coordinates(rows);
            out.indexed_iter_mut().for_each(|((i, j), to)| *to = z.get(i, j));
        });
        Ok(out)
    }

    /// Values of the first `k` right eigenfunctions at rows `x` (n, d): (n, k).
    pub fn eigenfunctions(&self, x: ArrayView2<'_, f64>, k: usize) -> Result<Array2<c64>> {
        let dictionaries = self.ready("X", x)?;
        let spectrum = self.spectrum()?;
        let k = check_count("k", k, spectrum.values().len())?;
        let mut out = Array2::zeros((x.nrows(), k));
        for_each_block(blocks_of(x).zip(out.axis_chunks_iter_mut(Axis(0), BLOCK)), |(rows, mut out)| {
            let z = dictionaries.inputs().coordinates(rows);
            let values = spectrum.at(z.as_faer(), k);
            out.indexed_iter_mut().for_each(|((i, j), to)| *to = values[(i, j)]);
        });
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
        // In the span of the outputs: C times the dual, divided by the eigenvalue.
        let c = self.output_weights(dictionaries).transpose();
        let mut vectors = real_times_complex(c, duals.get(..k, ..).transpose());
        for (j, value) in spectrum.values()[..k].iter().enumerate() {
            for i in 0..vectors.nrows() {
                let v = &mut vectors[(i, j)];
                *v = if value.norm() > 0.0 { (*v / value).conj() } else { c64::new(0.0, 0.0) };
            }
        }
        let mut out = Array2::zeros((x.nrows(), k));
        for_each_block(blocks_of(x).zip(out.axis_chunks_iter_mut(Axis(0), BLOCK)), |(rows, mut out)| {
            let s = dictionaries.outputs().coordinates(rows);
            let values = real_times_complex(s.as_faer(), vectors.as_ref());
            out.indexed_iter_mut().for_each(|((i, j), to)| *to = values[(i, j)]);
        });
        Ok(out)
    }

    /// The expected state after each of `steps` (from 1), from each row of `x` (n, d): (steps, n, d).
    ///
    /// The first step is the learner's own forecast of the next state, later ones apply powers of
    /// the operator to it. Nothing stored but the operator is needed.
    pub fn forecast(
        &self,
        x: ArrayView2<'_, f64>,
        steps: &[usize],
        truncation: Truncation,
    ) -> Result<Array3<f64>> {
        let dictionaries = self.ready("X", x)?;
        self.propagate(dictionaries, x, self.state_weights(dictionaries).to_owned(), steps, truncation)
    }

    /// The expectation after each of `steps`, from each row of `x`, of functions given by their values
    /// at the stored outputs (m, p): (steps, n, p). The conditional mean embedding.
    pub fn expectation(
        &self,
        values: ArrayView2<'_, f64>,
        x: ArrayView2<'_, f64>,
        steps: &[usize],
        truncation: Truncation,
    ) -> Result<Array3<f64>> {
        let dictionaries = self.ready("X", x)?;
        let first = self.function_weights(dictionaries, values)?;
        self.propagate(dictionaries, x, first, steps, truncation)
    }

    /// Weights of the stored outputs in the conditional mean embedding after each of `steps`, from
    /// each row of `x`: (steps, n, m). The expectation of `f` is the weighted sum of its values there.
    pub fn embedding(
        &self,
        x: ArrayView2<'_, f64>,
        steps: &[usize],
        truncation: Truncation,
    ) -> Result<Array3<f64>> {
        let dictionaries = self.ready("X", x)?;
        self.propagate(dictionaries, x, self.embedding_weights(dictionaries), steps, truncation)
    }

    /// Weights (inputs, outputs) of the conditional mean embedding one step later.
    pub(super) fn embedding_weights(&self, dictionaries: &Dictionaries) -> Mat<f64> {
        let mut transposed = self.output_weights(dictionaries).transpose().to_owned();
        dictionaries.outputs().factor().solve_transposed_block(transposed.as_mut());
        transposed.transpose().to_owned()
    }

    /// Modes of the state, or of functions given by their values at the stored outputs (m, p): the
    /// expectation after `n >= 1` steps is `sum_j value_j^n eigenfunction_j(x) mode_j`. The first `k`
    /// eigenvalues count (one more where that would part a pair): (k, p).
    pub fn modes(&self, values: Option<ArrayView2<'_, f64>>, k: usize) -> Result<Array2<c64>> {
        let dictionaries = self.dictionaries.as_ref().ok_or(Error::NothingLearned)?;
        let spectrum = self.spectrum()?;
        let k = spectrum.whole(check_count("k", k, spectrum.values().len())?);
        let first = match values {
            Some(values) => self.function_weights(dictionaries, values)?,
            None => self.state_weights(dictionaries).to_owned(),
        };
        let parts = real_times_complex(first.transpose(), spectrum.duals(k)?.transpose());
        let mut out = Array2::from_elem((k, first.ncols()), c64::new(0.0, 0.0));
        for ((j, c), mode) in out.indexed_iter_mut() {
            let (part, value) = (parts[(c, j)], spectrum.values()[j]);
            if value.norm() > 0.0 {
                *mode = part / value;
            } else if part.norm() > 0.0 {
                let reason =
                    format!("eigenvalue {j} is 0, so no mode of it forecasts anything; ask for fewer");
                return Err(Error::Spectrum { reason });
            }
        }
        Ok(out)
    }

    /// `z(x)' K^(n - 1) first` for each row of `x` and each `n` of `steps`.
    fn propagate(
        &self,
        dictionaries: &Dictionaries,
        x: ArrayView2<'_, f64>,
        first: Mat<f64>,
        steps: &[usize],
        truncation: Truncation,
    ) -> Result<Array3<f64>> {
        let columns = first.ncols();
        let mut out = Array3::zeros((steps.len(), x.nrows(), columns));
        let powers = self.powers(first, steps, truncation)?;
        for_each_block(blocks_of(x).zip(out.axis_chunks_iter_mut(Axis(1), BLOCK)), |(rows, mut out)| {
            let z = dictionaries.inputs().coordinates(rows);
            for (weights, mut out) in powers.iter().zip(out.axis_iter_mut(Axis(0))) {
                let values = product(z.as_faer(), weights.as_ref());
                out.indexed_iter_mut().for_each(|((i, j), to)| *to = values[(i, j)]);
            }
        });
        match out.indexed_iter().find(|(_, v)| !v.is_finite()) {
            Some(((n, _, _), _)) => Err(Error::ForecastOverflow { steps: steps[n] }),
            None => Ok(out),
        }
    }

    /// `K^(n - 1) first` for each `n` of `steps`.
    fn powers(&self, first: Mat<f64>, steps: &[usize], truncation: Truncation) -> Result<Vec<Mat<f64>>> {
        for &n in steps {
            in_range("n_steps", n, n > 0, "at least 1")?;
        }
        if self.spec.control.is_some() && truncation == Truncation::default() && steps.iter().all(|n| *n == 1)
        {
            return Ok(vec![first; steps.len()]);
        }
        let (matrix, first) = self.truncated(first, truncation)?;
        let mut order: Vec<usize> = (0..steps.len()).collect();
        order.sort_by_key(|&i| steps[i]);
        let mut out = vec![Mat::zeros(0, 0); steps.len()];
        let (mut at, mut weights) = (1, first);
        for i in order {
            weights = advance(&matrix, weights, steps[i] - at);
            at = steps[i];
            out[i].clone_from(&weights);
        }
        Ok(out)
    }

    /// The operator and the weights of the first step with a part of the spectrum only.
    fn truncated(&self, first: Mat<f64>, truncation: Truncation) -> Result<(Arc<Mat<f64>>, Mat<f64>)> {
        let (mut matrix, mut first) = (self.matrix()?, first);
        if truncation == Truncation::default() {
            return Ok((matrix, first));
        }
        let spectrum = self.spectrum()?;
        // sum over the leading eigenvalues of factor(value) v dual'
        let part = |k: usize, factor: fn(c64) -> c64| -> Result<Mat<f64>> {
            let values = spectrum.values();
            let scaled = Mat::from_fn(matrix.nrows(), k, |i, j| spectrum.right()[(i, j)] * factor(values[j]));
            let sum = complex_product(scaled.as_ref(), spectrum.duals(k)?.as_ref());
            Ok(Mat::from_fn(sum.nrows(), sum.ncols(), |i, j| sum[(i, j)].re))
        };
        if let Some(rank) = truncation.rank {
            let k = spectrum.whole(in_range("rank", rank, rank > 0, "at least 1")?);
            first = product(part(k, |_| c64::new(1.0, 0.0))?.as_ref(), first.as_ref());
        }
        if truncation.clip {
            let outside = spectrum.values().iter().take_while(|value| value.norm() > 1.0).count();
            if outside == 0 {
                return Ok((matrix, first));
            }
            let excess = part(outside, |value| value - value / value.norm())?;
            matrix = Arc::new(matrix.as_ref() - excess);
        }
        Ok((matrix, first))
    }
}

/// `matrix^by weights`: one product after the other, or by squares where these are fewer operations.
fn advance(matrix: &Mat<f64>, weights: Mat<f64>, by: usize) -> Mat<f64> {
    let (m, p) = (matrix.nrows() as f64, weights.ncols() as f64);
    if by as f64 * p <= 2.0 * m * (by as f64 + 1.0).log2() {
        return (0..by).fold(weights, |weights, _| product(matrix.as_ref(), weights.as_ref()));
    }
    let (mut square, mut weights, mut left) = (matrix.clone(), weights, by);
    while left > 0 {
        if left % 2 == 1 {
            weights = product(square.as_ref(), weights.as_ref());
        }
        left /= 2;
        if left > 0 {
            square = product(square.as_ref(), square.as_ref());
        }
    }
    weights
}

/// The rows in blocks.
fn blocks_of(x: ArrayView2<'_, f64>) -> impl ExactSizeIterator<Item = ArrayView2<'_, f64>> {
    let rows = x.nrows();
    (0..rows.div_ceil(BLOCK)).map(move |k| x.slice_move(s![k * BLOCK..rows.min((k + 1) * BLOCK), ..]))
}

/// Calls `act` with blocks of rows and where they begin.
pub(super) fn for_blocks(x: ArrayView2<'_, f64>, mut act: impl FnMut(usize, ArrayView2<'_, f64>)) {
    let mut at = 0;
    for rows in x.axis_chunks_iter(Axis(0), BLOCK) {
        act(at, rows);
        at += rows.nrows();
    }
}

/// `count`, or all there are if it is larger.
pub(super) fn check_count(name: &'static str, count: usize, most: usize) -> Result<usize> {
    Ok(in_range(name, count, count > 0, "at least 1")?.min(most))
}
