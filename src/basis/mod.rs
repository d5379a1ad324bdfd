//! Which points become coordinates: from a point of the stream to a vector that learners use.
//!
//! Coordinates are *appended to*: what was computed with `m` coordinates stays valid, padded with
//! zeros, when there are more. A basis that has to replace its coordinates says so after a row, once in
//! a while, with a [`ChangeOfBasis`]. A new basis is one file with a [`Basis`] and one line in [`BasisSpec`].

mod features;
mod first_points;
mod fixed;
mod fourier;
mod kors;
mod nested;
mod sketched;
mod spec;
mod taylor;

use ndarray::ArrayView2;

pub use features::{NestedFeatures, Projection};
pub use first_points::FirstPoints;
pub use fixed::{Fixed, Functions};
pub use fourier::{Fourier, FourierSpec, Waves};
pub use kors::{Kors, KorsSpec};
pub use nested::Nested;
pub use sketched::{Sketched, SketchedSpec};
pub use spec::BasisSpec;
pub use taylor::{Monomials, Taylor};

use crate::error::Result;
use crate::kernel::{KernelSpec, PointSet};
use crate::linalg::{ChangeOfBasis, Coordinates, Panel};
use crate::persist::{Reader, Writer};

/// Points to coordinates, growing as points arrive.
///
/// A row goes through [`project`](Self::project), then, if it is novel and of use,
/// [`insert`](Self::insert), then it is learned, then [`commit`](Self::commit) ends it. If the learner
/// refuses it, [`rollback`](Self::rollback) comes instead of the last.
pub trait Basis: Send + Sync {
    /// Number of coordinates so far.
    fn dim(&self) -> usize;

    /// Number of features of a point; `None` before [`begin`](Self::begin).
    fn width(&self) -> Option<usize>;

    /// Fixes the number of features, once, before the first point.
    fn begin(&mut self, width: usize) -> Result<()>;

    /// Refuses rows that are not finite or too large to compare, naming the row. Changes nothing.
    fn check(&self, rows: ArrayView2<'_, f64>) -> Result<()>;

    /// Coordinates of a row that is about to be learned, as the basis stands. Returns the value of the
    /// coordinate that `x` would add, 0 if it is not to become one. `x` has passed
    /// [`check`](Self::check).
    fn project(&mut self, x: &[f64], z: &mut Coordinates) -> f64;

    /// Makes the row that was just offered a coordinate, and appends its value to `z`.
    fn insert(&mut self, x: &[f64], z: &mut Coordinates);

    /// Ends a row that was learned. A basis may use the occasion to replace its coordinates.
    fn commit(&mut self) -> Option<ChangeOfBasis> {
        None
    }

    /// Whether only rows that change the learner may become coordinates: those with a loss.
    fn loss_driven(&self) -> bool {
        false
    }

    /// Whether all that rows do is append coordinates, so that [`rollback`](Self::rollback) undoes any
    /// number of them.
    fn appends_only(&self) -> bool {
        true
    }

    /// Coordinates of `x` as the basis stands. Returns the value of the coordinate that `x` would
    /// add if it were learned now, 0 if it would add none.
    fn features(&self, x: &[f64], z: &mut Coordinates) -> f64;

    /// Coordinates of every row of `rows` (b, d), into `z` (b, dim), by matrix products. Returns what
    /// [`features`](Self::features) does for each.
    fn features_block(&self, rows: ArrayView2<'_, f64>, z: &mut Panel) -> Vec<f64>;

    /// [`features_block`](Self::features_block) for the rows that come next, in their order, if there are no
    /// points admitted among them: the numbers say which would be. Changes nothing until
    /// [`commit_block`](Self::commit_block).
    fn project_block(&self, rows: ArrayView2<'_, f64>, z: &mut Panel) -> Vec<f64> {
        self.features_block(rows, z)
    }

    /// How many of the next rows may be offered as a block and learned as the basis stands, up to the
    /// first that it admits. 0 where each must be offered.
    fn max_block_len(&self) -> usize {
        usize::MAX
    }

    /// Ends `rows` rows that were offered as a block, and learned.
    fn commit_block(&mut self, _rows: usize) {}

    /// The stored points.
    fn points(&self) -> Option<&PointSet>;

    /// Condition number of what coordinates are made by, where an inversion may magnify rounding.
    fn condition(&self) -> Option<f64> {
        None
    }

    /// The value of the coordinate appended last at points of whom all coordinates before it are known,
    /// `(x, before)`: one number each, into `out`. O(d + m) each. For every basis that admits points.
    fn newest_coordinate(&self, _rows: &mut dyn Iterator<Item = (&[f64], &[f64])>, _out: &mut Vec<f64>) {}

    /// Forgets all coordinates beyond the first `dim`, and the row that was offered last.
    fn rollback(&mut self, dim: usize);

    /// A copy behind a pointer.
    fn boxed(&self) -> Box<dyn Basis>;

    /// How its kernel is written down.
    fn kernel(&self) -> KernelSpec;

    /// How this basis is written down.
    fn spec(&self) -> BasisSpec;

    /// Writes what was learned.
    fn write(&self, out: &mut Writer);

    /// Reads what [`write`](Self::write) wrote, into a basis of the same specification.
    fn read(&mut self, from: &Reader<'_>) -> Result<()>;
}

impl Basis for Box<dyn Basis> {
    fn dim(&self) -> usize {
        (**self).dim()
    }
    fn width(&self) -> Option<usize> {
        (**self).width()
    }
    fn begin(&mut self, width: usize) -> Result<()> {
        (**self).begin(width)
    }
    fn check(&self, rows: ArrayView2<'_, f64>) -> Result<()> {
        (**self).check(rows)
    }
    fn project(&mut self, x: &[f64], z: &mut Coordinates) -> f64 {
        (**self).project(x, z)
    }
    fn insert(&mut self, x: &[f64], z: &mut Coordinates) {
        (**self).insert(x, z);
    }
    fn commit(&mut self) -> Option<ChangeOfBasis> {
        (**self).commit()
    }
    fn loss_driven(&self) -> bool {
        (**self).loss_driven()
    }
    fn appends_only(&self) -> bool {
        (**self).appends_only()
    }
    fn features(&self, x: &[f64], z: &mut Coordinates) -> f64 {
        (**self).features(x, z)
    }
    fn features_block(&self, rows: ArrayView2<'_, f64>, z: &mut Panel) -> Vec<f64> {
        (**self).features_block(rows, z)
    }
    fn project_block(&self, rows: ArrayView2<'_, f64>, z: &mut Panel) -> Vec<f64> {
        (**self).project_block(rows, z)
    }
    fn max_block_len(&self) -> usize {
        (**self).max_block_len()
    }
    fn commit_block(&mut self, rows: usize) {
        (**self).commit_block(rows);
    }
    fn points(&self) -> Option<&PointSet> {
        (**self).points()
    }
    fn newest_coordinate(&self, rows: &mut dyn Iterator<Item = (&[f64], &[f64])>, out: &mut Vec<f64>) {
        (**self).newest_coordinate(rows, out);
    }
    fn condition(&self) -> Option<f64> {
        (**self).condition()
    }
    fn rollback(&mut self, dim: usize) {
        (**self).rollback(dim);
    }
    fn boxed(&self) -> Box<dyn Basis> {
        (**self).boxed()
    }
    fn kernel(&self) -> KernelSpec {
        (**self).kernel()
    }
    fn spec(&self) -> BasisSpec {
        (**self).spec()
    }
    fn write(&self, out: &mut Writer) {
        (**self).write(out);
    }
    fn read(&mut self, from: &Reader<'_>) -> Result<()> {
        (**self).read(from)
    }
}

impl Clone for Box<dyn Basis> {
    fn clone(&self) -> Self {
        self.boxed()
    }
}
