//! Arguments: defaults and validation.

use ndarray::ArrayView2;

use super::frame::Frame;
use crate::error::{Error, Result, in_range};
use crate::linalg::arrays::from_array;

/// Default number of triples or pairs kept beyond those returned: half as many, and at least 10.
#[must_use]
pub fn default_extra(rank: usize) -> usize {
    (rank / 2).max(10)
}

/// Largest entry of a matrix or an update.
const LARGEST: f64 = 1e60;

/// Largest deviation of given vectors from orthonormality.
const ORTHONORMAL: f64 = 1e-8;

pub(super) fn checked_rank(rank: usize) -> Result<usize> {
    in_range("rank", rank, rank > 0, "1 or more")
}

/// Refuses entries that are not finite or too large, naming the first.
pub(super) fn check_entries(what: &'static str, matrix: ArrayView2<'_, f64>) -> Result<()> {
    for (row, entries) in matrix.rows().into_iter().enumerate() {
        for (column, &value) in entries.iter().enumerate() {
            if !value.is_finite() {
                return Err(Error::NotFinite { what, row, column, value });
            }
            if value.abs() > LARGEST {
                return Err(Error::TooLarge { what, row, column: Some(column), magnitude: value.abs() });
            }
        }
    }
    Ok(())
}

/// Error for an update that overflows: names its largest row.
pub(super) fn too_large(what: &'static str, matrix: ArrayView2<'_, f64>) -> Error {
    let sizes = matrix.rows().into_iter().map(|row| row.iter().fold(0.0_f64, |most, v| most.max(v.abs())));
    let (row, magnitude) =
        sizes.enumerate().fold((0, 0.0), |most, (i, size)| if size > most.1 { (i, size) } else { most });
    Error::TooLarge { what, row, column: None, magnitude }
}

pub(super) fn check_shape(
    what: &'static str,
    matrix: ArrayView2<'_, f64>,
    needed: (usize, usize),
    why: &'static str,
) -> Result<()> {
    if matrix.dim() == needed {
        return Ok(());
    }
    Err(Error::Shape { what, found: matrix.dim(), needed, why })
}

/// Given columns, if they are orthonormal.
pub(super) fn orthonormal(what: &'static str, columns: ArrayView2<'_, f64>) -> Result<Frame> {
    check_entries(what, columns)?;
    in_range(what, columns.dim(), columns.ncols() <= columns.nrows(), "no more columns than rows")?;
    let frame = Frame::new(from_array(columns).as_ref(), columns.ncols());
    let defect = frame.defect();
    in_range(what, defect, defect <= ORTHONORMAL, "orthonormal columns (to 1e-8)")?;
    Ok(frame)
}

/// Validates given values.
pub(super) fn descending(what: &'static str, values: &[f64], count: usize) -> Result<Vec<f64>> {
    let sound = values.len() == count
        && values.iter().all(|v| (0.0..=LARGEST).contains(v))
        && values.is_sorted_by(|a, b| a >= b);
    in_range(what, values, sound, "zero or positive numbers, largest first, one for each vector")?;
    Ok(values.to_vec())
}
