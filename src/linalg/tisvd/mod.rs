//! Truncated decompositions under low-rank updates.
//!
//! [`TruncatedSvd`] follows `A + U V'` for any matrix, [`TruncatedEigen`] follows `A + D M D'` for a
//! positive semidefinite one; [`TruncatedSvd`] also takes rows and columns at the border of `A`. An
//! update of rank `r` costs `O((m + n) (k + r)^2 + (k + r)^3)` for the `k` triples kept of an (m, n)
//! matrix, whatever came before, and is exact for the matrix kept; then all but the `k` largest
//! values are dropped.
//!
//! Source: Wen, Zhang, Wei, Hou, Li and Zhang, "Fast second-order online kernel learning through
//! incremental matrix sketching and decomposition", 2024, Algorithm 2 (TISVD), after Brand, "Fast
//! low-rank modifications of the thin singular value decomposition", 2006. Departures, each of which
//! the printed algorithm needs on a nearly singular matrix, where it loses all orthogonality within
//! tens of updates:
//!
//! - new directions are projected on the complement of the old ones until what is left is orthogonal
//!   to rounding (twice, and again where a projection takes more than half away); what vanishes is
//!   no direction, and adds no row to the small matrix;
//! - every [`REPAIR`] updates the vectors, orthonormal to about 1e-13, are made so to rounding by
//!   one step towards the nearest orthonormal matrix, so the error does not add up over any stream;
//! - a symmetric matrix gets the symmetric update, whose vectors are one set and whose values cannot
//!   change sides: the printed one yields pairs with `u . v < 0`, of which the root is no feature;
//! - the cost of rotating the vectors is `O(n k^2)`, not `O(n k)` as printed.

mod core;
mod frame;
mod general;
mod symmetric;
#[cfg(test)]
mod tests;

pub use general::{SvdParts, TruncatedSvd};
pub use symmetric::TruncatedEigen;

use faer::{Mat, MatRef};
use ndarray::{Array2, ArrayView2};

use crate::error::{Error, Result, in_range};

/// Updates between two repairs of what rounding does to orthogonality.
pub const REPAIR: u64 = 64;

/// How many triples or pairs are kept beyond those shown, if nothing else is said: half as many, and 10
/// at least.
#[must_use]
pub fn default_extra(rank: usize) -> usize {
    (rank / 2).max(10)
}

/// Largest entry of a matrix or an update.
const LARGEST: f64 = 1e60;

/// How far vectors that are handed in may be from orthonormal.
const ORTHONORMAL: f64 = 1e-8;

fn checked_rank(rank: usize) -> Result<usize> {
    in_range("rank", rank, rank > 0, "1 or more")
}

/// Refuses entries that are not finite or too large, naming the first.
fn check_entries(what: &'static str, matrix: ArrayView2<'_, f64>) -> Result<()> {
    for (row, entries) in matrix.rows().into_iter().enumerate() {
        for (column, &value) in entries.iter().enumerate() {
            if !value.is_finite() {
                return Err(Error::NotFinite { what, row, column, value });
            }
            if value.abs() > LARGEST {
                return Err(Error::TooLarge { what, row, magnitude: value.abs() });
            }
        }
    }
    Ok(())
}

/// What to say of an update that leads beyond all bounds: its largest row.
fn too_large(what: &'static str, matrix: ArrayView2<'_, f64>) -> Error {
    let sizes = matrix.rows().into_iter().map(|row| row.iter().fold(0.0_f64, |most, v| most.max(v.abs())));
    let (row, magnitude) =
        sizes.enumerate().fold((0, 0.0), |most, (i, size)| if size > most.1 { (i, size) } else { most });
    Error::TooLarge { what, row, magnitude }
}

fn check_shape(
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

fn to_faer(matrix: ArrayView2<'_, f64>) -> Mat<f64> {
    Mat::from_fn(matrix.nrows(), matrix.ncols(), |i, j| matrix[(i, j)])
}

/// `left diag(values) right'`
fn product(left: MatRef<'_, f64>, values: &[f64], right: MatRef<'_, f64>) -> Array2<f64> {
    let scaled = Mat::from_fn(left.nrows(), left.ncols(), |i, j| left[(i, j)] * values[j]);
    let dense = scaled * right.transpose();
    Array2::from_shape_fn((left.nrows(), right.nrows()), |(i, j)| dense[(i, j)])
}

/// Columns that are handed in, if they are orthonormal.
fn orthonormal(what: &'static str, columns: ArrayView2<'_, f64>) -> Result<frame::Frame> {
    check_entries(what, columns)?;
    let frame = frame::Frame::new(to_faer(columns).as_ref(), columns.ncols());
    let defect = frame.defect();
    in_range(what, defect, defect <= ORTHONORMAL, "orthonormal columns (to 1e-8)")?;
    Ok(frame)
}

/// Values that are handed in, if they are what values are.
fn descending(what: &'static str, values: &[f64], count: usize) -> Result<Vec<f64>> {
    let sound = values.len() == count
        && values.iter().all(|v| (0.0..=LARGEST).contains(v))
        && values.is_sorted_by(|a, b| a >= b);
    in_range(what, values, sound, "zero or positive numbers, largest first, one for each vector")?;
    Ok(values.to_vec())
}
