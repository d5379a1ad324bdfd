//! Which points become coordinates: from a point of the stream to a vector that learners use.
//!
//! Coordinates are *appended to*: what was computed with `m` coordinates stays valid, padded with
//! zeros, when there are more. A basis that has to replace its coordinates says so after a row, once in
//! a while, with a [`ChangeOfBasis`].
//!
//! An own basis is a type with a [`Basis`], used in a [`Stream`](crate::stream::Stream) as it is (see
//! `examples/own_basis.rs`). Those that model files and Python know are an enum, [`AnyBasis`].

mod any;
mod features;
mod first_points;
mod fixed;
mod foresight;
mod fourier;
mod joint;
mod kors;
mod nested;
mod sketched;
mod spec;
mod taylor;

use ndarray::{Array2, Array3, ArrayView1, ArrayView2};

pub use any::AnyBasis;
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

/// Points to coordinates, which may grow as points arrive.
///
/// A basis whose coordinates are there from the first row on needs the first four methods. One that
/// grows has a row go through [`project`](Self::project), then, if it is novel and of use,
/// [`insert`](Self::insert), then it is learned, then [`commit`](Self::commit) ends it. If the learner
/// refuses it, [`rollback`](Self::rollback) comes instead of the last.
///
/// A [`StreamBasis`], as a stream takes it, implements [`BasisBlocks`], [`BasisGrowth`] and [`BasisPoints`] too, whose
/// methods all have defaults: they make it faster, and say more of it.
pub trait Basis: Send + Sync {
    /// Number of coordinates so far.
    fn dim(&self) -> usize;

    /// Number of features of a point; `None` before [`begin`](Self::begin).
    fn width(&self) -> Option<usize>;

    /// Fixes the number of features, once, before the first point.
    fn begin(&mut self, width: usize) -> Result<()>;

    /// Coordinates of `x` as the basis stands, into `z`. Returns the residual coordinate: its value in
    /// the coordinate that `x` would add if it were learned now, 0 if it would add none.
    fn features(&self, x: &[f64], z: &mut Coordinates) -> f64;

    /// Refuses rows that cannot be learned, naming the row: numbers that are not finite or too large.
    /// Changes nothing.
    fn check(&self, rows: ArrayView2<'_, f64>) -> Result<()> {
        check_finite("X", rows)
    }

    /// [`features`](Self::features) of a row that is about to be learned; 0 if it is not to become a
    /// coordinate. `x` has passed [`check`](Self::check).
    fn project(&mut self, x: &[f64], z: &mut Coordinates) -> f64 {
        self.features(x, z)
    }

    /// Makes the row just projected a coordinate, and appends its value, which was not 0, to `z`.
    fn insert(&mut self, _x: &[f64], _z: &mut Coordinates) {}

    /// Ends a row that was learned. A basis may use the occasion to replace its coordinates.
    fn commit(&mut self) -> Option<ChangeOfBasis> {
        None
    }

    /// Forgets all coordinates beyond the first `dim`, and the row just projected.
    fn rollback(&mut self, _dim: usize) {}
}

/// Rows of a [`Basis`] in blocks, best by matrix products. By default each goes by itself.
pub trait BasisBlocks: Basis {
    /// Coordinates of every row of `rows` (b, d), into `z` (b, dim), best by matrix products. Returns
    /// what [`features`](Basis::features) does for each.
    fn features_block(&self, rows: ArrayView2<'_, f64>, z: &mut Panel) -> Vec<f64> {
        z.reshape(rows.nrows(), self.dim());
        row_by_row(rows, z, |x, row| self.features(x, row))
    }

    /// [`features_block`](Self::features_block) for the rows that come next, in their order, if there are no
    /// points inserted among them: the numbers say which would be. Changes nothing until
    /// [`commit_block`](Self::commit_block).
    fn project_block(&self, rows: ArrayView2<'_, f64>, z: &mut Panel) -> Vec<f64> {
        self.features_block(rows, z)
    }

    /// How many of the next rows may be projected as a block and learned as the basis stands, up to the
    /// first that becomes a coordinate: `usize::MAX` where [`project`](Basis::project) and
    /// [`commit`](Basis::commit) do nothing else. 0 where each row must go through them.
    fn max_block_len(&self) -> usize {
        0
    }

    /// Makes those of the rows that come next coordinates that are novel, in their order, where
    /// [no more](BasisGrowth::appends_only) than that comes of them. Coordinates of all go into `z` (b, dim after): of those that
    /// a later row adds, a row has zero. Returns the value of each in the coordinate that it added, 0 for those that
    /// added none. [`rollback`](Basis::rollback) undoes it.
    ///
    /// Rows are projected one by one, the same as if each was learned before the next to the last bit: what is rounding in
    /// one small coordinate would not be in those after it.
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

    /// How many of the next rows should be [prefetched](Self::foresee) before each is projected; 0
    /// for none.
    fn foresight(&self) -> usize {
        0
    }

    /// Shows the rows that come next, or none: what [`project`](Basis::project) finds of each can be worked out for all of them,
    /// best by matrix products. It finds the same to rounding without.
    fn foresee(&mut self, _rows: ArrayView2<'_, f64>) {}

    /// Ends `rows` rows that were projected as a block, and learned.
    fn commit_block(&mut self, _rows: usize) {}
}

/// How the coordinates of a [`Basis`] grow, as far as it is known beforehand: learners then prepare, and calls need no
/// copies. By default nothing is known.
pub trait BasisGrowth: Basis {
    /// Whether all that rows do is append coordinates, so that [`rollback`](Basis::rollback) undoes any
    /// number of them. Where it is not, calls that may fail begin with a copy of the basis.
    fn appends_only(&self) -> bool {
        false
    }

    /// Coordinates that there will be at most, where that is known.
    fn most(&self) -> Option<usize> {
        None
    }

    /// Whether no further row will become a coordinate.
    fn is_full(&self) -> bool {
        false
    }

    /// Whether the squared norm of coordinates is at most 10, whatever the row, which learners are sure to
    /// bear; known from the beginning. Where it may be more, calls begin with a copy of the learner.
    fn is_bounded(&self) -> bool {
        false
    }

    /// Whether only rows with a loss may become coordinates: those that change the learner.
    fn loss_driven(&self) -> bool {
        false
    }
}

/// The stored points of a [`Basis`] and their kernel, by which deviations, gradients and novelty are known. By default there
/// are none.
pub trait BasisPoints: Basis {
    /// `k(x, x)`, which the squared norm of the coordinates of `x` comes near to; `None` where there is no kernel.
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

    /// Gradients with respect to rows `x` (n, d) of linear functions of the coordinates, one a column of `weights`
    /// (n, columns, d); `None` where coordinates have none.
    fn gradient(&self, _x: ArrayView2<'_, f64>, _weights: &Panel) -> Option<Array3<f64>> {
        None
    }

    /// Gradients with respect to rows `x` (n, d) of the squared norms of their coordinates (n, d); `None` where
    /// coordinates have none.
    fn squared_norm_gradient(&self, _x: ArrayView2<'_, f64>) -> Option<Array2<f64>> {
        None
    }

    /// Refuses coordinates `z` of the first row of a call if they are longer than can be, which is known of stored points
    /// alone: see [`nugget`](crate::linalg::nugget()). `left` is what they leave out.
    fn check_bound(&self, _left: &Projection, _z: &mut dyn Iterator<Item = f64>) -> Result<()> {
        Ok(())
    }

    /// Condition number of what coordinates are made by: of stored points that of their Gram matrix, estimated. O(m^2).
    fn condition(&self) -> Option<f64> {
        None
    }

    /// The value of the coordinate inserted last at points of whom all coordinates before it are known,
    /// `(x, before)`: one number each, into `out`. For learners that remember rows; O(d + m) each.
    fn newest_coordinate(&self, _rows: &mut dyn Iterator<Item = (&[f64], &[f64])>, out: &mut Vec<f64>) {
        out.clear();
    }
}

/// A [`Basis`] with all that a [`Stream`](crate::stream::Stream) asks of it.
pub trait StreamBasis: BasisBlocks + BasisGrowth + BasisPoints {}

impl<B: BasisBlocks + BasisGrowth + BasisPoints + ?Sized> StreamBasis for B {}

/// Takes each of some rows to its coordinates, which go into `z` and widen it where they become more. Returns what is
/// said of each.
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

/// A [`Basis`] that goes into a model file.
pub trait BasisFile: StreamBasis {
    /// How its kernel is written down.
    fn kernel(&self) -> &KernelSpec;

    /// Writes what was learned.
    fn write(&self, out: &mut Writer);

    /// Reads what [`write`](Self::write) wrote, into a basis of the same specification.
    fn read(&mut self, from: &Reader<'_>) -> Result<()>;
}

/// What a [`Stream`](crate::stream::Stream) is made with: a [`Basis`], whichever it is, or an [`AnyBasis`].
pub trait AsBasis: Clone + Send + Sync {
    /// The basis itself, or what all of [`AnyBasis`] have in common.
    type Target: StreamBasis + ?Sized;

    /// The basis.
    fn as_basis(&self) -> &Self::Target;

    /// The basis, to be changed.
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
