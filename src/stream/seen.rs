//! Rows as a basis sees them: all that a learner is given of them.

use ndarray::{ArrayView1, ArrayView2};

use crate::basis::{Projection, StreamBasis};
use crate::error::Result;
use crate::linalg::{Coordinates, Panel};

/// The rows that were seen last. Made once and reused: nothing is allocated for a row.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// A row by itself, its targets, and its coordinates.
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
    /// What the coordinates leave out.
    pub left: Projection,
    /// Its value in the coordinate that it added or, if it is only predicted, would add; 0 if none.
    pub own: f64,
}

/// A block of rows in coordinates.
#[derive(Clone, Debug, Default)]
pub(super) struct SeenBlock {
    /// Those of each (b, dim), of which the first [`len`](Self::len) count.
    pub z: Panel,
    /// What the coordinates leave out of each.
    pub left: Vec<Projection>,
    /// The value of each in the coordinate that it added or, where rows of a block add none, would add; 0 if none.
    pub own: Vec<f64>,
    /// Whether rows added coordinates.
    pub grew: bool,
}

impl Seen {
    /// Gathers the row that comes next.
    pub fn hold(&mut self, x: ArrayView1<'_, f64>, y: ArrayView1<'_, f64>) {
        self.x.clear();
        self.x.extend(x);
        self.y.clear();
        self.y.extend(y);
    }

    /// Works out what the coordinates leave out of the row held, whose value in its own this is.
    pub fn settle<B: StreamBasis + ?Sized>(&mut self, basis: &B, own: f64) {
        (self.left, self.own) = (projection(basis, &self.x, self.z.squared_norm()), own);
    }

    /// Takes the coordinates of the row held from a block in which it is the `i`th.
    pub fn take(&mut self, block: &SeenBlock, i: usize) {
        self.z.set(block.z.row(i));
        (self.left, self.own) = (block.left[i], if block.grew { block.own[i] } else { 0.0 });
    }

    /// Refuses coordinates of the row held that are longer than its kernel allows.
    pub fn check_bound<B: StreamBasis + ?Sized>(&self, basis: &B) -> Result<()> {
        basis.check_bound(&self.left, &mut self.z.as_slice().iter().copied())
    }

    /// The row held.
    pub fn row(&self) -> SeenRow<'_> {
        SeenRow { x: &self.x, z: &self.z, left: self.left, own: self.own }
    }
}

impl SeenRow<'_> {
    /// What they left out before it became a point itself.
    pub fn before(&self) -> Projection {
        Projection { residual: self.left.residual + self.own * self.own, ..self.left }
    }
}

impl SeenBlock {
    /// Takes down the first `len` rows of those whose coordinates are there.
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

    /// Whether no row has coordinates longer than its kernel allows.
    pub fn is_bounded<B: StreamBasis + ?Sized>(&self, basis: &B) -> bool {
        let bounded = |(i, left): (usize, &Projection)| basis.check_bound(left, &mut self.z.row(i)).is_ok();
        self.left.iter().enumerate().all(bounded)
    }

    /// Forgets all but the first rows.
    pub fn truncate(&mut self, len: usize) {
        self.left.truncate(len);
        self.own.truncate(len);
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.left.len()
    }

    /// What they left out of each before it became a point itself.
    pub fn before(&self) -> impl Iterator<Item = Projection> {
        let added = |own: f64| if self.grew { own * own } else { 0.0 };
        self.left
            .iter()
            .zip(&self.own)
            .map(move |(left, own)| Projection { residual: left.residual + added(*own), ..*left })
    }
}

/// What the coordinates `z` (b, dim) of rows leave out of them.
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

/// What coordinates of this squared norm leave out of a row: nothing, where there is no kernel.
pub(super) fn projection<B: StreamBasis + ?Sized>(basis: &B, x: &[f64], within: f64) -> Projection {
    let similarity = basis.similarity(x).unwrap_or(within);
    Projection::of(similarity, within)
}
