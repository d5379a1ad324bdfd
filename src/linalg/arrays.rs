//! Matrices to and from the arrays of `ndarray`: the one place that copies between them.

use faer::{Mat, MatRef};
use ndarray::{Array2, ArrayView2, ArrayViewMut2};

use super::panel::Panel;

/// A copy of a matrix as an array.
#[must_use]
pub fn to_array<T: Copy>(matrix: MatRef<'_, T>) -> Array2<T> {
    Array2::from_shape_fn(matrix.shape(), |at| matrix[at])
}

/// A copy of an array as a matrix.
#[must_use]
pub fn from_array(array: ArrayView2<'_, f64>) -> Mat<f64> {
    Mat::from_fn(array.nrows(), array.ncols(), |i, j| array[(i, j)])
}

/// Copies a matrix to an array of its shape.
pub(crate) fn write_array<T: Copy>(matrix: MatRef<'_, T>, mut out: ArrayViewMut2<'_, T>) {
    debug_assert_eq!(matrix.shape(), out.dim());
    out.indexed_iter_mut().for_each(|(at, to)| *to = matrix[at]);
}

/// Numbers of at most `most` of `n` rows, evenly spaced from the first to the last.
pub(crate) fn evenly_spaced(n: usize, most: usize) -> Vec<usize> {
    let count = n.min(most);
    (0..count).map(|i| i * (n - 1) / (count - 1).max(1)).collect()
}

impl Panel {
    /// A copy as an array.
    #[must_use]
    pub fn to_array(&self) -> Array2<f64> {
        to_array(self.as_faer())
    }

    /// A copy of an array.
    #[must_use]
    pub fn from_array(array: ArrayView2<'_, f64>) -> Self {
        let mut panel = Self::default();
        panel.copy_from(array);
        panel
    }

    /// Becomes a copy of an array, in the same memory if that is enough.
    pub(crate) fn copy_from(&mut self, array: ArrayView2<'_, f64>) {
        self.reshape(array.nrows(), array.ncols());
        for (j, column) in array.columns().into_iter().enumerate() {
            self.col_mut(j).iter_mut().zip(column).for_each(|(to, from)| *to = *from);
        }
    }
}
