//! Arrays of numpy as views, without a copy.

use ndarray::{ArrayView2, Dimension};
use numpy::{
    PyArray, PyArrayMethods as _, PyReadonlyArray, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray3,
    PyReadwriteArray, PyReadwriteArray2, PyReadwriteArray3, PyUntypedArrayMethods as _,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyComplex, PyFloat, PyType};

/// Whether every number lies where a number may lie. It need not in a view of packed records.
fn aligned<D>(array: &Bound<'_, PyArray<f64, D>>) -> bool {
    const SIZE: usize = align_of::<f64>();
    (array.data() as usize).is_multiple_of(SIZE)
        && array.strides().iter().all(|stride| stride.unsigned_abs().is_multiple_of(SIZE))
}

/// An array of float64 of `D` dimensions, in `words` for the message.
fn array<'a, 'py, D: Dimension>(
    name: &str,
    words: &str,
    array: &'a Bound<'py, PyAny>,
) -> PyResult<&'a Bound<'py, PyArray<f64, D>>> {
    let array = array
        .cast::<PyArray<f64, D>>()
        .map_err(|_| PyTypeError::new_err(format!("{name} must be a {words}-dimensional float64 array")))?;
    if aligned(array) {
        Ok(array)
    } else {
        Err(PyValueError::new_err(format!("{name} must be aligned in memory: pass a copy")))
    }
}

fn readable<'py, D: Dimension>(
    name: &str,
    array: &Bound<'py, PyArray<f64, D>>,
) -> PyResult<PyReadonlyArray<'py, f64, D>> {
    array.try_readonly().map_err(|_| PyValueError::new_err(format!("{name} is being written elsewhere")))
}

/// A (n, d) array of float64 to read.
pub fn matrix<'py>(name: &str, value: &Bound<'py, PyAny>) -> PyResult<PyReadonlyArray2<'py, f64>> {
    readable(name, array(name, "two", value)?)
}

/// A (n, t, k) array of float64 to read.
pub fn cube<'py>(name: &str, value: &Bound<'py, PyAny>) -> PyResult<PyReadonlyArray3<'py, f64>> {
    readable(name, array(name, "three", value)?)
}

/// A (n, p) array of float64 to write.
pub fn matrix_mut<'py>(name: &str, value: &Bound<'py, PyAny>) -> PyResult<PyReadwriteArray2<'py, f64>> {
    writable(name, array(name, "two", value)?)
}

/// A (n, p, k) array of float64 to write.
pub fn cube_mut<'py>(name: &str, value: &Bound<'py, PyAny>) -> PyResult<PyReadwriteArray3<'py, f64>> {
    writable(name, array(name, "three", value)?)
}

fn writable<'py, D: Dimension>(
    name: &str,
    array: &Bound<'py, PyArray<f64, D>>,
) -> PyResult<PyReadwriteArray<'py, f64, D>> {
    array.try_readwrite().map_err(|_| PyValueError::new_err(format!("{name} cannot be written")))
}

/// A number: not a complex one, of which numpy would give the real part, nor an array of one number.
fn real(value: &Bound<'_, PyAny>) -> PyResult<f64> {
    if let Ok(number) = value.cast::<PyFloat>() {
        return Ok(number.value());
    }
    if value.is_instance_of::<PyComplex>() || value.len().is_ok() {
        return Err(PyTypeError::new_err("not a real number"));
    }
    value.extract()
}

static MASKED: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// Refuses a masked row one of whose entries is masked.
fn refuse_masked(name: &str, row: &Bound<'_, PyAny>) -> PyResult<()> {
    let mask = row.py().import("numpy.ma")?.call_method1("getmaskarray", (row,))?;
    match mask.call_method0("ravel")?.extract::<Vec<bool>>()?.iter().position(|masked| *masked) {
        Some(column) => Err(PyValueError::new_err(format!(
            "{name} is masked at row 0, column {column}: remove the row, or fill the gap before learning"
        ))),
        None => Ok(()),
    }
}

/// One row: a float64 array seen in place, or numbers gathered from any sequence.
pub enum Row<'py> {
    Array(PyReadonlyArray1<'py, f64>),
    Gathered(Vec<f64>),
    Number([f64; 1]),
}

impl<'py> Row<'py> {
    pub fn of(name: &str, value: &Bound<'py, PyAny>) -> PyResult<Self> {
        // A single target, on the way that every row of a live stream takes.
        if let Ok(number) = value.cast_exact::<pyo3::types::PyFloat>() {
            return Ok(Self::Number([number.value()]));
        }
        let masked = MASKED.import(value.py(), "numpy.ma", "MaskedArray")?;
        // What is exactly an array has no mask.
        if !value.is_exact_instance_of::<numpy::PyUntypedArray>() && value.is_instance(masked)? {
            refuse_masked(name, value)?;
        }
        if let Ok(array) = value.cast::<numpy::PyArray1<f64>>()
            && aligned(array)
        {
            let array = readable(name, array)?;
            if array.as_slice().is_ok() {
                return Ok(Self::Array(array));
            }
            return Ok(Self::Gathered(array.as_array().to_vec()));
        }
        if let Ok(number) = real(value) {
            return Ok(Self::Gathered(vec![number]));
        }
        let gathered = value
            .extract::<Vec<Bound<'py, PyAny>>>()
            .and_then(|items| items.iter().map(real).collect::<PyResult<Vec<f64>>>());
        gathered.map(Self::Gathered).map_err(|_| {
            PyTypeError::new_err(format!("{name} must be a one-dimensional sequence of real numbers"))
        })
    }

    pub fn as_slice(&self) -> &[f64] {
        match self {
            Self::Array(array) => array.as_slice().unwrap_or(&[]),
            Self::Gathered(values) => values,
            Self::Number(value) => value,
        }
    }
}

/// A row as an array of one.
pub fn one_row(values: &[f64]) -> ArrayView2<'_, f64> {
    ArrayView2::from_shape((1, values.len()), values).unwrap_or_else(|_| unreachable!("one row fits"))
}
