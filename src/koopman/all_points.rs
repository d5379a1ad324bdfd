//! The basic recursion: every pair stored, no factor of any matrix.

use std::sync::Arc;

use faer::{Mat, c64};
use ndarray::{Array2, ArrayView2};

use super::Spectrum;
use super::dictionaries::rows_of;
use super::products::{product, real_times_complex};
use crate::error::{Error, Result, not_negative, positive};
use crate::kernel::{Kernel, KernelSpec, PointSet};
use crate::learner::Schedule;
use crate::linalg::{Panel, Scratch, loops, padded};
use crate::validate::{check_lengths, check_rows, check_width};

/// Stochastic gradient for the Koopman operator with every pair stored (Hou et al., Lemma 4.2, eq. 4.8).
///
/// `W` gains a row and a column with each pair, `O(t^2)` in round `t`, and no Gram matrix is ever
/// factored, so repeated points are no trouble. For small data, and to judge the sparse learner by.
#[derive(Clone, Debug)]
pub struct AllPoints {
    kernel: KernelSpec,
    step: f64,
    schedule: Schedule,
    regularization: f64,
    state: Option<State>,
}

#[derive(Clone, Debug)]
struct State {
    kernel: Kernel,
    inputs: PointSet,
    outputs: PointSet,
    /// `W` (outputs, inputs)
    weights: Panel,
}

impl AllPoints {
    /// Nothing stored yet. `step` is positive, `schedule` anything but adaptive, `regularization` zero
    /// or positive.
    pub fn new(kernel: KernelSpec, step: f64, schedule: Schedule, regularization: f64) -> Result<Self> {
        kernel.resolve(1)?;
        positive("step", step)?;
        not_negative("regularization", regularization)?;
        let schedule = schedule.checked()?;
        if matches!(schedule, Schedule::Adaptive) {
            return Err(Error::InvalidParameter {
                name: "schedule",
                value: "Adaptive".to_owned(),
                requirement: "constant, inverse_sqrt or power for an operator",
            });
        }
        Ok(Self { kernel, step, schedule, regularization, state: None })
    }

    /// Pairs stored, which are all that were learned.
    #[must_use]
    pub fn len(&self) -> usize {
        self.state.as_ref().map_or(0, |state| state.inputs.len())
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The stored inputs and outputs, one a row.
    #[must_use]
    pub fn points(&self) -> (Array2<f64>, Array2<f64>) {
        match &self.state {
            Some(state) => (rows_of(&state.inputs), rows_of(&state.outputs)),
            None => (Array2::zeros((0, 0)), Array2::zeros((0, 0))),
        }
    }

    /// `W` (outputs, inputs): `E[f(x+) | x] = f(outputs)' W k(inputs, x)`.
    #[must_use]
    pub fn weights(&self) -> Array2<f64> {
        match &self.state {
            Some(state) => Array2::from_shape_fn((self.len(), self.len()), |(i, j)| state.weights.get(i, j)),
            None => Array2::zeros((0, 0)),
        }
    }

    /// Learns pairs, row by row. On an error nothing has changed.
    pub fn learn(&mut self, x: ArrayView2<'_, f64>, next: ArrayView2<'_, f64>) -> Result<()> {
        check_lengths(x, "X_next", next)?;
        self.check("X", x)?;
        check_width("X_next", Some(x.ncols()), next.ncols())?;
        self.check("X_next", next)?;
        let width = x.ncols();
        let mut state = match self.state.take() {
            Some(state) => state,
            None => State {
                kernel: self.kernel.resolve(width)?,
                inputs: PointSet::new(width),
                outputs: PointSet::new(width),
                weights: Panel::default(),
            },
        };
        let before = (!state.inputs.is_empty()).then(|| state.clone());
        for (i, (x, next)) in x.rows().into_iter().zip(next.rows()).enumerate() {
            let step = self.schedule.at(state.inputs.len() as u64 + 1, self.step, 0.0, 0.0);
            if !state.learn(&x.to_vec(), &next.to_vec(), step, self.regularization) {
                self.state = before;
                return Err(Error::Diverged { row: i });
            }
        }
        self.state = (!state.inputs.is_empty()).then_some(state);
        Ok(())
    }

    fn check(&self, what: &'static str, rows: ArrayView2<'_, f64>) -> Result<()> {
        check_width(what, self.state.as_ref().map(|state| state.inputs.width()), rows.ncols())?;
        let kernel = match &self.state {
            Some(state) => state.kernel.clone(),
            None => self.kernel.resolve(rows.ncols())?,
        };
        check_rows(&kernel, what, rows)
    }

    /// Eigenvalues and eigenfunctions; the coordinates of a point are its similarities to the inputs.
    pub fn spectrum(&self) -> Result<Arc<Spectrum>> {
        let state = self.state.as_ref().ok_or(Error::NothingLearned)?;
        let inputs = rows_of(&state.inputs);
        let between = state.kernel.similarities_of_rows(&state.outputs, inputs.view());
        let own = state.kernel.similarities_of_rows(&state.inputs, inputs.view());
        let matrix = product(state.weights.as_faer().transpose(), between.as_faer().transpose());
        Ok(Arc::new(Spectrum::of(matrix.as_ref(), own.as_faer())?))
    }

    /// Values of the first `k` eigenfunctions at rows `x` (n, d): (n, k).
    pub fn eigenfunctions(&self, x: ArrayView2<'_, f64>, k: usize) -> Result<Array2<c64>> {
        let state = self.state.as_ref().ok_or(Error::NothingLearned)?;
        self.check("X", x)?;
        let spectrum = self.spectrum()?;
        let k = k.min(spectrum.values().len());
        let rows = state.kernel.similarities_of_rows(&state.inputs, x);
        let values = real_times_complex(rows.as_faer(), spectrum.right().get(.., ..k));
        Ok(Array2::from_shape_fn((x.nrows(), k), |(i, j)| values[(i, j)]))
    }

    /// The expectation one step after each row of `x` of functions given by their values at the stored
    /// outputs (m, p): (n, p).
    pub fn expectation(&self, values: ArrayView2<'_, f64>, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        let state = self.state.as_ref().ok_or(Error::NothingLearned)?;
        self.check("X", x)?;
        if values.nrows() != self.len() {
            return Err(Error::LengthMismatch {
                left: "the values of a function",
                left_rows: values.nrows(),
                right: "the stored outputs",
                right_rows: self.len(),
            });
        }
        let rows = state.kernel.similarities_of_rows(&state.inputs, x);
        let values = Mat::from_fn(values.nrows(), values.ncols(), |i, c| values[[i, c]]);
        let weights = product(state.weights.as_faer().transpose(), values.as_ref());
        let out = product(rows.as_faer(), weights.as_ref());
        Ok(Array2::from_shape_fn((x.nrows(), values.ncols()), |at| out[at]))
    }
}

impl State {
    /// `W <- [[(1 - lambda step) W, -step W k], [0, step]]`; false if it would grow without bound.
    fn learn(&mut self, x: &[f64], next: &[f64], step: f64, regularization: f64) -> bool {
        let t = self.inputs.len();
        let mut similar = vec![0.0; padded(t)];
        self.kernel.row(&self.inputs, x, &mut similar, &mut Scratch::default());
        let mut column = vec![0.0; padded(t)];
        for (j, k) in similar[..t].iter().enumerate() {
            loops::add_scaled(-step * k, self.weights.col(j), &mut column);
        }
        if !column.iter().all(|v| v.abs() < 1e90) {
            return false;
        }
        let keep = (1.0 - regularization * step).max(0.0);
        for j in 0..t {
            self.weights.col_mut(j).iter_mut().for_each(|w| *w *= keep);
        }
        self.weights.grow_rows(t + 1);
        self.weights.grow_cols(t + 1);
        for (i, value) in column[..t].iter().enumerate() {
            self.weights.set(i, t, *value);
        }
        self.weights.set(t, t, step);
        self.inputs.push(x);
        self.outputs.push(next);
        true
    }
}
