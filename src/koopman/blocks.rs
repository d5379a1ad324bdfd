//! Rows in blocks.

use ndarray::{ArrayView2, Axis, s};

use crate::error::{Result, in_range};
use crate::interrupt::check;

/// Rows per block: enough for matrix products to pay, few enough to stay in the cache.
pub(super) const BLOCK: usize = 512;

/// The rows in blocks.
pub(super) fn blocks_of(x: ArrayView2<'_, f64>) -> impl ExactSizeIterator<Item = ArrayView2<'_, f64>> {
    let rows = x.nrows();
    (0..rows.div_ceil(BLOCK)).map(move |k| x.slice_move(s![k * BLOCK..rows.min((k + 1) * BLOCK), ..]))
}

/// Calls `act` with blocks of rows and their first indices.
pub(super) fn for_blocks(
    x: ArrayView2<'_, f64>,
    mut act: impl FnMut(usize, ArrayView2<'_, f64>) -> Result<()>,
) -> Result<()> {
    let mut at = 0;
    for rows in x.axis_chunks_iter(Axis(0), BLOCK) {
        check()?;
        act(at, rows)?;
        at += rows.nrows();
    }
    Ok(())
}

/// `count`, at most all.
pub(super) fn check_count(name: &'static str, count: usize, most: usize) -> Result<usize> {
    Ok(in_range(name, count, count > 0, "at least 1")?.min(most))
}
