//! Rows that come next, seen together before each is projected.

use faer::linalg::matmul::matmul;
use faer::{Accum, Par};
use ndarray::ArrayView2;

use super::{NestedFeatures, Projection};
use crate::kernel::PointSet;
use crate::linalg::{Coordinates, Panel};

/// Coordinates of rows to come in the points of the time, and what these leave of their inner products: with that the
/// coordinates of a row in points that come from among the rows before it take a number each, not the whole factor
/// (exact blocks: the same as row by row to rounding).
///
/// A copy of a basis begins without.
#[derive(Debug, Default)]
pub(super) struct Foresight {
    rows: PointSet,
    /// Coordinates (b, dim) in the points that there were.
    z: Panel,
    /// `k(x, x') - z'z'` of all pairs (b, b), without the noise of a row's own.
    left: Panel,
    /// Those of the rows that became points since, and the row of each in the factor of what is left.
    entered: Vec<(usize, Vec<f64>)>,
    /// The row that is expected next, and the one that was projected last.
    next: usize,
    last: Option<usize>,
}

impl Clone for Foresight {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Foresight {
    /// Looks at the rows that come next.
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

    /// Forgets them.
    pub fn end(&mut self) {
        (self.next, self.last) = (0, None);
        self.entered.clear();
        self.rows.truncate(0);
    }

    /// The coordinates of a row, into `z`, if it is one of those that were seen.
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

    /// The row that was projected last became a point; its coordinates.
    pub fn inserted(&mut self, z: &Coordinates) {
        match self.last.take() {
            Some(row) => self.entered.push((row, z.as_slice()[self.z.cols()..].to_vec())),
            None => self.end(),
        }
    }
}
