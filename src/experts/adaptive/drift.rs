//! Whether the stream has changed: errors of late beside those before.

use crate::error::{Error, Result};
use crate::persist::{Reader, Writer};

/// Rows of a block.
pub(super) const BLOCK: usize = 256;

/// Blocks that are remembered.
const MOST: usize = 64;

/// Fewest blocks before the latest from which its error is expected.
const FEWEST: usize = 3;

/// A block whose mean error is this many times the median of those before says that the stream has changed.
const RATIO: f64 = 1.6;

/// Share of a block's rows that lie beyond those known at which the columns have changed.
const BEYOND: f64 = 0.1;

/// Mean absolute errors of blocks of rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Drift {
    /// Of whole blocks, the latest last: the mean over outputs of the absolute error in units of its expectation.
    blocks: Vec<f64>,
    sum: f64,
    beyond: u64,
}

/// What a whole block says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is like those before.
    Steady,
    /// Columns have left their ranges.
    Ranges,
    /// Errors are larger than they were.
    Errors,
}

impl Drift {
    /// Takes the error of a row, and whether the row lies beyond those known.
    pub fn add(&mut self, error: f64, beyond: bool) {
        self.sum += error;
        self.beyond += u64::from(beyond);
    }

    /// Ends a block.
    pub fn end(&mut self) -> Verdict {
        let (mean, beyond) = (self.sum / BLOCK as f64, self.beyond as f64 / BLOCK as f64);
        (self.sum, self.beyond) = (0.0, 0);
        let mut before = self.blocks.clone();
        self.blocks.push(mean);
        if self.blocks.len() > MOST {
            self.blocks.remove(0);
        }
        before.sort_by(f64::total_cmp);
        if before.len() >= FEWEST && mean > RATIO * before[before.len() / 2] {
            Verdict::Errors
        } else if beyond > BEYOND {
            Verdict::Ranges
        } else {
            Verdict::Steady
        }
    }

    pub fn write(&self, out: &mut Writer) {
        out.vector("drift.blocks", &self.blocks);
        out.vector("drift.sum", &[self.sum]);
        out.counts("drift.counts", &[self.blocks.len() as u64, self.beyond]);
    }

    pub fn read(from: &Reader<'_>) -> Result<Self> {
        let [n, beyond] = from.counts("drift.counts")?;
        let n = usize::try_from(n).ok().filter(|n| *n <= MOST);
        let n = n.ok_or_else(|| Error::file("drift.counts are too large"))?;
        Ok(Self { blocks: from.vector("drift.blocks", n)?, sum: from.vector("drift.sum", 1)?[0], beyond })
    }
}
