//! Filling of gaps in a column of numbers.

use crate::kernel::LARGEST;
use crate::scale::flag;

/// The value of a gap: the running mean of a column, or the mean of its warm-up.
///
/// Where rows come in an order, the running mean follows the target, so that a model reads the target of a row with a gap from
/// it. That helps with the next row, and is wrong for any earlier one: models that answer for any row take the fixed mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Filling {
    count: f64,
    mean: f64,
    /// Whether the mean follows the rows after the warm-up.
    follows: bool,
}

impl Filling {
    /// The state after this many numbers with this mean.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    pub fn new(count: usize, mean: f64, follows: bool) -> Self {
        Self { count: count as f64, mean, follows }
    }

    /// The state from its [`parts`](Self::parts); `None` if they are invalid.
    pub fn from_parts([count, mean]: [f64; 2], follows: bool) -> Option<Self> {
        let sound = count >= 0.0 && count.is_finite() && flag(count.fract()) == Some(false);
        (sound && mean.abs() <= LARGEST).then_some(Self { count, mean, follows })
    }

    /// Number of cells, and their mean.
    pub fn parts(&self) -> [f64; 2] {
        [self.count, self.mean]
    }

    /// Value of a gap; 0 before the first number.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Whether there was no number yet.
    pub fn is_empty(&self) -> bool {
        self.count < 1.0
    }

    /// Whether a number would change the value.
    pub fn changes(&self) -> bool {
        self.follows || self.is_empty()
    }

    /// Adds a number.
    pub fn count(&mut self, value: f64) {
        if !self.changes() {
            return;
        }
        self.count += 1.0;
        self.mean += (value - self.mean) / self.count;
    }
}
