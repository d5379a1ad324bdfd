//! Operations of the decompositions on plain matrices.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use ndarray::Array2;

use crate::linalg::arrays::to_array;

/// Makes a matrix at least this large; its content may be lost.
pub(super) fn at_least(matrix: &mut Mat<f64>, rows: usize, cols: usize) {
    if matrix.nrows() < rows || matrix.ncols() < cols {
        *matrix = Mat::zeros(rows.max(matrix.nrows()), cols.max(matrix.ncols()));
    }
}

/// The matrix `(3 I - Q'Q) / 2`, by which to multiply columns `Q` that are nearly orthonormal: a step of
/// Newton and Schulz towards the nearest orthonormal ones, which squares the error.
pub(super) fn towards_orthonormal(columns: MatRef<'_, f64>, mut step: MatMut<'_, f64>) {
    matmul(step.as_mut(), Accum::Replace, columns.transpose(), columns, -0.5, Par::Seq);
    for i in 0..columns.ncols() {
        step[(i, i)] += 1.5;
    }
}

/// `left diag(values) right'`
pub(super) fn product(left: MatRef<'_, f64>, values: &[f64], right: MatRef<'_, f64>) -> Array2<f64> {
    let scaled = Mat::from_fn(left.nrows(), left.ncols(), |i, j| left[(i, j)] * values[j]);
    to_array((scaled * right.transpose()).as_ref())
}
