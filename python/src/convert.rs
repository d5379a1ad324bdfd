//! Arrays of numpy as views, without a copy.

use numpy::{PyArrayMethods as _, PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray2};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// A (n, d) array of float64 to read.
pub fn matrix<'py>(name: &str, array: &Bound<'py, PyAny>) -> PyResult<PyReadonlyArray2<'py, f64>> {
    let array = array
        .cast::<numpy::PyArray2<f64>>()
        .map_err(|_| PyTypeError::new_err(format!("{name} must be a two-dimensional float64 array")))?;
    array.try_readonly().map_err(|_| PyValueError::new_err(format!("{name} is being written elsewhere")))
}

/// A (n, p) array of float64 to write.
pub fn matrix_mut<'py>(name: &str, array: &Bound<'py, PyAny>) -> PyResult<PyReadwriteArray2<'py, f64>> {
    let array = array
        .cast::<numpy::PyArray2<f64>>()
        .map_err(|_| PyTypeError::new_err(format!("{name} must be a two-dimensional float64 array")))?;
    array.try_readwrite().map_err(|_| PyValueError::new_err(format!("{name} cannot be written")))
}

/// One row: a float64 array seen in place, or numbers gathered from any sequence.
pub enum Row<'py> {
    Array(PyReadonlyArray1<'py, f64>),
    Gathered(Vec<f64>),
}

impl<'py> Row<'py> {
    pub fn of(name: &str, value: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = value.cast::<numpy::PyArray1<f64>>() {
            let array = array
                .try_readonly()
                .map_err(|_| PyValueError::new_err(format!("{name} is being written elsewhere")))?;
            if array.as_slice().is_ok() {
                return Ok(Self::Array(array));
            }
            return Ok(Self::Gathered(array.as_array().to_vec()));
        }
        if let Ok(number) = value.extract::<f64>() {
            return Ok(Self::Gathered(vec![number]));
        }
        value.extract::<Vec<f64>>().map(Self::Gathered).map_err(|_| {
            PyTypeError::new_err(format!("{name} must be a one-dimensional sequence of real numbers"))
        })
    }

    pub fn as_slice(&self) -> &[f64] {
        match self {
            Self::Array(array) => array.as_slice().unwrap_or(&[]),
            Self::Gathered(values) => values,
        }
    }
}
