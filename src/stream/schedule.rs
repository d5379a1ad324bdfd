//! How many rows are learned together.

use crate::basis::StreamBasis;
use crate::learner::StreamLearner;

/// Rows learned together, and some that would be left over: enough for matrix products to pay, few enough for what is
/// between the rows of a block (see [`Rows`](crate::learner::Rows)) to stay small.
pub(super) const BLOCK: usize = 48;

/// Fewest rows that are worth a block.
const WORTHWHILE: usize = 8;

/// A guess at how many rows lie between those that enter the basis: blocks are that long, since a block ends at
/// the first row that does.
///
/// It belongs to the model and its file: a call that was ended between two blocks, and a model that was loaded, continue
/// as they would have, to the last bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Schedule {
    rows_since_growth: usize,
}

/// How learners take rows that are given together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// Whether blocks are faster than single rows.
    blocks: bool,
    /// Whether rows of a block may bring coordinates.
    growing: bool,
}

impl Pace {
    /// That of a learner.
    pub fn of<L: StreamLearner + ?Sized>(learner: &L) -> Self {
        Self { blocks: learner.dim() >= learner.blocks_from(), growing: learner.grows_in_blocks() }
    }

    /// One that both bear.
    pub fn and(self, other: Self) -> Self {
        Self { blocks: self.blocks && other.blocks, growing: self.growing && other.growing }
    }

    /// Whether rows that enter this basis end no block.
    pub fn grows_with<B: StreamBasis + ?Sized>(self, basis: &B) -> bool {
        basis.appends_only() && !basis.is_full() && !basis.loss_driven() && self.growing
    }
}

impl Schedule {
    /// How many of the next rows, of which there are `left`, are worth a try as a block; 1 for none.
    pub fn block_len<B: StreamBasis + ?Sized>(self, left: usize, basis: &B, pace: Pace) -> usize {
        let whole = basis.is_full() || pace.grows_with(basis);
        let between = if whole { BLOCK } else { self.rows_since_growth };
        // What would be left over is not worth a block of its own.
        let all = whole && left < between + WORTHWHILE;
        let len = if all { left } else { left.min(between) }.min(basis.max_block_len());
        if len >= WORTHWHILE && pace.blocks { len } else { 1 }
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
