//! Where the scores of two classes lie.

use crate::error::{Error, Result};
use crate::persist::{Reader, Writer};

/// Rows of a class that its mean remembers.
const ROWS_OF_CLASS: f64 = 50.0;

/// Means of the logarithms of odds in rows of either class.
#[derive(Clone, Debug, Default)]
pub(super) struct Middle {
    means: [f64; 2],
    rows: [f64; 2],
}

impl Middle {
    /// The middle between the two means; `None` before a row of both.
    pub fn at(&self) -> Option<f64> {
        (self.rows[0] > 0.0 && self.rows[1] > 0.0).then(|| 0.5 * (self.means[0] + self.means[1]))
    }

    /// The mean of a class, 0 or 1; `None` before a row of it.
    pub fn mean(&self, class: usize) -> Option<f64> {
        (self.rows[class] > 0.0).then(|| self.means[class])
    }

    /// A row of a class, 0 or 1.
    pub fn meet(&mut self, class: usize, odds: f64) {
        self.rows[class] = (self.rows[class] + 1.0).min(ROWS_OF_CLASS);
        self.means[class] += (odds - self.means[class]) / self.rows[class];
    }

    pub fn write(&self, out: &mut Writer) {
        out.vector("labels.middle", &[self.means, self.rows].concat());
    }

    /// What [`write`](Self::write) wrote; nothing in an older file.
    pub fn read(from: &Reader<'_>) -> Result<Self> {
        if !from.has("labels.middle") {
            return Ok(Self::default());
        }
        let numbers = from.vector("labels.middle", 4)?;
        let [means, rows] = [[numbers[0], numbers[1]], [numbers[2], numbers[3]]];
        if rows.iter().all(|rows| (0.0..=ROWS_OF_CLASS).contains(rows)) {
            Ok(Self { means, rows })
        } else {
            Err(Error::file("labels.middle is none"))
        }
    }
}
