//! How many rows are processed at once.

/// Rows per block: enough for matrix products to pay, few enough for the quantities between the rows of a block (see
/// [`Rows`](crate::learner::Rows)) to stay small.
pub(crate) const BLOCK: usize = 48;

/// Points for each row of longer blocks, and the longest. Matrices of many points exceed the cache: longer blocks read them
/// less often, and their products are large enough to be [divided](super::divided).
const POINTS_PER_ROW: usize = 5;
const LONGEST: usize = 288;

/// Rows per block with this many points.
pub(crate) fn block_len(points: usize) -> usize {
    (points / POINTS_PER_ROW).clamp(BLOCK, LONGEST)
}
