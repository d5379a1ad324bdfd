//! Controllers for Python.

use std::path::PathBuf;

use kernelstream::control::{self, ControllerSpec, Policy};
use kernelstream::{Error, Persist as _};
use ndarray::s;
use numpy::{IntoPyArray as _, PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::convert::{Row, matrix, one_row};
use crate::koopman::{Koopman, undo_operator};
use crate::shared::{Learned, Shared, Undo};
use crate::{parse_extra, specification, to_python};

/// Value iteration on the conditional mean embedding of a system with inputs.
#[pyclass(frozen, module = "kernelstream._core")]
pub struct Controller {
    model: Shared<control::Controller>,
}

impl Controller {
    fn holding(controller: control::Controller) -> Self {
        Self { model: Shared::new(controller) }
    }
}

/// The policy that was kept, or that of the latest improvement.
fn policy(controller: &control::Controller, kept: bool) -> kernelstream::Result<&Policy> {
    let policy = if kept { controller.kept().map(|(policy, _)| policy) } else { controller.policy() };
    policy.ok_or(Error::NothingLearned)
}

#[pymethods]
#[expect(non_snake_case, reason = "the names that Python users know")]
impl Controller {
    #[new]
    fn new(spec_json: &str) -> PyResult<Self> {
        let spec = specification::<ControllerSpec>("controller", spec_json)?;
        spec.build().map(Self::holding).map_err(to_python)
    }

    /// Learns transitions: row i of `X_next` (n, d) is the state that followed row i of X (n, d + k), a
    /// state and what was done in it.
    #[pyo3(signature = (X, X_next, progress=None))]
    fn learn(
        &self,
        py: Python<'_>,
        X: &Bound<'_, PyAny>,
        X_next: &Bound<'_, PyAny>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (x, next) = (matrix("X", X)?, matrix("X_next", X_next)?);
        let (x, next) = (x.as_array(), next.as_array());
        self.model.learn(
            py,
            x.nrows(),
            progress,
            |controller| {
                controller.model().check_pairs(x, next)?;
                Ok(undo_operator(controller.model(), controller.model().can_diverge(), x.nrows()))
            },
            |controller, rows, should_continue| {
                if rows.is_empty() {
                    controller.flush_while(|| should_continue(0))?;
                    return Ok(Learned { rows: 0, busy: controller.model().is_draining() });
                }
                let (x, next) = (x.slice(s![rows.clone(), ..]), next.slice(s![rows, ..]));
                let rows = controller.learn_while(x, next, should_continue)?;
                Ok(Learned { rows, busy: controller.model().is_draining() })
            },
        )
    }

    /// Learns the transitions that wait in the replay buffer.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.model.learn(
            py,
            0,
            None,
            |controller| Ok(Undo::of(controller.model().can_diverge(), usize::MAX)),
            |controller, _, should_continue| {
                let busy = !controller.flush_while(|| should_continue(0))?;
                Ok(Learned { rows: 0, busy })
            },
        )
    }

    /// Iterates the value function with the costs (m, actions) at the stored next states, of which those
    /// in `ends` (m,) cost nothing more: sweeps made, the last one's largest change, whether that is
    /// little enough, and the smallest and largest value there can be.
    #[pyo3(signature = (costs, ends=None))]
    fn improve(
        &self,
        py: Python<'_>,
        costs: &Bound<'_, PyAny>,
        ends: Option<Vec<bool>>,
    ) -> PyResult<(usize, f64, bool, f64, f64)> {
        let costs = matrix("costs", costs)?;
        let costs = costs.as_array();
        let made = self.model.revise(
            py,
            |controller| controller.improved(costs, ends.as_deref()),
            control::Controller::take,
        )?;
        Ok((made.sweeps, made.change, made.converged, made.bounds.0, made.bounds.1))
    }

    /// Keeps the latest policy if this score is the highest so far; whether it did.
    fn keep(&self, py: Python<'_>, score: f64) -> PyResult<bool> {
        self.model.change(py, |controller| controller.keep(score))
    }

    /// What each action leads to from rows X (n, d), given the costs (n, actions): (n, actions).
    #[pyo3(signature = (X, costs, kept=false))]
    fn action_values<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        costs: &Bound<'py, PyAny>,
        kept: bool,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (x, costs) = (matrix("X", X)?, matrix("costs", costs)?);
        let (x, costs) = (x.as_array(), costs.as_array());
        let values = self.model.ask(py, |controller| policy(controller, kept)?.action_values(x, costs))?;
        Ok(values.into_pyarray(py))
    }

    /// Values of rows X (n, d), given the costs (n, actions): (n,).
    #[pyo3(signature = (X, costs, kept=false))]
    fn values<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        costs: &Bound<'py, PyAny>,
        kept: bool,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (x, costs) = (matrix("X", X)?, matrix("costs", costs)?);
        let (x, costs) = (x.as_array(), costs.as_array());
        let values = self.model.ask(py, |controller| policy(controller, kept)?.values(x, costs))?;
        Ok(values.into_pyarray(py))
    }

    /// The best action for each of rows X (n, d), given the costs (n, actions), as its number: (n,).
    #[pyo3(signature = (X, costs, kept=false))]
    fn greedy<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        costs: &Bound<'py, PyAny>,
        kept: bool,
    ) -> PyResult<Bound<'py, PyArray1<usize>>> {
        let (x, costs) = (matrix("X", X)?, matrix("costs", costs)?);
        let (x, costs) = (x.as_array(), costs.as_array());
        let best = self.model.ask(py, |controller| policy(controller, kept)?.greedy(x, costs))?;
        Ok(best.into_pyarray(py))
    }

    /// The best action for one state, given the costs of all, as its number.
    #[pyo3(signature = (x, costs, kept=false))]
    fn greedy_one(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        costs: &Bound<'_, PyAny>,
        kept: bool,
    ) -> PyResult<usize> {
        let (x, costs) = (Row::of("x", x)?, Row::of("costs", costs)?);
        let controller = self.model.read(py)?;
        let best = policy(&controller, kept)
            .and_then(|p| p.greedy(one_row(x.as_slice()), one_row(costs.as_slice())));
        best.map(|best| best[0]).map_err(to_python)
    }

    /// The stored next states (m, d).
    fn states<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        Ok(self.model.read(py)?.states().into_pyarray(py))
    }

    /// Values of the stored next states as of the latest improvement.
    fn state_values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(PyArray1::from_slice(py, self.model.read(py)?.values()))
    }

    /// A copy of the operator that was learned.
    fn operator(&self, py: Python<'_>) -> PyResult<Koopman> {
        Ok(Koopman::holding(self.model.read(py)?.model().clone()))
    }

    /// Whether there is a policy of an improvement.
    #[getter]
    fn has_policy(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.model.read(py)?.policy().is_some())
    }

    /// Score of the policy that was kept; None if none was.
    #[getter]
    fn kept_score(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        Ok(self.model.read(py)?.kept().map(|(_, score)| score))
    }

    /// Transitions received so far.
    #[getter]
    fn n_seen(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.model.read(py)?.model().n_seen())
    }

    /// Transitions that wait in the replay buffer.
    #[getter]
    fn n_pending(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.model.read(py)?.model().n_pending())
    }

    /// Stored states with what was done in them.
    #[getter]
    fn n_stored(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.model.read(py)?.model().n_stored().0)
    }

    /// Stored next states.
    #[getter]
    fn n_stored_next(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.model.read(py)?.model().n_stored().1)
    }

    /// Features of a state; None before the first.
    #[getter]
    fn n_features(&self, py: Python<'_>) -> PyResult<Option<usize>> {
        Ok(self.model.read(py)?.model().n_features())
    }

    /// The specification as JSON.
    #[getter]
    fn spec(&self, py: Python<'_>) -> PyResult<String> {
        serde_json::to_string(self.model.read(py)?.spec())
            .map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))
    }

    /// The controller as the bytes of a model file.
    #[pyo3(signature = (extra="{}"))]
    fn to_bytes<'py>(&self, py: Python<'py>, extra: &str) -> PyResult<Bound<'py, PyBytes>> {
        let extra = parse_extra(extra)?;
        let bytes = self.model.ask(py, |controller| controller.to_bytes(extra))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The controller in these bytes, and what was stored beside it.
    #[staticmethod]
    fn from_bytes(data: &[u8]) -> PyResult<(Self, String)> {
        let (controller, extra) = control::Controller::from_bytes(data).map_err(to_python)?;
        Ok((Self::holding(controller), extra.to_string()))
    }

    /// Writes a model file, in one step. Compact files of operators are the same.
    #[pyo3(signature = (path, extra="{}", compact=false))]
    fn save(&self, py: Python<'_>, path: PathBuf, extra: &str, compact: bool) -> PyResult<()> {
        let _ = compact;
        let extra = parse_extra(extra)?;
        self.model.ask(py, |controller| controller.save(&path, extra))
    }

    /// Reads a model file: the controller, and what was stored beside it.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<(Self, String)> {
        let (controller, extra) = py.detach(|| control::Controller::load(&path)).map_err(to_python)?;
        Ok((Self::holding(controller), extra.to_string()))
    }
}
