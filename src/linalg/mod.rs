//! Dense linear algebra that grows: storage, Cholesky factor and symmetric inverse under appending.
//!
//! Everything here is kept in a [`Panel`]: column-major storage whose rows and columns can be
//! appended, padded with zeros so that loops run over whole groups of [`LANES`] numbers.
//! Block operations are matrix products of `faer`; operations on one vector are own loops, which
//! are bound by memory and faster below a few hundred rows (see `benches/linalg.rs`).

mod arrays;
mod blocks;
mod change_of_basis;
mod cholesky;
mod coordinates;
pub(crate) mod divided;
mod inverse;
mod lanes;
pub(crate) mod loops;
mod nugget;
mod panel;
mod pivoted;
pub mod sketch;
mod systems;
pub mod tisvd;

#[cfg(test)]
mod tests;

pub(crate) use arrays::{evenly_spaced, write_array};
pub use arrays::{from_array, to_array};
pub(crate) use blocks::{BLOCK, block_len};
pub use change_of_basis::ChangeOfBasis;
pub use cholesky::GrowingCholesky;
pub use coordinates::Coordinates;
pub(crate) use coordinates::{Scratch, with_scratch};
pub use inverse::SymmetricInverse;
pub(crate) use lanes::Lanes;
pub use loops::{LANES, padded};
pub use nugget::{nugget, own_coordinate, resolution, spanned};
pub use panel::Panel;
pub(crate) use pivoted::Spanning;
pub use sketch::{GramSketch, SparseSketch};
pub(crate) use systems::Systems;
pub use tisvd::{TruncatedEigen, TruncatedSvd};
