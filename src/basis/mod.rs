//! Bases: from a point of the stream to the vector of coordinates that learners use.
//!
//! Coordinates are *appended to*: results computed with `m` coordinates stay valid, padded with
//! zeros, when there are more. A basis that replaces its coordinates occasionally returns a
//! [`ChangeOfBasis`] after a row.
//!
//! A basis of your own is a type with a [`Basis`], used directly in a
//! [`Stream`](crate::stream::Stream) (see `examples/own_basis.rs`). The bases of model files and
//! Python are an enum, [`AnyBasis`].

mod any;
mod features;
mod first_points;
mod fixed;
mod fourier;
mod joint;
mod kors;
mod nested;
mod prefetch;
mod sketched;
mod spec;
mod taylor;

use ndarray::{Array2, Array3, ArrayView1, ArrayView2};

pub use any::{AnyBasis, KnownBasis};
pub use features::{NestedFeatures, Projection};
pub use first_points::FirstPoints;
pub use fixed::{Fixed, Functions};
pub use fourier::{Fourier, FourierSpec, Waves};
pub use joint::{Lift, MergeBasis};
pub use kors::{Kors, KorsSpec};
pub use nested::Nested;
pub use sketched::{Sketched, SketchedSpec};
pub use spec::BasisSpec;
pub use taylor::{Monomials, Taylor};

use crate::error::Result;
use crate::kernel::{KernelSpec, PointSet};
use crate::linalg::{ChangeOfBasis, Coordinates, Panel};
use crate::persist::{Reader, Writer};
use crate::validate::check_finite;

/// Maps points to coordinates, which may grow as points arrive.
///
/// A basis with a fixed number of coordinates needs the first four methods. A growing one is called
/// in the order [`project`](Self::project), then, for a novel row, [`insert`](Self::insert), then
/// the row is learned, then [`commit`](Self::commit). If the learner refuses the row,
/// [`rollback`](Self::rollback) replaces the last.
///
/// A stream needs a [`StreamBasis`], which also implements [`BasisBlocks`], [`BasisGrowth`] and
/// [`BasisPoints`]. Their methods all have defaults; implementing them makes a basis faster and
/// supports more queries.
pub trait Basis: Send + Sync {
    /// Number of coordinates so far.
    fn dim(&self) -> usize;

    /// Number of features of a point; `None` before [`begin`](Self::begin).
    fn width(&self) -> Option<usize>;

    /// Fixes the number of features, once, before the first point.
    fn begin(&mut self, width: usize) -> Result<()>;

    /// Coordinates of `x` in the current basis, into `z`. Returns the residual coordinate: the
    /// value of the coordinate that learning `x` now would add, or 0.
    fn features(&self, x: &[f64], z: &mut Coordinates) -> f64;

    /// Refuses rows that cannot be learned, naming the row: numbers that are not finite or too large.
    /// Changes nothing.
    fn check(&self, rows: ArrayView2<'_, f64>) -> Result<()> {
        check_finite("X", rows)
    }

    /// [`features`](Self::features) of a row that will be learned; 0 if it must not become a
    /// coordinate. `x` has passed [`check`](Self::check).
    fn project(&mut self, x: &[f64], z: &mut Coordinates) -> f64 {
        self.features(x, z)
    }

    /// Makes the last projected row a coordinate, and appends its value, which is not 0, to `z`.
    fn insert(&mut self, _x: &[f64], _z: &mut Coordinates) {}

    /// Ends a row that was learned; a basis may replace its coordinates here.
    fn commit(&mut self) -> Option<ChangeOfBasis> {
        None
    }

    /// Drops all coordinates beyond the first `dim`, and the last projected row.
    fn rollback(&mut self, _dim: usize) {}
}

/// Blocks of rows of a [`Basis`], preferably by matrix products. By default row by row.
pub trait BasisBlocks: Basis {
    /// Coordinates of every row of `rows` (b, d), into `z` (b, dim), preferably by matrix products.
    /// Returns the result of [`features`](Basis::features) for each.
    fn features_block(&self, rows: ArrayView2<'_, f64>, z: &mut Panel) -> Vec<f64> {
        z.reshape(rows.nrows(), self.dim());
        row_by_row(rows, z, |x, row| self.features(x, row))
    }

    /// [`features_block`](Self::features_block) for the next rows in order, if no point is inserted
    /// among them: the numbers show which would be. Changes nothing until
    /// [`commit_block`](Self::commit_block).
    fn project_block(&self, rows: ArrayView2<'_, f64>, z: &mut Panel) -> Vec<f64> {
        self.features_block(rows, z)
    }

    /// Number of next rows that may be projected as a block and learned in the current basis, up to
    /// the first that becomes a coordinate: `usize::MAX` if [`project`](Basis::project) and
    /// [`commit`](Basis::commit) do nothing else, 0 if each row must go through them.
    fn max_block_len(&self) -> usize {
        0
    }

    /// Makes the novel rows among the next ones coordinates, in order, if rows [only
    /// append](BasisGrowth::appends_only). Coordinates of all go into `z` (b, dim after), with
    /// zeros for those added by later rows. Returns the value of each in the coordinate that it
    /// added, or 0. [`rollback`](Basis::rollback) undoes it.
    ///
    /// Rows are projected one by one, equal to the bit to learning each before the next: a rounding
    /// error in one small coordinate would be magnified in the following ones.
    fn extend_block(&mut self, rows: ArrayView2<'_, f64>, z: &mut Panel) -> Vec<f64> {
        z.reshape(rows.nrows(), self.dim());
        row_by_row(rows, z, |x, row| {
            let own = self.project(x, row);
            if own > 0.0 {
                self.insert(x, row);
            }
            own
        })
    }

    /// How many of the next rows should be [prefetched](Self::prefetch_rows) before each is projected; 0
    /// for none.
    fn prefetch(&self) -> usize {
        0
    }

    /// Announces the next rows, or none, so that [`project`](Basis::project) can compute them
    /// together by matrix products. The result is the same to rounding.
    fn prefetch_rows(&mut self, _rows: ArrayView2<'_, f64>) {}

    /// Ends `rows` rows that were projected as a block, and learned.
    fn commit_block(&mut self, _rows: usize) {}
}

/// Known properties of the growth of a [`Basis`], which allow learners to prepare and calls to
/// avoid copies. By default nothing is known.
pub trait BasisGrowth: Basis {
    /// Whether rows only append coordinates, so that [`rollback`](Basis::rollback) undoes any
    /// number of them. Otherwise calls that may fail begin with a copy of the basis.
    fn appends_only(&self) -> bool {
        false
    }

    /// Largest number of coordinates, if it is known.
    fn most(&self) -> Option<usize> {
        None
    }

    /// Whether no further row will become a coordinate.
    fn is_full(&self) -> bool {
        false
    }

    /// Whether the squared norm of coordinates is at most 10 for every row, which no learner
    /// refuses; known from the beginning. Otherwise calls begin with a copy of the learner.
    fn is_bounded(&self) -> bool {
        false
    }

    /// Whether only rows with a nonzero loss may become coordinates.
    fn loss_driven(&self) -> bool {
        false
    }
}

/// Stored points and kernel of a [`Basis`], for deviations, gradients and novelty. By default there
/// are none.
pub trait BasisPoints: Basis {
    /// `k(x, x)`, which the squared norm of the coordinates of `x` approximates; `None` without a
    /// kernel.
    fn similarity(&self, _x: &[f64]) -> Option<f64> {
        None
    }

    /// [`similarity`](Self::similarity), if it is the same for all rows.
    fn common_similarity(&self) -> Option<f64> {
        None
    }

    /// The stored points.
    fn points(&self) -> Option<&PointSet> {
        None
    }

    /// Gradients with respect to rows `x` (n, d) of linear functions of the coordinates, one per
    /// column of `weights` (n, columns, d); `None` if not available.
    fn gradient(&self, _x: ArrayView2<'_, f64>, _weights: &Panel) -> Option<Array3<f64>> {
        None
    }

    /// Gradients with respect to rows `x` (n, d) of the squared norms of their coordinates (n, d);
    /// `None` if not available.
    fn squared_norm_gradient(&self, _x: ArrayView2<'_, f64>) -> Option<Array2<f64>> {
        None
    }

    /// Refuses coordinates `z` of the first row of a call if they are too long, which is known for
    /// stored points only: see [`nugget`](crate::linalg::nugget()). `left` is the residual.
    fn check_bound(&self, _left: &Projection, _z: &mut dyn Iterator<Item = f64>) -> Result<()> {
        Ok(())
    }

    /// Condition number of the coordinates: for stored points that of their Gram matrix, estimated.
    /// O(m^2).
    fn condition(&self) -> Option<f64> {
        None
    }

    /// The value of the latest coordinate at points whose earlier coordinates are known, `(x,
    /// before)`: one number each, into `out`. For learners that remember rows; O(d + m) each.
    fn newest_coordinate(&self, _rows: &mut dyn Iterator<Item = (&[f64], &[f64])>, out: &mut Vec<f64>) {
        out.clear();
    }
}

/// A [`Basis`] with everything that a [`Stream`](crate::stream::Stream) uses.
pub trait StreamBasis: BasisBlocks + BasisGrowth + BasisPoints {}

impl<B: BasisBlocks + BasisGrowth + BasisPoints + ?Sized> StreamBasis for B {}

/// Projects each of some rows; the coordinates go into `z`, which is widened if they become more.
/// Returns the outcome of each.
fn row_by_row(
    rows: ArrayView2<'_, f64>,
    z: &mut Panel,
    mut step: impl FnMut(&[f64], &mut Coordinates) -> f64,
) -> Vec<f64> {
    let (mut x, mut row) = (Vec::with_capacity(rows.ncols()), Coordinates::default());
    let said = |(i, values): (usize, ArrayView1<'_, f64>)| {
        x.clear();
        x.extend(values);
        let said = step(&x, &mut row);
        z.grow_cols(row.len());
        z.set_row(i, row.as_slice());
        said
    };
    rows.rows().into_iter().enumerate().map(said).collect()
}

/// A [`Basis`] that can be saved.
pub trait BasisFile: StreamBasis {
    /// The specification of its kernel.
    fn kernel(&self) -> &KernelSpec;

    /// Writes what was learned.
    fn write(&self, out: &mut Writer);

    /// Reads what [`write`](Self::write) wrote, into a basis of the same specification.
    fn read(&mut self, from: &Reader<'_>) -> Result<()>;
}

/// Argument of a [`Stream`](crate::stream::Stream): a [`Basis`] of any type, or an [`AnyBasis`].
pub trait AsBasis: Clone + Send + Sync {
    /// The basis itself, or the common interface of [`AnyBasis`].
    type Target: StreamBasis + ?Sized;

    /// The basis.
    fn as_basis(&self) -> &Self::Target;

    /// The basis, mutable.
    fn as_basis_mut(&mut self) -> &mut Self::Target;
}

impl<B: StreamBasis + Clone> AsBasis for B {
    type Target = B;

    fn as_basis(&self) -> &B {
        self
    }

    fn as_basis_mut(&mut self) -> &mut B {
        self
    }
}
