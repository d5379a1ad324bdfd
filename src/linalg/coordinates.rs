//! A vector of coordinates that grows without allocating for each row.

use std::cell::RefCell;

use super::lanes::Lanes;
use super::loops;

thread_local! {
    /// Scratch of this thread for rows that are only predicted; calls may be nested.
    static SPARE: RefCell<Vec<Coordinates>> = const { RefCell::new(Vec::new()) };
}

/// Calls `work` with coordinates of this thread, of any length and content: queries need no scratch of the
/// model, so that several threads can run them at once.
pub(crate) fn with_scratch<T>(work: impl FnOnce(&mut Coordinates) -> T) -> T {
    let mut scratch = SPARE.with_borrow_mut(Vec::pop).unwrap_or_default();
    let result = work(&mut scratch);
    SPARE.with_borrow_mut(|spare| spare.push(scratch));
    result
}

/// The coordinates of one point, padded with zeros to whole groups of lanes.
///
/// Allocated once and reused for every row.
#[derive(Clone, Default)]
pub struct Coordinates {
    values: Lanes,
    len: usize,
    scratch: Scratch,
}

/// Two vectors for the computation of coordinates, of any length and content.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) first: Vec<f64>,
    pub(crate) second: Vec<f64>,
    third: Vec<f64>,
    inner: Option<Box<Scratch>>,
}

impl Scratch {
    /// One more vector, and scratch for its computation.
    pub(crate) fn nested(&mut self) -> (&mut Vec<f64>, &mut Self) {
        (&mut self.third, self.inner.get_or_insert_default())
    }
}

impl std::fmt::Debug for Coordinates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Coordinates").field(&self.as_slice()).finish()
    }
}

impl Coordinates {
    /// Coordinates with these values.
    #[must_use]
    pub fn from_slice(values: &[f64]) -> Self {
        let mut new = Self::default();
        new.set(values.iter().copied());
        new
    }

    /// Their number.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The coordinates.
    #[must_use]
    pub fn as_slice(&self) -> &[f64] {
        &self.values[..self.len]
    }

    /// The coordinates with zeros behind them, up to whole groups of lanes.
    #[must_use]
    pub fn in_lanes(&self) -> &[f64] {
        &self.values
    }

    /// The same, mutable; the padding must stay zero.
    pub(crate) fn in_lanes_mut(&mut self) -> &mut [f64] {
        &mut self.values
    }

    /// `|z|^2`
    #[must_use]
    pub fn squared_norm(&self) -> f64 {
        loops::dot(&self.values, &self.values)
    }

    /// Replaces the values.
    pub fn set(&mut self, values: impl IntoIterator<Item = f64>) {
        let values = values.into_iter();
        self.len = values.size_hint().0;
        self.values.clear();
        self.values.resize(self.len);
        for (i, value) in values.enumerate() {
            if i < self.len {
                self.values[i] = value;
            } else {
                self.push(value);
            }
        }
    }

    /// Appends one coordinate.
    pub fn push(&mut self, value: f64) {
        self.len += 1;
        self.values.resize(self.len);
        self.values[self.len - 1] = value;
    }

    /// Returns `len` coordinates, to be overwritten, with the scratch.
    pub(crate) fn prepare(&mut self, len: usize) -> (&mut [f64], &mut Scratch) {
        self.len = len;
        self.values.resize(len);
        (&mut self.values, &mut self.scratch)
    }
}
