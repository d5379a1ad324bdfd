//! Truncated decompositions under low-rank updates for Python.

use kernelstream::linalg::tisvd::{SvdParts, default_extra};
use kernelstream::linalg::{self, SparseSketch, to_array};
use ndarray::ArrayView2;
use numpy::{IntoPyArray as _, PyArray1, PyArray2};
use pyo3::prelude::*;

use crate::convert::{Row, matrix};
use crate::shared::Shared;
use crate::to_python;

/// The largest singular triples of a matrix that changes.
#[pyclass(frozen, module = "kernelstream._core")]
pub struct TruncatedSVD {
    model: Shared<linalg::TruncatedSvd>,
}

/// The numbers beside the arrays: rank, extra triples, what was dropped, updates.
type Counts = (usize, usize, f64, u64);

#[pymethods]
#[expect(non_snake_case, reason = "the names that Python users know")]
impl TruncatedSVD {
    /// Decomposes a matrix A (m, n).
    #[new]
    #[pyo3(signature = (A, rank, n_oversamples=None))]
    fn new(
        py: Python<'_>,
        A: &Bound<'_, PyAny>,
        rank: usize,
        n_oversamples: Option<usize>,
    ) -> PyResult<Self> {
        let n_oversamples = n_oversamples.unwrap_or_else(|| default_extra(rank));
        let a = matrix("A", A)?;
        let a = a.as_array();
        let made = py.detach(|| linalg::TruncatedSvd::with_extra(a, rank, n_oversamples));
        Ok(Self { model: Shared::new(made.map_err(to_python)?) })
    }

    /// Restores all triples and counts, as `parts` returns them.
    #[staticmethod]
    fn from_parts(
        u: &Bound<'_, PyAny>,
        s: &Bound<'_, PyAny>,
        v: &Bound<'_, PyAny>,
        counts: Counts,
    ) -> PyResult<Self> {
        let (u, s, v) = (matrix("u", u)?, Row::of("s", s)?, matrix("v", v)?);
        let (rank, extra, dropped, rounds) = counts;
        let (u, v) = (u.as_array(), v.as_array());
        let parts = SvdParts { rank, extra, u, s: s.as_slice(), v, dropped, rounds };
        Ok(Self { model: Shared::new(linalg::TruncatedSvd::from_parts(parts).map_err(to_python)?) })
    }

    /// All triples kept and the numbers beside them.
    #[expect(clippy::type_complexity, reason = "four things")]
    fn parts<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f64>>, Counts)>
    {
        let model = self.model.read(py)?;
        let (u, s, v) = model.kept();
        Ok((
            to_array(u).into_pyarray(py),
            PyArray1::from_slice(py, s),
            to_array(v).into_pyarray(py),
            (model.rank(), model.extra(), model.dropped(), model.rounds()),
        ))
    }

    /// A <- forgetting A + U V' for U (m, r) and V (n, r).
    fn update(
        &self,
        py: Python<'_>,
        U: &Bound<'_, PyAny>,
        V: &Bound<'_, PyAny>,
        forgetting: f64,
    ) -> PyResult<()> {
        let (u, v) = (matrix("U", U)?, matrix("V", V)?);
        let (u, v) = (u.as_array(), v.as_array());
        self.model.change(py, |model| model.update(u, v, forgetting))
    }

    /// A <- [forgetting A; rows].
    fn append_rows(&self, py: Python<'_>, rows: &Bound<'_, PyAny>, forgetting: f64) -> PyResult<()> {
        let rows = matrix("rows", rows)?;
        let rows = rows.as_array();
        self.model.change(py, |model| model.append_rows(rows, forgetting))
    }

    /// A <- [forgetting A, columns].
    fn append_columns(&self, py: Python<'_>, columns: &Bound<'_, PyAny>, forgetting: f64) -> PyResult<()> {
        let columns = matrix("columns", columns)?;
        let columns = columns.as_array();
        self.model.change(py, |model| model.append_columns(columns, forgetting))
    }

    /// Left singular vectors (m, k).
    #[getter]
    fn u<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let model = self.model.read(py)?;
        Ok(to_array(model.u()).into_pyarray(py))
    }

    /// Singular values (k,).
    #[getter]
    fn s<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(PyArray1::from_slice(py, self.model.read(py)?.s()))
    }

    /// Right singular vectors (n, k).
    #[getter]
    fn v<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let model = self.model.read(py)?;
        Ok(to_array(model.v()).into_pyarray(py))
    }

    /// Shape (m, n) of the matrix.
    #[getter]
    fn shape(&self, py: Python<'_>) -> PyResult<(usize, usize)> {
        Ok(self.model.read(py)?.shape())
    }

    /// A bound on the error.
    #[getter]
    fn error_bound(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self.model.read(py)?.error_bound())
    }

    /// The larger one of |U'U - I| and |V'V - I|.
    fn orthogonality(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self.model.read(py)?.orthogonality())
    }

    /// U diag(s) V' (m, n).
    fn reconstruct<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        Ok(self.model.ask(py, |model| Ok(model.reconstruct()))?.into_pyarray(py))
    }
}

/// The largest eigenpairs of a positive semidefinite matrix that changes.
#[pyclass(frozen, module = "kernelstream._core")]
pub struct TruncatedEigen {
    model: Shared<linalg::TruncatedEigen>,
}

#[pymethods]
#[expect(non_snake_case, reason = "the names that Python users know")]
impl TruncatedEigen {
    /// Decomposes a symmetric matrix A (n, n).
    #[new]
    #[pyo3(signature = (A, rank, n_oversamples=None))]
    fn new(
        py: Python<'_>,
        A: &Bound<'_, PyAny>,
        rank: usize,
        n_oversamples: Option<usize>,
    ) -> PyResult<Self> {
        let n_oversamples = n_oversamples.unwrap_or_else(|| default_extra(rank));
        let a = matrix("A", A)?;
        let a = a.as_array();
        let made =
            py.detach(|| linalg::TruncatedEigen::with_extra(a, rank, n_oversamples)).map_err(to_python)?;
        Ok(Self { model: Shared::new(made) })
    }

    /// Restores all pairs, rank and number of updates, as `parts` returns them.
    #[staticmethod]
    fn from_parts(
        vectors: &Bound<'_, PyAny>,
        values: &Bound<'_, PyAny>,
        counts: (usize, u64),
    ) -> PyResult<Self> {
        let (vectors, values) = (matrix("vectors", vectors)?, Row::of("values", values)?);
        let (rank, rounds) = counts;
        let made = linalg::TruncatedEigen::from_parts(rank, vectors.as_array(), values.as_slice(), rounds);
        Ok(Self { model: Shared::new(made.map_err(to_python)?) })
    }

    /// A <- A + D M D' for D (n, r) and M (r, r).
    fn update(&self, py: Python<'_>, D: &Bound<'_, PyAny>, M: &Bound<'_, PyAny>) -> PyResult<()> {
        let (d, m) = (matrix("D", D)?, matrix("M", M)?);
        let (d, m) = (d.as_array(), m.as_array());
        self.model.change(py, |model| model.update(d, m))
    }

    /// Eigenvalues (k,).
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(PyArray1::from_slice(py, self.model.read(py)?.values()))
    }

    /// Eigenvectors (n, k).
    #[getter]
    fn vectors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let model = self.model.read(py)?;
        Ok(to_array(model.vectors()).into_pyarray(py))
    }

    /// All vectors and values kept, rank and number of updates.
    #[expect(clippy::type_complexity, reason = "three things")]
    fn parts<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>, (usize, u64))> {
        let model = self.model.read(py)?;
        let (vectors, values) = model.kept();
        Ok((
            to_array(vectors).into_pyarray(py),
            PyArray1::from_slice(py, values),
            (model.rank(), model.rounds()),
        ))
    }

    /// |V'V - I|
    fn orthogonality(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self.model.read(py)?.orthogonality())
    }

    /// V diag(values) V' (n, n).
    fn reconstruct<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        Ok(self.model.ask(py, |model| Ok(model.reconstruct()))?.into_pyarray(py))
    }
}

/// `S'A` (width, d) for A (n, d), whose first row has number `start`.
#[pyfunction]
#[expect(non_snake_case, reason = "the names that Python users know")]
pub fn sparse_sketch<'py>(
    py: Python<'py>,
    A: &Bound<'py, PyAny>,
    width: usize,
    blocks: usize,
    seed: u64,
    start: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let sketch = SparseSketch::new(width, blocks, seed).map_err(to_python)?;
    let a = matrix("A", A)?;
    let a: ArrayView2<'_, f64> = a.as_array();
    Ok(py.detach(|| sketch.apply_from(start, a)).into_pyarray(py))
}
