//! A stream learner for Python.

use std::path::PathBuf;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use kernelstream::stream::{AnyStream, ModelSpec};
use numpy::{IntoPyArray as _, PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::sync::RwLockExt as _;
use pyo3::types::PyBytes;

use crate::convert::{Row, matrix, matrix_mut};
use crate::{specification, to_python};

/// How often long work lets other threads at the model, looks at Ctrl-C and tells its progress.
pub(crate) const BREATH: Duration = Duration::from_millis(100);

/// Most rows learned between two such breaths.
pub(crate) const ROWS_PER_BREATH: usize = 8192;

/// Rows learned between two looks at the clock.
pub(crate) const ROWS_PER_LOOK: usize = 16;

/// Kernel, basis and learner as one object that learns a stream.
#[pyclass(frozen, module = "kernelstream._core")]
pub struct Regressor {
    model: RwLock<AnyStream>,
}

impl Regressor {
    fn holding(model: AnyStream) -> Self {
        Self { model: RwLock::new(model) }
    }

    // A model is never left half changed by the crate, so a lock whose holder panicked still
    // holds a sound one.
    fn read(&self, py: Python<'_>) -> RwLockReadGuard<'_, AnyStream> {
        self.model.read_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, py: Python<'_>) -> RwLockWriteGuard<'_, AnyStream> {
        self.model.write_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }
}

/// What goes beside a model in its file.
pub(crate) fn parse_extra(extra: &str) -> PyResult<serde_json::Value> {
    specification("extra", extra)
}

#[pymethods]
impl Regressor {
    #[new]
    fn new(spec_json: &str) -> PyResult<Self> {
        let spec = specification::<ModelSpec>("model", spec_json)?;
        spec.build().map(Self::holding).map_err(to_python)
    }

    /// Learns rows X (n, d) with targets y (n, p); forecasts made before learning go to `forecasts`.
    #[pyo3(signature = (X, y, forecasts=None, progress=None))]
    #[expect(non_snake_case, reason = "the name that Python users know")]
    fn learn(
        &self,
        py: Python<'_>,
        X: &Bound<'_, PyAny>,
        y: &Bound<'_, PyAny>,
        forecasts: Option<&Bound<'_, PyAny>>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (x, y) = (matrix("X", X)?, matrix("y", y)?);
        let mut forecasts = forecasts.map(|array| matrix_mut("forecasts", array)).transpose()?;
        let (x, y) = (x.as_array(), y.as_array());
        let mut out = forecasts.as_mut().map(numpy::PyReadwriteArray::as_array_mut);
        if let Some(out) = &out
            && out.dim() != y.dim()
        {
            return Err(pyo3::exceptions::PyValueError::new_err("forecasts must have the shape of y"));
        }
        // The lock is held from one breath to the next only: other threads may forecast in between,
        // and the progress callable may ask this very model.
        let before = {
            let guard = self.read(py);
            let model = &*guard;
            py.detach(|| model.check(x, y)).map_err(to_python)?;
            (model.n_outputs().is_none() || model.learner().can_diverge()).then(|| model.clone())
        };
        let (mut done, mut told, mut last) = (0, 0, Instant::now());
        while done < x.nrows() {
            let rows = ndarray::s![done..x.nrows().min(done + ROWS_PER_BREATH), ..];
            let mut guard = self.write(py);
            let model = &mut *guard;
            let learned = py.detach(|| {
                let out = out.as_mut().map(|out| out.slice_mut(rows));
                model.learn_while(x.slice(rows), y.slice(rows), out, |i| {
                    i == 0 || i % ROWS_PER_LOOK != 0 || last.elapsed() < BREATH
                })
            });
            match learned {
                Ok(rows) => done += rows,
                Err(error) => {
                    if let Some(before) = before {
                        *guard = before;
                    }
                    return Err(to_python(error.shifted(done)));
                }
            }
            drop(guard);
            if last.elapsed() >= BREATH {
                tell(py, progress, done)?;
                (told, last) = (done, Instant::now());
            }
        }
        if told < done { tell(py, progress, done) } else { Ok(()) }
    }

    /// Forecasts for rows X (n, d), as the model stands (n, p).
    #[expect(non_snake_case, reason = "the name that Python users know")]
    fn predict<'py>(&self, py: Python<'py>, X: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let x = matrix("X", X)?;
        let x = x.as_array();
        let guard = self.read(py);
        let model = &*guard;
        let out = py.detach(|| model.predict(x)).map_err(to_python)?;
        Ok(out.into_pyarray(py))
    }

    /// Coordinates of rows X (n, d) in the basis (n, m).
    #[expect(non_snake_case, reason = "the name that Python users know")]
    fn transform<'py>(&self, py: Python<'py>, X: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let x = matrix("X", X)?;
        let x = x.as_array();
        let guard = self.read(py);
        let model = &*guard;
        let out = py.detach(|| model.transform(x)).map_err(to_python)?;
        Ok(out.into_pyarray(py))
    }

    /// Learns one row.
    fn learn_one(&self, py: Python<'_>, x: &Bound<'_, PyAny>, y: &Bound<'_, PyAny>) -> PyResult<()> {
        let (x, y) = (Row::of("x", x)?, Row::of("y", y)?);
        self.write(py).learn_one(x.as_slice(), y.as_slice()).map_err(to_python)
    }

    /// The forecast for one row: a number, or an array if there are several outputs.
    fn predict_one<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let x = Row::of("x", x)?;
        let mut model = self.write(py);
        match model.predict_one(x.as_slice()).map_err(to_python)? {
            [single] => Ok(single.into_pyobject(py)?.into_any()),
            several => Ok(PyArray1::from_slice(py, several).into_any()),
        }
    }

    /// The stored points (m, d).
    fn dictionary<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        self.read(py).dictionary().into_pyarray(py)
    }

    /// Rows learned so far.
    #[getter]
    fn n_seen(&self, py: Python<'_>) -> u64 {
        self.read(py).n_seen()
    }

    /// Points stored so far.
    #[getter]
    fn n_stored(&self, py: Python<'_>) -> usize {
        self.read(py).n_stored()
    }

    /// Features of a row; None before the first.
    #[getter]
    fn n_features(&self, py: Python<'_>) -> Option<usize> {
        self.read(py).n_features()
    }

    /// Outputs; None before the first row.
    #[getter]
    fn n_outputs(&self, py: Python<'_>) -> Option<usize> {
        self.read(py).n_outputs()
    }

    /// The specification as JSON.
    #[getter]
    fn spec(&self, py: Python<'_>) -> PyResult<String> {
        serde_json::to_string(&self.read(py).spec())
            .map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))
    }

    /// The model as the bytes of a model file.
    #[pyo3(signature = (extra="{}"))]
    fn to_bytes<'py>(&self, py: Python<'py>, extra: &str) -> PyResult<Bound<'py, PyBytes>> {
        let extra = parse_extra(extra)?;
        let guard = self.read(py);
        let model = &*guard;
        let bytes = py.detach(|| model.to_bytes(extra)).map_err(to_python)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The model in these bytes, and what was stored beside it.
    #[staticmethod]
    fn from_bytes(data: &[u8]) -> PyResult<(Self, String)> {
        let (model, extra) = AnyStream::from_bytes(data).map_err(to_python)?;
        Ok((Self::holding(model), extra.to_string()))
    }

    /// Writes a model file, in one step.
    #[pyo3(signature = (path, extra="{}"))]
    fn save(&self, py: Python<'_>, path: PathBuf, extra: &str) -> PyResult<()> {
        let extra = parse_extra(extra)?;
        let guard = self.read(py);
        let model = &*guard;
        py.detach(|| model.save(&path, extra)).map_err(to_python)
    }

    /// Reads a model file: the model, and what was stored beside it.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<(Self, String)> {
        let (model, extra) = py.detach(|| AnyStream::load(&path)).map_err(to_python)?;
        Ok((Self::holding(model), extra.to_string()))
    }
}

/// Looks at Ctrl-C, and tells how many rows are done.
pub(crate) fn tell(py: Python<'_>, progress: Option<&Bound<'_, PyAny>>, done: usize) -> PyResult<()> {
    py.check_signals()?;
    match progress {
        Some(callable) => callable.call1((done,)).map(|_| ()),
        None => Ok(()),
    }
}
