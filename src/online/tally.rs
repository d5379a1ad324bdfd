//! A sum over rows, beside the same over the late ones.

/// What is left of the weight of a late row after another: the latest thousand rows or so are late.
const KEPT: f64 = 0.999;

/// A sum over rows, and one in which the weight of a row falls by a thousandth with each that follows it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub all: f64,
    pub late: f64,
}

impl Tally {
    /// Adds the number of the next row.
    #[inline]
    pub fn add(&mut self, value: f64) {
        self.all += value;
        self.late = KEPT * self.late + value;
    }

    /// Adds what is known of `rows` later rows.
    pub fn follow(&mut self, later: Self, rows: u64) {
        self.all += later.all;
        self.late = KEPT.powf(rows as f64) * self.late + later.late;
    }

    /// Means over so many rows: over all, and over the late ones.
    pub fn means(self, rows: u64) -> Self {
        Self { all: self.all / rows as f64, late: self.late / late_rows(rows) }
    }

    /// Whether it may be a sum of squares or counts.
    pub fn is_sound(self) -> bool {
        self.all >= 0.0 && self.late >= 0.0
    }
}

/// The weights of the late of so many rows, added up.
pub(crate) fn late_rows(rows: u64) -> f64 {
    (1.0 - KEPT.powf(rows as f64)) / (1.0 - KEPT)
}
