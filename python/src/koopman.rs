//! Koopman operators for Python.

use std::path::PathBuf;

use kernelstream::dynamics::{self, DynamicsSpec, Reencoding};
use kernelstream::koopman::{Residual, Truncation};
use kernelstream::{Merge, PartOrder, Persist as _};
use ndarray::{ArrayView1, ArrayView2, Axis, s};
use numpy::{Complex64, IntoPyArray as _, PyArray1, PyArray2, PyArray3, PyArray4};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::convert::{Row, cube, matrix, one_row};
use crate::shared::{Learned, Shared, Undo};
use crate::{parse_extra, specification, to_python};

type Both<'py, A, B> = PyResult<(Bound<'py, A>, Bound<'py, B>)>;

/// The operator of a dynamical system, learned from a stream of pairs of states.
#[pyclass(frozen, module = "kernelstream._core")]
pub struct Koopman {
    model: Shared<dynamics::Dynamics>,
}

impl Koopman {
    pub fn holding(model: impl Into<dynamics::Dynamics>) -> Self {
        Self { model: Shared::new(model.into()) }
    }

    fn learn_pairs(
        &self,
        py: Python<'_>,
        x: ArrayView2<'_, f64>,
        next: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        self.model.learn(
            py,
            x.nrows(),
            progress,
            |model| {
                model.check_pairs(x, next)?;
                model.operator().check_weights(x, weights)?;
                Ok(undo(model, x.nrows()))
            },
            |model, rows, should_continue| {
                if rows.is_empty() {
                    model.drain_while(|| should_continue(0))?;
                    return Ok(Learned { rows: 0, busy: model.operator().is_draining() });
                }
                let (x, next) = (x.slice(s![rows.clone(), ..]), next.slice(s![rows.clone(), ..]));
                let weights = weights.map(|weights| weights.slice_move(s![rows]));
                let rows = model.learn_weighted_while(x, next, weights, should_continue)?;
                Ok(Learned { rows, busy: model.operator().is_draining() })
            },
        )
    }
}

/// What puts the operator back when it refuses one of `n` pairs that were checked, or one that waited in the replay
/// buffer, which these may fill.
fn undo(model: &dynamics::Dynamics, n: usize) -> Undo {
    undo_operator(model.operator(), model.can_refuse(), n)
}

/// The same of an operator that may refuse pairs or not.
pub fn undo_operator(operator: &kernelstream::koopman::Koopman, can_refuse: bool, n: usize) -> Undo {
    let fills = operator.spec().replay.as_ref().is_some_and(|replay| operator.n_pending() + n >= replay.size);
    Undo::of(can_refuse, if fills { usize::MAX } else { n })
}

#[pymethods]
#[expect(non_snake_case, reason = "the names that Python users know")]
impl Koopman {
    #[new]
    fn new(spec_json: &str) -> PyResult<Self> {
        let spec = specification::<DynamicsSpec>("model", spec_json)?;
        spec.build().map(Self::holding).map_err(to_python)
    }

    /// Learns pairs: row i of `X_next` (n, d) is the state that followed row i of `X` (n, d), with weights (n, 1) or 1.
    #[pyo3(signature = (X, X_next, progress=None, weights=None))]
    fn learn(
        &self,
        py: Python<'_>,
        X: &Bound<'_, PyAny>,
        X_next: &Bound<'_, PyAny>,
        progress: Option<&Bound<'_, PyAny>>,
        weights: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (x, next) = (matrix("X", X)?, matrix("X_next", X_next)?);
        let weights = weights.map(|weights| matrix("weights", weights)).transpose()?;
        let weights = weights.as_ref().map(|weights| weights.as_array().index_axis_move(Axis(1), 0));
        self.learn_pairs(py, x.as_array(), next.as_array(), weights, progress)
    }

    /// Learns trajectories (n, d + k), whose states are paired `lag` steps apart. `continued`: the first one continues
    /// where the last one of the call before ended. `missing`: the rows between each and the one before it; 0 if not known.
    /// `calendar`: the periods of their calendar, in states, if it is known.
    #[pyo3(signature = (trajectories, lag, continued=false, progress=None, missing=None, calendar=None))]
    #[expect(clippy::too_many_arguments, reason = "what is known of the trajectories, by name")]
    fn follow(
        &self,
        py: Python<'_>,
        trajectories: Vec<Bound<'_, PyAny>>,
        lag: usize,
        continued: bool,
        progress: Option<&Bound<'_, PyAny>>,
        missing: Option<Vec<usize>>,
        calendar: Option<Vec<usize>>,
    ) -> PyResult<()> {
        let missing = |piece: usize| missing.as_ref().and_then(|all| all.get(piece)).copied().unwrap_or(0);
        let pieces = trajectories.iter().map(|array| matrix("T", array)).collect::<PyResult<Vec<_>>>()?;
        let pieces: Vec<_> = pieces.iter().map(|array| array.as_array()).collect();
        let begins = |piece: usize| piece > 0 || !continued;
        let n = pieces.iter().map(ArrayView2::nrows).sum();
        self.model.learn(
            py,
            n,
            progress,
            |model| {
                for (i, piece) in pieces.iter().enumerate() {
                    model.check_trajectory(*piece, lag, !begins(i))?;
                }
                // The model takes back the piece that fails, and none before it.
                let counted = if pieces.len() > 1 { usize::MAX / 2 } else { n };
                Ok(undo(model, counted))
            },
            |model, rows, should_continue| {
                let (mut start, mut i) = (rows.start, 0);
                while i < pieces.len() && start >= pieces[i].nrows() {
                    start -= pieces[i].nrows();
                    i += 1;
                }
                if i == pieces.len() {
                    model.drain_while(|| should_continue(0))?;
                    return Ok(Learned { rows: 0, busy: model.operator().is_draining() });
                }
                let piece = pieces[i].slice(s![start..pieces[i].nrows().min(start + rows.len()), ..]);
                if start == 0 {
                    model.pass_over(missing(i));
                    if let Some(calendar) = &calendar {
                        model.expect_periods(calendar.clone())?;
                    }
                }
                let rows = model.follow_while(piece, lag, start > 0 || !begins(i), should_continue)?;
                Ok(Learned { rows, busy: model.operator().is_draining() })
            },
        )
    }

    /// Adds what others learned that are written down alike.
    fn merge(&self, py: Python<'_>, others: Vec<PyRef<'_, Self>>, successive: bool) -> PyResult<()> {
        let order = if successive { PartOrder::Successive } else { PartOrder::Any };
        let read = |other: &PyRef<'_, Self>| Ok(other.model.read(py)?.clone());
        let others = others.iter().map(read).collect::<PyResult<Vec<_>>>()?;
        let merged = |model: &dynamics::Dynamics| {
            let mut merged = model.clone();
            merged.join(&others.iter().collect::<Vec<_>>(), order).map(|()| merged)
        };
        self.model.revise(py, merged, |model, merged| *model = merged)
    }

    /// Stores no further point, and forgets the rows.
    fn freeze_dictionary(&self, py: Python<'_>) -> PyResult<()> {
        self.model.change(py, Merge::freeze_dictionary)
    }

    /// Takes these states for the last of the trajectory learned, as older files have them.
    fn resume_trajectory(&self, py: Python<'_>, states: &Bound<'_, PyAny>) -> PyResult<()> {
        let states = matrix("states", states)?;
        let states = states.as_array();
        self.model.change(py, |model| model.resume_trajectory(states))
    }

    /// Learns one pair.
    fn learn_one(&self, py: Python<'_>, x: &Bound<'_, PyAny>, x_next: &Bound<'_, PyAny>) -> PyResult<()> {
        let (x, next) = (Row::of("x", x)?, Row::of("x_next", x_next)?);
        if self.model.read(py)?.operator().spec().replay.is_some() {
            let (x, next) = (one_row(x.as_slice()), one_row(next.as_slice()));
            return self.learn_pairs(py, x, next, None, None);
        }
        self.model.learn_one(py, |model| model.learn_one(x.as_slice(), next.as_slice()))
    }

    /// Learns the pairs that wait in the replay buffer.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.model.learn(
            py,
            0,
            None,
            |model| Ok(Undo::of(model.can_refuse(), usize::MAX)),
            |model, _, should_continue| {
                let busy = !model.flush_while(|| should_continue(0))?;
                Ok(Learned { rows: 0, busy })
            },
        )
    }

    /// Coordinates of rows X (n, d) in the dictionary (n, m).
    fn transform<'py>(&self, py: Python<'py>, X: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let x = matrix("X", X)?;
        let x = x.as_array();
        Ok(self.model.ask(py, |model| model.transform(x))?.into_pyarray(py))
    }

    /// How new rows X (n, d) are (n,).
    fn novelty<'py>(&self, py: Python<'py>, X: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let x = matrix("X", X)?;
        let x = x.as_array();
        Ok(self.model.ask(py, |model| model.novelty(x))?.into_pyarray(py))
    }

    /// All eigenvalues (m,).
    fn eigenvalues<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<Complex64>>> {
        let spectrum = self.model.ask(py, dynamics::Dynamics::spectrum)?;
        Ok(PyArray1::from_slice(py, spectrum.values()))
    }

    /// Values of the first k eigenfunctions at rows X (n, d): (n, k).
    #[pyo3(signature = (X, k, left=false))]
    fn eigenfunctions<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        k: usize,
        left: bool,
    ) -> PyResult<Bound<'py, PyArray2<Complex64>>> {
        let x = matrix("X", X)?;
        let x = x.as_array();
        let values = self.model.ask(py, |model| {
            if left { model.left_eigenfunctions(x, k) } else { model.eigenfunctions(x, k) }
        })?;
        Ok(values.into_pyarray(py))
    }

    /// Residuals of the first k eigenpairs on held-out pairs (k,).
    #[pyo3(signature = (X, X_next, k, projected=true))]
    fn residuals<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        X_next: &Bound<'py, PyAny>,
        k: usize,
        projected: bool,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (x, next) = (matrix("X", X)?, matrix("X_next", X_next)?);
        let (x, next) = (x.as_array(), next.as_array());
        let kind = if projected { Residual::Projected } else { Residual::Raw };
        Ok(self.model.ask(py, |model| model.residuals(x, next, k, kind))?.into_pyarray(py))
    }

    /// Mean squared error of the predicted features of the next state, on pairs.
    fn risk(&self, py: Python<'_>, X: &Bound<'_, PyAny>, X_next: &Bound<'_, PyAny>) -> PyResult<f64> {
        let (x, next) = (matrix("X", X)?, matrix("X_next", X_next)?);
        let (x, next) = (x.as_array(), next.as_array());
        self.model.ask(py, |model| model.risk(x, next))
    }

    /// Residuals of the first k eigenpairs on the pairs learned (k,).
    fn learned_residuals<'py>(&self, py: Python<'py>, k: usize) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(self.model.ask(py, |model| model.learned_residuals(k))?.into_pyarray(py))
    }

    /// Means over the pairs learned of the first k eigenfunctions, now and later (2, k), and of their products: now,
    /// across, later (3, k, k).
    fn moments<'py>(&self, py: Python<'py>, k: usize) -> Both<'py, PyArray2<Complex64>, PyArray3<Complex64>> {
        let moments = self.model.ask(py, |model| model.moments(k))?;
        let products = [&moments.now, &moments.across, &moments.later].map(|matrix| matrix.view());
        let products = ndarray::stack(Axis(0), &products)
            .map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))?;
        Ok((moments.means.into_pyarray(py), products.into_pyarray(py)))
    }

    /// What each block of the stream does to the first k eigenvalues (blocks, k), its share of all pairs (blocks,), what
    /// regularization takes from them (k,), and the number of pairs and the rank of the fit.
    #[expect(clippy::type_complexity, reason = "three arrays and two numbers")]
    fn influences<'py>(
        &self,
        py: Python<'py>,
        k: usize,
    ) -> PyResult<(
        Bound<'py, PyArray2<Complex64>>,
        Bound<'py, PyArray1<f64>>,
        Bound<'py, PyArray1<Complex64>>,
        (f64, f64),
    )> {
        let influences = self.model.ask(py, |model| model.influences(k))?;
        let taken = influences.of_regularization;
        Ok((
            influences.on_values.into_pyarray(py),
            influences.shares.into_pyarray(py),
            taken.into_pyarray(py),
            (influences.pairs, influences.rank),
        ))
    }

    /// Singular values of the operator, by descending size.
    fn singular_values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(self.model.ask(py, dynamics::Dynamics::singular_values)?.into_pyarray(py))
    }

    /// Values of the first k singular functions of `x`, or of those of the next state, at rows of X: (n, k).
    fn singular_functions<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        k: usize,
        later: bool,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let x = matrix("X", X)?;
        let x = x.as_array();
        Ok(self.model.ask(py, |model| model.singular_functions(x, k, later))?.into_pyarray(py))
    }

    /// Expected states after each of `steps`: (steps, n, d), in the way selected, or beginning again `by` steps from the
    /// state forecast (0: never), and whether a step is as long as a delay.
    #[pyo3(signature = (X, steps, rank=None, clip=false, by=None))]
    fn forecast<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        steps: Vec<usize>,
        rank: Option<usize>,
        clip: bool,
        by: Option<(usize, bool)>,
    ) -> PyResult<(Bound<'py, PyArray3<f64>>, bool)> {
        let x = matrix("X", X)?;
        let x = x.as_array();
        let truncation = Truncation { rank, clip };
        let by = by.map(|(every, is_one_delay)| Reencoding { every, is_one_delay });
        let (out, beyond) = self.model.ask(py, |model| match by {
            None => model.forecast_and_judge(x, &steps, truncation),
            Some(by) => model.forecast_by(x, &steps, truncation, by),
        })?;
        Ok((out.into_pyarray(py), beyond))
    }

    /// Expectations after each of `steps` of functions given by their values at the stored next states
    /// (m, p): (steps, n, p).
    #[pyo3(signature = (values, X, steps, rank=None, clip=false))]
    fn expectation<'py>(
        &self,
        py: Python<'py>,
        values: &Bound<'py, PyAny>,
        X: &Bound<'py, PyAny>,
        steps: Vec<usize>,
        rank: Option<usize>,
        clip: bool,
    ) -> PyResult<(Bound<'py, PyArray3<f64>>, bool)> {
        let (values, x) = (matrix("values", values)?, matrix("X", X)?);
        let (values, x) = (values.as_array(), x.as_array());
        let (out, beyond) =
            self.model.ask(py, |model| model.expectation(values, x, &steps, Truncation { rank, clip }))?;
        Ok((out.into_pyarray(py), beyond))
    }

    /// Weights of the stored next states after each of `steps`: (steps, n, m).
    #[pyo3(signature = (X, steps, rank=None, clip=false))]
    fn embedding<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        steps: Vec<usize>,
        rank: Option<usize>,
        clip: bool,
    ) -> PyResult<(Bound<'py, PyArray3<f64>>, bool)> {
        let x = matrix("X", X)?;
        let x = x.as_array();
        let (out, beyond) =
            self.model.ask(py, |model| model.embedding(x, &steps, Truncation { rank, clip }))?;
        Ok((out.into_pyarray(py), beyond))
    }

    /// Expected states after each of `steps` under inputs (n or 1, steps or more, k): (steps, n, d).
    fn forecast_under<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        inputs: &Bound<'py, PyAny>,
        steps: Vec<usize>,
    ) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let (x, inputs) = (matrix("X", X)?, cube("inputs", inputs)?);
        let (x, inputs) = (x.as_array(), inputs.as_array());
        Ok(self.model.ask(py, |model| model.forecast_under(x, inputs, &steps))?.into_pyarray(py))
    }

    /// Expectations after each of `steps` under inputs (n or 1, steps or more, k) of functions given by
    /// their values at the stored next states (m, p): (steps, n, p).
    fn expectation_under<'py>(
        &self,
        py: Python<'py>,
        values: &Bound<'py, PyAny>,
        X: &Bound<'py, PyAny>,
        inputs: &Bound<'py, PyAny>,
        steps: Vec<usize>,
    ) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let (values, x, inputs) = (matrix("values", values)?, matrix("X", X)?, cube("inputs", inputs)?);
        let (values, x, inputs) = (values.as_array(), x.as_array(), inputs.as_array());
        Ok(self.model.ask(py, |model| model.expectation_under(values, x, inputs, &steps))?.into_pyarray(py))
    }

    /// Weights of the stored next states after each of `steps` under inputs (n or 1, steps or more, k):
    /// (steps, n, m).
    fn embedding_under<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        inputs: &Bound<'py, PyAny>,
        steps: Vec<usize>,
    ) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let (x, inputs) = (matrix("X", X)?, cube("inputs", inputs)?);
        let (x, inputs) = (x.as_array(), inputs.as_array());
        Ok(self.model.ask(py, |model| model.embedding_under(x, inputs, &steps))?.into_pyarray(py))
    }

    /// Modes of the state, or of functions given by their values at the stored next states: (k, p).
    #[pyo3(signature = (values, k))]
    fn modes<'py>(
        &self,
        py: Python<'py>,
        values: Option<&Bound<'py, PyAny>>,
        k: usize,
    ) -> PyResult<Bound<'py, PyArray2<Complex64>>> {
        let values = values.map(|array| matrix("values", array)).transpose()?;
        let values = values.as_ref().map(|array| array.as_array());
        Ok(self.model.ask(py, |model| model.modes(values, k))?.into_pyarray(py))
    }

    /// The stored states, each followed by its input if there are any (m, d + k).
    fn dictionary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        Ok(self.model.read(py)?.dictionary().into_pyarray(py))
    }

    /// The stored next states (m, d).
    fn dictionary_next<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        Ok(self.model.read(py)?.dictionary_next().into_pyarray(py))
    }

    /// The operator in coordinates (next, stored).
    fn coordinates<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        Ok(self.model.ask(py, |model| model.operator().coordinates())?.into_pyarray(py))
    }

    /// Pairs received so far.
    #[getter]
    fn n_seen(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.model.read(py)?.n_seen())
    }

    /// Pairs left out so far because of an outlying state.
    #[getter]
    fn n_left_out(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.model.read(py)?.n_left_out())
    }

    /// Component and value of the first outlying state since this was called.
    fn take_first_outlier(&self, py: Python<'_>) -> PyResult<Option<(usize, f64)>> {
        Ok(self.model.scratch(py)?.take_first_outlier())
    }

    /// Pairs that wait in the replay buffer.
    #[getter]
    fn n_pending(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.model.read(py)?.operator().n_pending())
    }

    /// Stored states.
    #[getter]
    fn n_stored(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.model.read(py)?.operator().n_stored().0)
    }

    /// Stored next states.
    #[getter]
    fn n_stored_next(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.model.read(py)?.operator().n_stored().1)
    }

    /// Features of a state; None before the first.
    #[getter]
    fn n_features(&self, py: Python<'_>) -> PyResult<Option<usize>> {
        Ok(self.model.read(py)?.n_features())
    }

    /// States learned one after another, of those with horizons.
    #[getter]
    fn n_states(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.model.read(py)?.n_states())
    }

    /// Inputs of a state.
    #[getter]
    fn n_inputs(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.model.read(py)?.operator().n_controls())
    }

    /// The value of each input that has not varied yet.
    #[getter]
    fn constant_inputs(&self, py: Python<'_>) -> PyResult<Vec<Option<f64>>> {
        Ok(self.model.read(py)?.constant_inputs())
    }

    /// Each state of a trajectory (n, d) followed by its delays.
    fn embed<'py>(&self, py: Python<'py>, T: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let states = matrix("X", T)?;
        let states = states.as_array();
        Ok(self.model.ask(py, |model| model.embed(states))?.into_pyarray(py))
    }

    /// Rows that forecasts are asked for, of states of a trajectory (n, d).
    fn forecast_rows<'py>(
        &self,
        py: Python<'py>,
        T: &Bound<'py, PyAny>,
        lag: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let states = matrix("X", T)?;
        let states = states.as_array();
        Ok(self.model.ask(py, |model| model.forecast_rows(states, lag))?.into_pyarray(py))
    }

    /// Mixed forecasts over each of the horizons from such rows: (horizons, n, d).
    fn forecasts<'py>(
        &self,
        py: Python<'py>,
        rows: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let rows = matrix("X", rows)?;
        let rows = rows.as_array();
        Ok(self.model.ask(py, |model| model.forecasts(rows))?.into_pyarray(py))
    }

    /// Standard deviations of what comes about its forecasts (horizons, d).
    fn forecast_deviations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        Ok(self.model.ask(py, dynamics::Dynamics::forecast_deviations)?.into_pyarray(py))
    }

    /// Intervals of the forecasts from such rows: (horizons, n, d, 2).
    fn forecast_intervals<'py>(
        &self,
        py: Python<'py>,
        rows: &Bound<'py, PyAny>,
        coverage: f64,
    ) -> PyResult<Bound<'py, PyArray4<f64>>> {
        let rows = matrix("X", rows)?;
        let rows = rows.as_array();
        Ok(self.model.ask(py, |model| model.forecast_intervals(rows, coverage))?.into_pyarray(py))
    }

    /// Forecasts by all candidates over each of the horizons from successive states with number `first` or later, or the
    /// latest, under inputs from the first of the states on if there are any: (horizons, n, d).
    #[pyo3(signature = (T, under, lag, first))]
    fn ahead<'py>(
        &self,
        py: Python<'py>,
        T: Option<&Bound<'py, PyAny>>,
        under: Option<&Bound<'py, PyAny>>,
        lag: usize,
        first: usize,
    ) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let states = T.map(|states| matrix("X", states)).transpose()?;
        let under = under.map(|inputs| matrix("inputs", inputs)).transpose()?;
        let [states, under] = [states.as_ref(), under.as_ref()].map(|rows| rows.map(|rows| rows.as_array()));
        Ok(self.model.ask(py, |model| model.ahead(states, under, lag, first))?.into_pyarray(py))
    }

    /// Intervals of these (horizons, n, d, 2).
    #[pyo3(signature = (T, under, lag, first, coverage))]
    fn ahead_intervals<'py>(
        &self,
        py: Python<'py>,
        T: Option<&Bound<'py, PyAny>>,
        under: Option<&Bound<'py, PyAny>>,
        lag: usize,
        first: usize,
        coverage: f64,
    ) -> PyResult<Bound<'py, PyArray4<f64>>> {
        let states = T.map(|states| matrix("X", states)).transpose()?;
        let under = under.map(|inputs| matrix("inputs", inputs)).transpose()?;
        let [states, under] = [states.as_ref(), under.as_ref()].map(|rows| rows.map(|rows| rows.as_array()));
        Ok(self
            .model
            .ask(py, |model| model.ahead_intervals(states, under, lag, first, coverage))?
            .into_pyarray(py))
    }

    /// Standard deviations of what comes about these (horizons, d).
    fn ahead_deviations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        Ok(self.model.ask(py, dynamics::Dynamics::ahead_deviations)?.into_pyarray(py))
    }

    /// Weights of the candidates in the forecast from the latest state (kinds, horizons, d).
    fn ahead_weights<'py>(&self, py: Python<'py>, lag: usize) -> PyResult<Bound<'py, PyArray3<f64>>> {
        Ok(self.model.ask(py, |model| model.ahead_weights(lag))?.into_pyarray(py))
    }

    /// Whether there are candidates.
    #[getter]
    fn has_candidates(&self, py: Python<'_>) -> PyResult<bool> {
        self.model.ask(py, |model| Ok(model.has_candidates()))
    }

    /// Periods found in each number of the state.
    #[getter]
    fn periods(&self, py: Python<'_>) -> PyResult<Vec<Vec<usize>>> {
        self.model.ask(py, |model| Ok(model.periods()))
    }

    /// Weights of the kinds of forecasts for each of the horizons (kinds, horizons, d).
    fn forecast_weights<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        Ok(self.model.ask(py, dynamics::Dynamics::forecast_weights)?.into_pyarray(py))
    }

    /// The latest states learned, as many as one with its delays has (span + 1, d).
    fn latest<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        Ok(self.model.ask(py, dynamics::Dynamics::latest)?.into_pyarray(py))
    }

    /// What is subtracted from each number of a state and its delays, and what this is divided by.
    #[getter]
    fn units(&self, py: Python<'_>) -> PyResult<(Vec<f64>, Vec<f64>)> {
        let model = self.model.read(py)?;
        Ok((model.units().center(), model.units().deviation()))
    }

    /// After how many steps a forecast begins again from the state forecast, as selected; 0: never.
    #[getter]
    fn reencoding(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.model.read(py)?.reencoding().every)
    }

    /// Whether scale and choice may still change.
    #[getter]
    fn is_warming_up(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.model.read(py)?.is_warming_up())
    }

    /// The specification of the operator as it was chosen, as JSON.
    #[getter]
    fn operator_spec(&self, py: Python<'_>) -> PyResult<String> {
        serde_json::to_string(self.model.read(py)?.operator().spec())
            .map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))
    }

    /// Largest similarity of each stored state to another, from 0 to 1.
    fn likeness(&self, py: Python<'_>) -> PyResult<Vec<f64>> {
        self.model.ask(py, |model| model.operator().likeness())
    }

    /// The specification as JSON.
    #[getter]
    fn spec(&self, py: Python<'_>) -> PyResult<String> {
        serde_json::to_string(self.model.read(py)?.spec())
            .map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))
    }

    /// The model as the bytes of a model file.
    #[pyo3(signature = (extra="{}"))]
    fn to_bytes<'py>(&self, py: Python<'py>, extra: &str) -> PyResult<Bound<'py, PyBytes>> {
        let extra = parse_extra(extra)?;
        let bytes = self.model.ask(py, |model| model.to_bytes(extra))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The model in these bytes, and what was stored beside it.
    #[staticmethod]
    fn from_bytes(data: &[u8]) -> PyResult<(Self, String)> {
        let (model, extra) = dynamics::Dynamics::from_bytes(data).map_err(to_python)?;
        Ok((Self::holding(model), extra.to_string()))
    }

    /// Writes a model file, in one step. Compact files of operators are the same.
    #[pyo3(signature = (path, extra="{}", compact=false))]
    fn save(&self, py: Python<'_>, path: PathBuf, extra: &str, compact: bool) -> PyResult<()> {
        let _ = compact;
        let extra = parse_extra(extra)?;
        self.model.ask(py, |model| model.save(&path, extra))
    }

    /// Reads a model file: the model, and what was stored beside it.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<(Self, String)> {
        let (model, extra) = py.detach(|| dynamics::Dynamics::load(&path)).map_err(to_python)?;
        Ok((Self::holding(model), extra.to_string()))
    }
}
