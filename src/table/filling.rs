//! Filling of gaps in a column of numbers.

use crate::kernel::LARGEST;
use crate::scale::flag;

/// Running mean of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Filling {
    count: f64,
    mean: f64,
}

impl Filling {
    /// The state after this many numbers with this mean.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    pub fn new(count: usize, mean: f64) -> Self {
        Self { count: count as f64, mean }
    }

    /// The state from its [`parts`](Self::parts); `None` if they are invalid.
    pub fn from_parts([count, mean]: [f64; 2]) -> Option<Self> {
        let sound = count >= 0.0 && count.is_finite() && flag(count.fract()) == Some(false);
        (sound && mean.abs() <= LARGEST).then_some(Self { count, mean })
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

    /// Adds a number.
    pub fn count(&mut self, value: f64) {
        self.count += 1.0;
        self.mean += (value - self.mean) / self.count;
    }
}
