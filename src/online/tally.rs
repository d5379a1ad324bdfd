//! Sums over all rows, and over recent rows.

/// Decay of the weight of a recent row per row: a memory of about a thousand rows.
const KEPT: f64 = 0.999;

/// A sum over rows, and an exponentially weighted one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub all: f64,
    pub late: f64,
}

impl Tally {
    /// Adds the value of the next row.
    #[inline]
    pub fn add(&mut self, value: f64) {
        self.all += value;
        self.late = KEPT * self.late + value;
    }

    /// Adds the sums of `rows` later rows.
    pub fn follow(&mut self, later: Self, rows: u64) {
        self.all += later.all;
        self.late = KEPT.powf(rows as f64) * self.late + later.late;
    }

    /// Means over `n` rows, and over recent rows.
    pub fn means(self, rows: u64) -> Self {
        Self { all: self.all / rows as f64, late: self.late / late_rows(rows) }
    }

    /// Whether this can be a sum of squares or counts.
    pub fn is_sound(self) -> bool {
        self.all >= 0.0 && self.late >= 0.0
    }
}

/// Sum of the weights of recent rows after `n` rows.
pub(crate) fn late_rows(rows: u64) -> f64 {
    (1.0 - KEPT.powf(rows as f64)) / (1.0 - KEPT)
}
