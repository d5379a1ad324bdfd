//! Truncated decompositions under low-rank updates.
//!
//! [`TruncatedSvd`] follows `A + U V'` for any matrix, [`TruncatedEigen`] follows `A + D M D'` for a
//! positive semidefinite one; [`TruncatedSvd`] also takes rows and columns at the border of `A`. An
//! update of rank `r` costs `O((m + n) (k + r)^2 + (k + r)^3)` for the `k` triples kept of an (m, n)
//! matrix, whatever came before, and is exact for the matrix kept; then all but the `k` largest
//! values are dropped.
//!
//! Source: Wen, Zhang, Wei, Hou, Li and Zhang, "Fast second-order online kernel learning through
//! incremental matrix sketching and decomposition", 2024, Algorithm 2 (TISVD), after Brand, "Fast
//! low-rank modifications of the thin singular value decomposition", 2006. Departures, each of which
//! the printed algorithm needs on a nearly singular matrix, where it loses all orthogonality within
//! tens of updates:
//!
//! - new directions are projected on the complement of the old ones until what is left is orthogonal
//!   to rounding (twice, and again where a projection takes more than half away); what vanishes is
//!   no direction, and adds no row to the small matrix;
//! - every [`REPAIR`] updates the vectors, orthonormal to about 1e-13, are made so to rounding by
//!   one step towards the nearest orthonormal matrix, so the error does not add up over any stream;
//! - a symmetric matrix gets the symmetric update, whose vectors are one set and whose values cannot
//!   change sides: the printed one yields pairs with `u . v < 0`, of which the root is no feature;
//! - the cost of rotating the vectors is `O(n k^2)`, not `O(n k)` as printed.

mod arguments;
mod core;
mod frame;
mod general;
mod matrices;
mod symmetric;
#[cfg(test)]
mod tests;

pub use arguments::default_extra;
pub use frame::REPAIR;
pub use general::{SvdParts, TruncatedSvd};
pub use symmetric::TruncatedEigen;
