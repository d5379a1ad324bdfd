//! How many rows are processed at once.

/// Rows per block: enough for matrix products to pay, few enough for the quantities between the rows of a block (see
/// [`Rows`](crate::learner::Rows)) to stay small.
pub(crate) const BLOCK: usize = 48;

/// Points for each row of longer blocks, and the longest. Matrices of many points exceed the cache: longer blocks read
/// them less often, and their products are large enough to be [divided](super::divided).
const POINTS_PER_ROW: usize = 5;
const LONGEST: usize = 288;

/// Most work of a longer block, rows times points squared: a tenth of a second, for which other threads wait.
const WORK: usize = 1 << 31;

/// Rows per block with this many points.
pub(crate) fn block_len(points: usize) -> usize {
    let most = WORK / points.saturating_mul(points).max(1);
    let rows = (points / POINTS_PER_ROW).min(most) / BLOCK * BLOCK;
    rows.clamp(BLOCK, LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_blocks_of_many_points_are_longer() {
        assert!((0..480).all(|points| block_len(points) == BLOCK));
        assert_eq!([480, 1000, 2000, 4000, 100_000].map(block_len), [96, 192, 288, 96, 48]);
    }
}
