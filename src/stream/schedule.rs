//! How many rows are learned together.

use crate::basis::Basis;
use crate::learner::Learner;

/// Most rows learned together: enough for matrix products to pay, few enough for what is between the rows
/// of a block (see [`Rows`](crate::learner::Rows)) to stay small.
pub(super) const BLOCK: usize = 48;

/// Fewest rows that are worth a block.
const WORTHWHILE: usize = 16;

/// A guess, within one call, at how many rows lie between those that enter the basis: blocks are that long,
/// since a block ends at the first row that does.
///
/// A call begins with what was so on average, which depends on nothing but what is in a model file: a model
/// that was loaded goes on as the saved one would have, to the last bit.
pub(super) struct Schedule {
    rows_since_growth: usize,
}

impl Schedule {
    pub fn new<B: Basis + ?Sized>(n_seen: u64, basis: &B) -> Self {
        let between = n_seen / basis.dim().max(1) as u64;
        let known = if basis.is_full() { BLOCK } else { usize::try_from(between).unwrap_or(BLOCK) };
        Self { rows_since_growth: known.min(BLOCK) }
    }

    /// How many of the next rows, of which there are `left`, are worth a try as a block; 1 for none.
    pub fn block_len<B, L>(&self, left: usize, basis: &B, learner: &L) -> usize
    where
        B: Basis + ?Sized,
        L: Learner + ?Sized,
    {
        let len = left.min(self.rows_since_growth).min(basis.max_block_len());
        if len >= WORTHWHILE && learner.dim() >= learner.blocks_from() { len } else { 1 }
    }

    /// Rows were learned that did not enter the basis.
    pub fn learned(&mut self, rows: usize) {
        self.rows_since_growth = (self.rows_since_growth + rows).min(BLOCK);
    }

    /// A row entered the basis.
    pub fn grew(&mut self) {
        self.rows_since_growth /= 2;
    }
}
