//! How many rows are learned together.

use crate::basis::Basis;
use crate::learner::Learner;

/// Most rows learned together: enough for matrix products to pay, few enough for what is between the rows
/// of a block (see [`Rows`](crate::learner::Rows)) to stay small.
pub(super) const BLOCK: usize = 48;

/// Fewest rows that are worth a block.
const WORTHWHILE: usize = 8;

/// A guess at how many rows lie between those that enter the basis: blocks are that long, since a block ends at
/// the first row that does.
///
/// It belongs to the model and its file: a call that was ended between two blocks, and a model that was loaded, go on
/// as they would have, to the last bit.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Schedule {
    rows_since_growth: usize,
}

impl Schedule {
    /// How many of the next rows, of which there are `left`, are worth a try as a block; 1 for none.
    pub fn block_len<B, L>(self, left: usize, basis: &B, learner: &L) -> usize
    where
        B: Basis + ?Sized,
        L: Learner + ?Sized,
    {
        let whole = basis.is_full() || grows_in_blocks(basis, learner);
        let between = if whole { BLOCK } else { self.rows_since_growth };
        let len = left.min(between).min(basis.max_block_len());
        if len >= WORTHWHILE && learner.dim() >= learner.blocks_from() { len } else { 1 }
    }

    /// Rows were learned that did not enter the basis.
    pub fn learned(&mut self, rows: usize) {
        self.rows_since_growth = (self.rows_since_growth + rows).min(BLOCK);
    }

    /// Whether one of so few rows as a block has may enter the basis.
    pub fn expects_growth(self) -> bool {
        self.rows_since_growth < BLOCK
    }

    /// A row was learned, and entered the basis or not.
    pub fn counted(&mut self, grew: bool) {
        if grew {
            self.rows_since_growth /= 2;
        } else {
            self.learned(1);
        }
    }

    /// That of a model file.
    pub fn of(rows_since_growth: u64) -> Self {
        Self { rows_since_growth: usize::try_from(rows_since_growth).unwrap_or(BLOCK).min(BLOCK) }
    }

    pub fn rows_since_growth(self) -> u64 {
        self.rows_since_growth as u64
    }
}

/// Whether rows that enter the basis end no block.
pub(super) fn grows_in_blocks<B, L>(basis: &B, learner: &L) -> bool
where
    B: Basis + ?Sized,
    L: Learner + ?Sized,
{
    basis.appends_only() && !basis.is_full() && !basis.loss_driven() && learner.grows_in_blocks()
}
