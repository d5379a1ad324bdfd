//! Block lengths.

use crate::basis::StreamBasis;
use crate::learner::StreamLearner;
use crate::linalg::{BLOCK, block_len};

/// Fewest rows of a block.
const WORTHWHILE: usize = 8;

/// Estimated number of rows between those that enter the basis, which is the length of blocks,
/// since a block ends at the first row that does.
///
/// Part of the model and its file: an interrupted call and a loaded model continue to the same
/// bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Schedule {
    rows_since_growth: usize,
}

/// Blocks of a learner.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// Whether blocks are faster than single rows.
    blocks: bool,
    /// Whether rows of a block may add coordinates.
    growing: bool,
}

impl Pace {
    /// The blocks of a learner.
    pub fn of<L: StreamLearner + ?Sized>(learner: &L) -> Self {
        Self { blocks: learner.dim() >= learner.blocks_from(), growing: learner.grows_in_blocks() }
    }

    /// Blocks that both support.
    pub fn and(self, other: Self) -> Self {
        Self { blocks: self.blocks && other.blocks, growing: self.growing && other.growing }
    }

    /// Whether rows that enter this basis do not end a block.
    pub fn grows_with<B: StreamBasis + ?Sized>(self, basis: &B) -> bool {
        basis.appends_only() && !basis.is_full() && !basis.loss_driven() && self.growing
    }
}

impl Schedule {
    /// Length of the next block, of `left` rows; 1 for none.
    pub fn block_len<B: StreamBasis + ?Sized>(self, left: usize, basis: &B, pace: Pace) -> usize {
        let whole = basis.is_full() || pace.grows_with(basis);
        let longest = if basis.is_full() { block_len(basis.dim()) } else { BLOCK };
        let between = if whole { longest } else { self.rows_since_growth };
        // The remainder is too short for a block of its own.
        let all = whole && left < between + WORTHWHILE;
        let len = if all {
            left
        } else if longest > BLOCK {
            // Several of the same length.
            left.div_ceil(left.div_ceil(longest))
        } else {
            left.min(between)
        };
        let len = len.min(basis.max_block_len());
        if len >= WORTHWHILE && pace.blocks { len } else { 1 }
    }

    /// Records rows that did not enter the basis.
    pub fn learned(&mut self, rows: usize) {
        self.rows_since_growth = (self.rows_since_growth + rows).min(BLOCK);
    }

    /// Whether one row of a short block may enter the basis.
    pub fn expects_growth(self) -> bool {
        self.rows_since_growth < BLOCK
    }

    /// Records a row that was learned, and whether it entered the basis.
    pub fn counted(&mut self, grew: bool) {
        if grew {
            self.rows_since_growth /= 2;
        } else {
            self.learned(1);
        }
    }

    /// The estimate of a model file.
    pub fn of(rows_since_growth: u64) -> Self {
        Self { rows_since_growth: usize::try_from(rows_since_growth).unwrap_or(BLOCK).min(BLOCK) }
    }

    pub fn rows_since_growth(self) -> u64 {
        self.rows_since_growth as u64
    }
}
