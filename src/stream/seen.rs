//! Projected rows: the input of a learner.

use ndarray::{ArrayView1, ArrayView2};

use crate::basis::{Projection, StreamBasis};
use crate::error::Result;
use crate::linalg::{Coordinates, Panel};

/// The rows that were projected last. Allocated once.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// The current row, its targets, and its coordinates.
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    pub z: Coordinates,
    left: Projection,
    own: f64,
    pub block: SeenBlock,
}

/// A row in coordinates, of which it may have added the last.
#[derive(Clone, Copy)]
pub(super) struct SeenRow<'a> {
    pub x: &'a [f64],
    pub z: &'a Coordinates,
    /// Residual of the coordinates.
    pub left: Projection,
    /// Its value in the coordinate that it added or, if it is only predicted, would add; 0 if none.
    pub own: f64,
}

/// A block of rows in coordinates.
#[derive(Clone, Debug, Default)]
pub(super) struct SeenBlock {
    /// Coordinates of each (b, dim), of which the first [`len`](Self::len) count.
    pub z: Panel,
    /// Residual of each.
    pub left: Vec<Projection>,
    /// Value of each in the coordinate that it added or, if rows of a block add none, would add; 0
    /// if none.
    pub own: Vec<f64>,
    /// Whether rows added coordinates.
    pub grew: bool,
}

impl Seen {
    /// Sets the next row.
    pub fn hold(&mut self, x: ArrayView1<'_, f64>, y: ArrayView1<'_, f64>) {
        self.x.clear();
        self.x.extend(x);
        self.y.clear();
        self.y.extend(y);
    }

    /// Computes the residual of the current row, with this value in its own coordinate.
    pub fn settle<B: StreamBasis + ?Sized>(&mut self, basis: &B, own: f64) {
        (self.left, self.own) = (projection(basis, &self.x, self.z.squared_norm()), own);
    }

    /// Copies the coordinates of the current row from a block in which it is row `i`.
    pub fn take(&mut self, block: &SeenBlock, i: usize) {
        self.z.set(block.z.row(i));
        (self.left, self.own) = (block.left[i], if block.grew { block.own[i] } else { 0.0 });
    }

    /// Refuses the current row if its coordinates are longer than its kernel allows.
    pub fn check_bound<B: StreamBasis + ?Sized>(&self, basis: &B) -> Result<()> {
        basis.check_bound(&self.left, &mut self.z.as_slice().iter().copied())
    }

    /// The current row.
    pub fn row(&self) -> SeenRow<'_> {
        SeenRow { x: &self.x, z: &self.z, left: self.left, own: self.own }
    }
}

impl SeenRow<'_> {
    /// Its residual before it became a point.
    pub fn before(&self) -> Projection {
        Projection { residual: self.left.residual + self.own * self.own, ..self.left }
    }
}

impl SeenBlock {
    /// Records the first `len` rows whose coordinates were computed.
    pub fn settle<B: StreamBasis + ?Sized>(
        &mut self,
        basis: &B,
        x: ArrayView2<'_, f64>,
        len: usize,
        grew: bool,
    ) {
        self.left = left_out(basis, x, &self.z);
        self.grew = grew;
        self.truncate(len);
    }

    /// Whether all coordinates are as short as the kernel requires.
    pub fn is_bounded<B: StreamBasis + ?Sized>(&self, basis: &B) -> bool {
        let bounded = |(i, left): (usize, &Projection)| basis.check_bound(left, &mut self.z.row(i)).is_ok();
        self.left.iter().enumerate().all(bounded)
    }

    /// Drops all but the first rows.
    pub fn truncate(&mut self, len: usize) {
        self.left.truncate(len);
        self.own.truncate(len);
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.left.len()
    }

    /// Residual of each before it became a point.
    pub fn before(&self) -> impl Iterator<Item = Projection> {
        let added = |own: f64| if self.grew { own * own } else { 0.0 };
        self.left
            .iter()
            .zip(&self.own)
            .map(move |(left, own)| Projection { residual: left.residual + added(*own), ..*left })
    }
}

/// Residuals of rows with coordinates `z` (b, dim).
pub(super) fn left_out<B>(basis: &B, rows: ArrayView2<'_, f64>, z: &Panel) -> Vec<Projection>
where
    B: StreamBasis + ?Sized,
{
    let norms = z.squared_norms_of_rows().into_iter();
    if let Some(similarity) = basis.common_similarity() {
        return norms.map(|within| Projection::of(similarity, within)).collect();
    }
    let projection = |(row, within): (ArrayView1<'_, f64>, f64)| match row.to_slice() {
        Some(x) => projection(basis, x, within),
        None => projection(basis, &row.to_vec(), within),
    };
    rows.rows().into_iter().zip(norms).map(projection).collect()
}

/// Residual for coordinates of this squared norm: 0 without a kernel.
pub(super) fn projection<B: StreamBasis + ?Sized>(basis: &B, x: &[f64], within: f64) -> Projection {
    let similarity = basis.similarity(x).unwrap_or(within);
    Projection::of(similarity, within)
}
