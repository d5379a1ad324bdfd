//! The basic recursion of the operator for Python.

use kernelstream::kernel::KernelSpec;
use kernelstream::koopman::AllPoints;
use kernelstream::learner::Schedule;
use numpy::{Complex64, IntoPyArray as _, PyArray1, PyArray2};
use pyo3::prelude::*;

use crate::convert::matrix;
use crate::shared::Shared;
use crate::{specification, to_python};

/// Stochastic gradient for the operator with every pair stored.
#[pyclass(frozen, module = "kernelstream._core")]
pub struct AllPointsKoopman {
    model: Shared<AllPoints>,
}

#[pymethods]
#[expect(non_snake_case, reason = "the names that Python users know")]
impl AllPointsKoopman {
    #[new]
    fn new(kernel_json: &str, step: f64, schedule_json: &str, regularization: f64) -> PyResult<Self> {
        let kernel = specification::<KernelSpec>("kernel", kernel_json)?;
        let schedule = specification::<Schedule>("schedule", schedule_json)?;
        let model = AllPoints::new(kernel, step, schedule, regularization).map_err(to_python)?;
        Ok(Self { model: Shared::new(model) })
    }

    /// Learns pairs, row by row.
    fn learn(&self, py: Python<'_>, X: &Bound<'_, PyAny>, X_next: &Bound<'_, PyAny>) -> PyResult<()> {
        let (x, next) = (matrix("X", X)?, matrix("X_next", X_next)?);
        let (x, next) = (x.as_array(), next.as_array());
        self.model.change(py, |model| model.learn(x, next))
    }

    /// The weights W (n, n).
    fn weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        self.model.read(py).weights().into_pyarray(py)
    }

    /// All eigenvalues (n,).
    fn eigenvalues<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<Complex64>>> {
        let spectrum = self.model.ask(py, AllPoints::spectrum)?;
        Ok(PyArray1::from_slice(py, spectrum.values()))
    }

    /// Values of the first k eigenfunctions at rows X (n, d): (n, k).
    fn eigenfunctions<'py>(
        &self,
        py: Python<'py>,
        X: &Bound<'py, PyAny>,
        k: usize,
    ) -> PyResult<Bound<'py, PyArray2<Complex64>>> {
        let x = matrix("X", X)?;
        let x = x.as_array();
        Ok(self.model.ask(py, |model| model.eigenfunctions(x, k))?.into_pyarray(py))
    }

    /// Expectations one step after rows X of functions given by their values at the outputs.
    fn expectation<'py>(
        &self,
        py: Python<'py>,
        values: &Bound<'py, PyAny>,
        X: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (values, x) = (matrix("values", values)?, matrix("X", X)?);
        let (values, x) = (values.as_array(), x.as_array());
        Ok(self.model.ask(py, |model| model.expectation(values, x))?.into_pyarray(py))
    }

    /// The stored outputs (n, d).
    fn outputs<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        self.model.read(py).points().1.into_pyarray(py)
    }
}
