//! Blocks of later rows, whose coordinates are computed together.

use faer::linalg::matmul::matmul;
use faer::{Accum, Par};
use ndarray::ArrayView2;

use super::{NestedFeatures, Projection};
use crate::kernel::PointSet;
use crate::linalg::{Coordinates, Panel};

/// Coordinates of a block of later rows in the current points, and their residual inner products.
/// Once some rows of the block are points, the coordinates of a later row in these take one number
/// each instead of the whole factor (exact: equal to row by row to rounding).
///
/// Not part of copies of a basis.
#[derive(Debug, Default)]
pub(super) struct Prefetch {
    rows: PointSet,
    /// Coordinates (b, dim) in the points at the beginning of the block.
    z: Panel,
    /// `k(x, x') - z'z'` of all pairs (b, b), without noise.
    left: Panel,
    /// Coordinates of the rows that became points, and the row of each in the factor of the
    /// residual.
    entered: Vec<(usize, Vec<f64>)>,
    /// The next expected row, and the last projected row.
    next: usize,
    last: Option<usize>,
}

impl Clone for Prefetch {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Prefetch {
    /// Computes the coordinates of later rows.
    pub fn begin(&mut self, features: &NestedFeatures, rows: ArrayView2<'_, f64>) {
        self.end();
        if rows.is_empty() {
            return;
        }
        self.rows = PointSet::gather(rows);
        features.project_block(&self.rows, &mut self.z);
        features.kernel().block(&self.rows, &self.rows, &mut self.left);
        let z = self.z.as_faer();
        matmul(self.left.as_faer_mut(), Accum::Add, z, z.transpose(), -1.0, Par::Seq);
    }

    /// Drops the block.
    pub fn end(&mut self) {
        (self.next, self.last) = (0, None);
        self.entered.clear();
        self.rows.truncate(0);
    }

    /// Writes the coordinates of a row into `z` if it is in the block.
    pub fn project(
        &mut self,
        features: &NestedFeatures,
        x: &[f64],
        z: &mut Coordinates,
    ) -> Option<Projection> {
        self.last = None;
        if self.next >= self.rows.len() || features.dim() != self.z.cols() + self.entered.len() {
            return None;
        }
        // Rows without weight are not projected.
        let i = (self.next..self.rows.len()).find(|i| self.rows.point(*i) == x)?;
        (self.next, self.last) = (i + 1, Some(i));
        let before = self.z.cols();
        z.set(self.z.row(i).chain(std::iter::repeat_n(0.0, self.entered.len())));
        let values = &mut z.in_lanes_mut()[before..];
        for (k, (row, factor)) in self.entered.iter().enumerate() {
            let known: f64 = factor.iter().zip(&values[..k]).map(|(a, b)| a * b).sum();
            values[k] = (self.left.get(i, *row) - known) / factor[k];
        }
        let similarity = features.similarity(x);
        Some(Projection::of(similarity, z.squared_norm()))
    }

    /// Records that the last projected row became a point, with its coordinates.
    pub fn inserted(&mut self, z: &Coordinates) {
        match self.last.take() {
            Some(row) => self.entered.push((row, z.as_slice()[self.z.cols()..].to_vec())),
            None => self.end(),
        }
    }
}
