//! Systems with inputs: forecasts under given inputs, and data for a controller.
//!
//! The kernel of a state with an input is the product of a kernel of states and a kernel of inputs.
//! So the expectation of a product feature over the next states, at a given input, is the product
//! of the expectation of its state's part and of the input's part: a forecast for a sequence of
//! inputs is one matrix product a step.

use std::sync::Arc;

use faer::{Mat, MatMut};
use ndarray::{Array2, Array3, ArrayView2, ArrayView3, Axis, concatenate, s};

use super::blocks::for_blocks;
use super::dictionaries::Dictionaries;
use super::model::{Koopman, kept};
use super::products::product;
use super::spec::ControlSpec;
use crate::error::{Error, Result, in_range};
use crate::interrupt::check;
use crate::kernel::{Kernel, PointSet};
use crate::linalg::write_array;
use crate::validate::check_rows;

/// Map from the stored states and inputs to next states.
pub(crate) struct Transitions {
    /// Similarity of states.
    pub kernel: Kernel,
    /// Similarity of inputs.
    pub control: Kernel,
    /// The stored states, followed by their inputs.
    pub states: PointSet,
    pub inputs: PointSet,
    /// The stored next states.
    pub next: PointSet,
    /// `B` (stored, next): from the values `v` of a function at the stored next states to its
    /// expectation, `E[f(x+) | x, u] = (k(x) * k(u))' B v` with the products of the similarities of `x`
    /// and of `u` to the stored ones.
    pub weights: Mat<f64>,
}

impl Koopman {
    fn control(&self) -> Result<&ControlSpec> {
        self.spec.control.as_ref().ok_or(Error::InvalidParameter {
            name: "n_inputs",
            value: "0".to_owned(),
            requirement: "at least 1 for an operator with inputs",
        })
    }

    /// The transitions of a system with inputs.
    pub(crate) fn transitions(&self) -> Result<Transitions> {
        let control = self.control()?;
        let dictionaries = self.dictionaries.as_ref().ok_or(Error::NothingLearned)?;
        let (next, width) = (dictionaries.dictionary_next(), dictionaries.width());
        let mut weights = self.coordinate_weights(dictionaries)?.to_owned();
        dictionaries.dictionary().factor().solve_transposed_block(weights.as_mut());
        next.factor().solve_transposed_block(weights.as_mut().transpose_mut());
        let (states, inputs) = split(dictionaries.dictionary().points(), width);
        Ok(Transitions {
            kernel: next.kernel().clone(),
            control: control.kernel.resolve(control.width)?,
            states,
            inputs,
            next: next.points().clone(),
            weights,
        })
    }

    /// The expected state after each of `steps` (from 1), from each row of `x` (n, d) under the inputs
    /// (n, steps or more, k): (steps, n, d). One sequence, (1, steps or more, k), may serve all rows.
    ///
    /// Each step is the learner's own prediction from the state expected before it. Propagating the
    /// expected features of a state, as powers of an operator do, multiplies their errors by those
    /// of the inputs: on a van der Pol oscillator with random inputs the error after 50 steps was
    /// 180,000 deviations, and .30 this way.
    pub fn forecast_under(
        &self,
        x: ArrayView2<'_, f64>,
        inputs: ArrayView3<'_, f64>,
        steps: &[usize],
    ) -> Result<Array3<f64>> {
        let dictionaries = self.dictionaries.as_ref().ok_or(Error::NothingLearned)?;
        let (control, last) = self.check_inputs(dictionaries, x, inputs, steps)?;
        let first = self.state_weights(dictionaries)?;
        let mut out = Array3::zeros((steps.len(), x.nrows(), first.ncols()));
        for_blocks(x, |at, rows| {
            let mut states = rows.to_owned();
            for step in 1..=last {
                check()?;
                let acting = acting_on(inputs, step - 1, at, rows.nrows(), control.width);
                let joint = concatenate![Axis(1), states, acting];
                let z = dictionaries.dictionary().coordinates(joint.view());
                let expected = product(z.as_faer(), first);
                write_array(expected.as_ref(), states.view_mut());
                if states.iter().any(|value| !value.is_finite()) {
                    return Err(Error::ForecastOverflow { steps: step });
                }
                for (n, _) in steps.iter().enumerate().filter(|(_, wanted)| **wanted == step) {
                    out.slice_mut(s![n, at..at + rows.nrows(), ..]).assign(&states);
                }
            }
            Ok(())
        })?;
        Ok(out)
    }

    /// The expectation after each of `steps`, from each row of `x` under the inputs, of functions given
    /// by their values at the stored next states (m, p): (steps, n, p).
    pub fn expectation_under(
        &self,
        values: ArrayView2<'_, f64>,
        x: ArrayView2<'_, f64>,
        inputs: ArrayView3<'_, f64>,
        steps: &[usize],
    ) -> Result<Array3<f64>> {
        let dictionaries = self.dictionaries.as_ref().ok_or(Error::NothingLearned)?;
        let first = self.function_weights(dictionaries, values)?;
        self.propagate_under(dictionaries, x, inputs, &first, steps)
    }

    /// Weights of the stored next states in the conditional mean embedding after each of `steps`, from each
    /// row of `x` under the inputs: (steps, n, m).
    pub fn embedding_under(
        &self,
        x: ArrayView2<'_, f64>,
        inputs: ArrayView3<'_, f64>,
        steps: &[usize],
    ) -> Result<Array3<f64>> {
        let dictionaries = self.dictionaries.as_ref().ok_or(Error::NothingLearned)?;
        let first = self.embedding_weights(dictionaries)?;
        self.propagate_under(dictionaries, x, inputs, &first, steps)
    }

    /// Checks states and inputs; the last of the steps.
    fn check_inputs(
        &self,
        dictionaries: &Dictionaries,
        x: ArrayView2<'_, f64>,
        inputs: ArrayView3<'_, f64>,
        steps: &[usize],
    ) -> Result<(&ControlSpec, usize)> {
        let control = self.control()?;
        let kernel = control.kernel.resolve(control.width)?;
        self.check_states("X", x, Some(dictionaries.width()))?;
        let last = check_sequence(x.nrows(), inputs, control.width, steps)?;
        for step in inputs.axis_iter(Axis(1)).take(last) {
            check_rows(&kernel, "inputs", step)?;
        }
        Ok((control, last))
    }

    fn propagate_under(
        &self,
        dictionaries: &Dictionaries,
        x: ArrayView2<'_, f64>,
        inputs: ArrayView3<'_, f64>,
        first: &Mat<f64>,
        steps: &[usize],
    ) -> Result<Array3<f64>> {
        let (control, last) = self.check_inputs(dictionaries, x, inputs, steps)?;
        let kernel = control.kernel.resolve(control.width)?;
        let between = self.between(dictionaries)?;
        let (_, acting) = split(dictionaries.dictionary().points(), dictionaries.width());
        let c = self.coordinate_weights(dictionaries)?;
        let mut out = Array3::zeros((steps.len(), x.nrows(), first.ncols()));
        if last == 0 {
            return Ok(out);
        }
        for_blocks(x, |at, rows| {
            let inputs_of = |step: usize| acting_on(inputs, step, at, rows.nrows(), control.width);
            let joint = concatenate![Axis(1), rows, inputs_of(0)];
            let mut z = dictionaries.dictionary().coordinates(joint.view());
            for step in 1..=last {
                check()?;
                if steps.contains(&step) {
                    let values = product(z.as_faer(), first.as_ref());
                    for (n, _) in steps.iter().enumerate().filter(|(_, wanted)| **wanted == step) {
                        write_array(values.as_ref(), out.slice_mut(s![n, at..at + rows.nrows(), ..]));
                    }
                }
                if step < last {
                    let expected = product(z.as_faer(), c);
                    let likely = product(expected.as_ref(), between.as_ref().as_ref());
                    z = kernel.similarities_of_rows(&acting, inputs_of(step).view());
                    multiply(z.as_faer_mut(), &likely);
                    dictionaries.dictionary().factor().solve_block(z.as_faer_mut().transpose_mut());
                }
            }
            Ok(())
        })?;
        match out.indexed_iter().find(|(_, v)| !v.is_finite()) {
            Some(((n, _, _), _)) => Err(Error::ForecastOverflow { steps: steps[n] }),
            None => Ok(out),
        }
    }

    /// Coordinates (next, stored) of the stored states in the dictionary of next states: their inner products
    /// with the expected coordinates of a state are its expected similarities.
    fn between(&self, dictionaries: &Dictionaries) -> Result<&Arc<Mat<f64>>> {
        kept(&self.derived.between, || {
            let (states, _) = split(dictionaries.dictionary().points(), dictionaries.width());
            let z = dictionaries.dictionary_next().coordinates(states.panel().to_array().view());
            Ok(Arc::new(z.as_faer().transpose().to_owned()))
        })
    }
}

/// The inputs (count, width) of a step for rows from `at` on: one for all of them, or one for each.
fn acting_on(inputs: ArrayView3<'_, f64>, step: usize, at: usize, count: usize, width: usize) -> Array2<f64> {
    let one = inputs.slice(s![.., step, ..]);
    let row = |i: usize| if one.nrows() == 1 { 0 } else { at + i };
    Array2::from_shape_fn((count, width), |(i, j)| one[[row(i), j]])
}

/// Splits points into their first `width` columns and the others.
fn split(points: &PointSet, width: usize) -> (PointSet, PointSet) {
    let rows = points.panel().to_array();
    (PointSet::gather(rows.slice(s![.., ..width])), PointSet::gather(rows.slice(s![.., width..])))
}

/// Entry by entry.
fn multiply(out: MatMut<'_, f64>, factors: &Mat<f64>) {
    for (column, factors) in out.col_iter_mut().zip(factors.col_iter()) {
        column.iter_mut().zip(factors.iter()).for_each(|(value, factor)| *value *= *factor);
    }
}

/// The last of `steps`, for which inputs are required.
fn check_sequence(rows: usize, inputs: ArrayView3<'_, f64>, width: usize, steps: &[usize]) -> Result<usize> {
    let (sequences, length, found) = inputs.dim();
    if found != width {
        return Err(Error::WrongWidth { what: "inputs", expected: width, found });
    }
    if sequences != rows && sequences != 1 {
        let (left, right) = ("X", "inputs (sequences)");
        return Err(Error::LengthMismatch { left, left_rows: rows, right, right_rows: sequences });
    }
    for &n in steps {
        in_range("n_steps", n, n > 0, "at least 1")?;
        in_range("n_steps", n, n <= length, "at most the number of inputs in a sequence")?;
    }
    Ok(steps.iter().copied().max().unwrap_or(0))
}
