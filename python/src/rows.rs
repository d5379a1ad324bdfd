//! Rows that Python has: float64 arrays, or sparse matrices of scipy, of which a block at a time is made dense.

use std::ops::Range;

use kernelstream::Result;
use ndarray::{Array2, ArrayView2, CowArray, Ix2, s};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::IntoPyDict as _;

use crate::convert::matrix;

/// Numbers in a block that is asked at once: enough for several threads, of rows with ten thousand columns too.
const ASKED: usize = 1 << 23;

/// Numbers and rows in a block that is learned: enough for matrix products, of rows with ten thousand columns too, and
/// little to be made dense again, should the lock be released after a few rows.
const LEARNED: (usize, usize) = (1 << 20, 1024);

/// Rows that models learn together, where they can.
const TOGETHER: usize = 48;

/// Rows (n, d) as Python holds them.
pub enum Rows<'py> {
    Dense(PyReadonlyArray2<'py, f64>),
    Sparse {
        starts: PyReadonlyArray1<'py, i64>,
        columns: PyReadonlyArray1<'py, i64>,
        values: PyReadonlyArray1<'py, f64>,
        width: usize,
    },
}

impl<'py> Rows<'py> {
    /// A float64 array, or a matrix of scipy in its format "csr".
    pub fn of(name: &str, value: &Bound<'py, PyAny>) -> PyResult<Self> {
        if value.is_instance_of::<numpy::PyUntypedArray>() || !value.hasattr("indptr")? {
            return matrix(name, value).map(Self::Dense);
        }
        let whole = |part: &str| -> PyResult<PyReadonlyArray1<'py, i64>> {
            let uncopied = [("copy", false)].into_py_dict(value.py())?;
            let array = value.getattr(part)?.call_method("astype", ("int64",), Some(&uncopied))?;
            array.extract()
        };
        let (rows, width) = value.getattr("shape")?.extract::<(usize, usize)>()?;
        let values: PyReadonlyArray1<'py, f64> = value
            .getattr("data")?
            .extract()
            .map_err(|_| PyTypeError::new_err(format!("{name} must be a sparse matrix of float64")))?;
        let (starts, columns) = (whole("indptr")?, whole("indices")?);
        let sound = matches!((starts.as_slice(), columns.as_slice(), values.as_slice()), (Ok(starts), Ok(columns), Ok(values))
            if starts.len() == rows + 1
                && starts.is_sorted()
                && starts.iter().all(|start| usize::try_from(*start).is_ok_and(|start| start <= columns.len()))
                && columns.len() == values.len()
                && columns.iter().all(|column| usize::try_from(*column).is_ok_and(|column| column < width)));
        if !sound {
            return Err(PyValueError::new_err(format!("{name} is not a sound sparse matrix of rows")));
        }
        Ok(Self::Sparse { starts, columns, values, width })
    }

    /// The same, for threads that are detached from the interpreter.
    pub fn view(&self) -> View<'_> {
        match self {
            Self::Dense(array) => View::Dense(array.as_array()),
            Self::Sparse { starts, columns, values, width } => View::Sparse {
                starts: starts.as_slice().unwrap_or(&[0]),
                columns: columns.as_slice().unwrap_or_default(),
                values: values.as_slice().unwrap_or_default(),
                width: *width,
            },
        }
    }
}

/// Rows (n, d) in memory.
#[derive(Clone, Copy)]
pub enum View<'a> {
    Dense(ArrayView2<'a, f64>),
    /// The places and values of row `i` are those from `starts[i]` to `starts[i + 1]`.
    Sparse {
        starts: &'a [i64],
        columns: &'a [i64],
        values: &'a [f64],
        width: usize,
    },
}

impl<'a> View<'a> {
    pub fn n_rows(&self) -> usize {
        match self {
            Self::Dense(array) => array.nrows(),
            Self::Sparse { starts, .. } => starts.len() - 1,
        }
    }

    /// Most rows to be learned at once.
    pub fn part_len(&self) -> usize {
        match self {
            Self::Dense(array) => array.nrows().max(1),
            Self::Sparse { width, .. } => {
                let most = (LEARNED.0 / width.max(&1)).clamp(1, LEARNED.1);
                if most > TOGETHER { most / TOGETHER * TOGETHER } else { most }
            }
        }
    }

    /// Some of the rows.
    pub fn dense(&self, rows: Range<usize>) -> CowArray<'a, f64, Ix2> {
        match *self {
            Self::Dense(array) => CowArray::from(array.slice_move(s![rows, ..])),
            Self::Sparse { starts, columns, values, width } => {
                let mut block = Array2::zeros((rows.len(), width));
                for (ends, mut row) in starts[rows.start..=rows.end].windows(2).zip(block.rows_mut()) {
                    let places = index(ends[0])..index(ends[1]);
                    for (column, value) in columns[places.clone()].iter().zip(&values[places]) {
                        row[index(*column)] += value;
                    }
                }
                CowArray::from(block)
            }
        }
    }

    /// What `answer` gives for all rows, which it is asked a block at a time if they are sparse.
    pub fn ask(&self, answer: impl Fn(ArrayView2<'_, f64>) -> Result<Array2<f64>>) -> Result<Array2<f64>> {
        let (n, size) = match self {
            Self::Dense(array) => return answer(*array),
            Self::Sparse { starts, width, .. } => (starts.len() - 1, (ASKED / width.max(&1)).max(1)),
        };
        let mut all = answer(self.dense(0..size.min(n)).view())?;
        if size >= n {
            return Ok(all);
        }
        let first = std::mem::take(&mut all);
        all = Array2::zeros((n, first.ncols()));
        all.slice_mut(s![..size, ..]).assign(&first);
        for start in (size..n).step_by(size) {
            let rows = start..n.min(start + size);
            let part = answer(self.dense(rows.clone()).view()).map_err(|error| error.shifted(start))?;
            all.slice_mut(s![rows, ..]).assign(&part);
        }
        Ok(all)
    }
}

/// A place, which was checked.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative and in memory")]
fn index(place: i64) -> usize {
    place as usize
}
