//! Forecasts: powers of the operator, or of the leading part of its spectrum.

use std::sync::Arc;

use faer::{Mat, MatRef, c64};
use ndarray::{Array2, Array3, ArrayView2, Axis};

use super::blocks::{BLOCK, blocks_of};
use super::dictionaries::Dictionaries;
use super::model::Koopman;
use super::products::{complex_product, product};
use crate::error::{Error, Result, in_range};
use crate::interrupt::check;
use crate::linalg::{Coordinates, loops, write_array};
use crate::threads::ask_each_block;

/// Numbers of a forecast above which alternatives to powers of the operator are considered.
const WIDE: usize = 64;

/// Which part of the operator a forecast uses; all of it by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Truncation {
    /// This many leading eigenvalues (one more if that would separate a conjugate pair).
    pub rank: Option<usize>,
    /// Eigenvalues outside the unit circle are moved onto it, so that no forecast grows without
    /// bound.
    pub clip: bool,
}

impl Koopman {
    /// The expected state after each of `steps` (from 1), from each row of `x` (n, d): (steps, n, d).
    ///
    /// The first step is the learner's own prediction of the next state; later ones apply powers of
    /// the operator to it. Stored points are not needed.
    pub fn forecast(
        &self,
        x: ArrayView2<'_, f64>,
        steps: &[usize],
        truncation: Truncation,
    ) -> Result<Array3<f64>> {
        finite(self.forecast_unbounded(x, steps, truncation)?, steps)
    }

    /// [`forecast`](Self::forecast), possibly not finite.
    pub(crate) fn forecast_unbounded(
        &self,
        x: ArrayView2<'_, f64>,
        steps: &[usize],
        truncation: Truncation,
    ) -> Result<Array3<f64>> {
        let dictionaries = self.ready("X", x)?;
        self.propagate(dictionaries, x, self.state_weights(dictionaries)?.to_owned(), steps, truncation)
    }

    /// [`forecast_unbounded`](Self::forecast_unbounded) from the state with these
    /// [coordinates](Self::coordinates_of): (steps, d). One product of the operator with a vector for every step.
    pub(crate) fn forecast_from(&self, z: &Coordinates, steps: &[usize]) -> Result<Array2<f64>> {
        let dictionaries = self.dictionaries.as_ref().ok_or(Error::NothingLearned)?;
        let (weights, width) = (self.estimate()?, dictionaries.width());
        let last = steps.iter().copied().max().unwrap_or(0);
        // If both states of a pair have the same coordinates, these weights are the operator: no
        // copy of it.
        let matrix = (last > 1 && !dictionaries.are_one()).then(|| self.matrix()).transpose()?;
        let (mut z, mut next) = (z.clone(), Coordinates::default());
        let of_output = |c: usize, z: &Coordinates| loops::dot(weights.col(c), z.in_lanes());
        let mut out = Array2::zeros((steps.len(), width));
        for step in 1..=last {
            for (i, _) in steps.iter().enumerate().filter(|(_, wanted)| **wanted == step) {
                out.row_mut(i).iter_mut().enumerate().for_each(|(c, out)| *out = of_output(c, &z));
            }
            if step < last {
                match &matrix {
                    None => next.set((0..z.len()).map(|c| of_output(width + c, &z))),
                    Some(matrix) => {
                        let row = MatRef::from_row_major_slice(z.as_slice(), 1, z.len());
                        next.set(product(row, matrix.as_ref().as_ref()).row(0).iter().copied());
                    }
                }
                std::mem::swap(&mut z, &mut next);
            }
        }
        Ok(out)
    }

    /// Weights (coordinates, width) of the first components of the expected state after each of `steps`
    /// (from 1): `K^(n - 1) C`.
    pub(crate) fn readouts(&self, width: usize, steps: &[usize]) -> Result<Vec<Mat<f64>>> {
        let dictionaries = self.dictionaries.as_ref().ok_or(Error::NothingLearned)?;
        let first = self.state_weights(dictionaries)?.subcols(0, width).to_owned();
        self.powers(first, steps, Truncation::default())
    }

    /// The expectation after each of `steps`, from each row of `x`, of functions given by their values
    /// at the stored next states (m, p): (steps, n, p). The conditional mean embedding.
    pub fn expectation(
        &self,
        values: ArrayView2<'_, f64>,
        x: ArrayView2<'_, f64>,
        steps: &[usize],
        truncation: Truncation,
    ) -> Result<Array3<f64>> {
        finite(self.expectation_unbounded(values, x, steps, truncation)?, steps)
    }

    /// [`expectation`](Self::expectation), possibly not finite.
    pub(crate) fn expectation_unbounded(
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

    /// Weights of the stored next states in the conditional mean embedding after each of `steps`, from
    /// each row of `x`: (steps, n, m). The expectation of `f` is the weighted sum of its values there.
    pub fn embedding(
        &self,
        x: ArrayView2<'_, f64>,
        steps: &[usize],
        truncation: Truncation,
    ) -> Result<Array3<f64>> {
        finite(self.embedding_unbounded(x, steps, truncation)?, steps)
    }

    /// [`embedding`](Self::embedding), possibly not finite.
    pub(crate) fn embedding_unbounded(
        &self,
        x: ArrayView2<'_, f64>,
        steps: &[usize],
        truncation: Truncation,
    ) -> Result<Array3<f64>> {
        let dictionaries = self.ready("X", x)?;
        self.propagate(dictionaries, x, self.embedding_weights(dictionaries)?, steps, truncation)
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
        if columns >= WIDE && x.nrows() < columns && steps.iter().all(|n| *n > 0 && *n < columns) {
            self.carry(dictionaries, x, first, steps, truncation, &mut out)?;
            return Ok(out);
        }
        let powers = self.powers(first, steps, truncation)?;
        ask_each_block(blocks_of(x).zip(out.axis_chunks_iter_mut(Axis(1), BLOCK)), |(rows, mut out)| {
            let z = dictionaries.dictionary().coordinates(rows);
            for (weights, out) in powers.iter().zip(out.axis_iter_mut(Axis(0))) {
                let values = product(z.as_faer(), weights.as_ref());
                write_array(values.as_ref(), out);
            }
        })?;
        Ok(out)
    }

    /// The same by propagating the coordinates of the rows, which is cheaper if there are fewer
    /// rows than forecast numbers.
    fn carry(
        &self,
        dictionaries: &Dictionaries,
        x: ArrayView2<'_, f64>,
        first: Mat<f64>,
        steps: &[usize],
        truncation: Truncation,
        out: &mut Array3<f64>,
    ) -> Result<()> {
        let last = steps.iter().copied().max().unwrap_or(0);
        let (matrix, first) = if last > 1 || truncation != Truncation::default() {
            self.truncated(first, truncation)?
        } else {
            (Arc::new(Mat::zeros(0, 0)), first)
        };
        let mut z = dictionaries.dictionary().coordinates(x).as_faer().to_owned();
        for step in 1..=last {
            check()?;
            for (i, _) in steps.iter().enumerate().filter(|(_, wanted)| **wanted == step) {
                let values = product(z.as_ref(), first.as_ref());
                write_array(values.as_ref(), out.index_axis_mut(Axis(0), i));
            }
            if step < last {
                z = product(z.as_ref(), matrix.as_ref().as_ref());
            }
        }
        Ok(())
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
            weights = advance(&matrix, weights, steps[i] - at)?;
            at = steps[i];
            out[i].clone_from(&weights);
        }
        Ok(out)
    }

    /// The operator and the weights of the first step, restricted to a part of the spectrum.
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

/// Forecasts (steps, n, p), if they are finite.
pub(crate) fn finite(out: Array3<f64>, steps: &[usize]) -> Result<Array3<f64>> {
    match out.indexed_iter().find(|(_, v)| !v.is_finite()) {
        Some(((n, _, _), _)) => Err(Error::ForecastOverflow { steps: steps[n] }),
        None => Ok(out),
    }
}

/// `matrix^by weights`: by repeated products, or by squaring if that takes fewer operations.
fn advance(matrix: &Mat<f64>, weights: Mat<f64>, by: usize) -> Result<Mat<f64>> {
    if weights.ncols() == 0 {
        return Ok(weights);
    }
    let (m, p) = (matrix.nrows() as f64, weights.ncols() as f64);
    if by as f64 * p <= 2.0 * m * (by as f64 + 1.0).log2() {
        return (0..by).try_fold(weights, |weights, _| {
            check()?;
            Ok(product(matrix.as_ref(), weights.as_ref()))
        });
    }
    let (mut square, mut weights, mut left) = (matrix.clone(), weights, by);
    while left > 0 {
        if left % 2 == 1 {
            weights = product(square.as_ref(), weights.as_ref());
        }
        left /= 2;
        check()?;
        if left > 0 {
            square = product(square.as_ref(), square.as_ref());
        }
    }
    Ok(weights)
}
