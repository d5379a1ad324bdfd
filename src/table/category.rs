//! A column of categories.

use crate::scale::{flag, number};

/// Bits of a category's number: few enough for float64 to hold it exactly.
const BITS: u32 = 52;

/// Numbers of categories are below this.
const LIMIT: u64 = 1 << BITS;

/// The number of a category in a row: a hash of its text (FNV-1a), so that no list of categories
/// grows. Two of a thousand categories have the same number in one of 10^10 tables.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "52 bits fit")]
pub fn category(text: &str) -> f64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    ((hash ^ (hash >> BITS)) % LIMIT) as f64
}

/// Whether a number is one that [`category`] gives.
#[expect(clippy::cast_precision_loss, reason = "a power of two")]
pub(super) fn is_category(cell: f64) -> bool {
    cell >= 0.0 && cell.fract() == 0.0 && cell < LIMIT as f64
}

/// One feature for each category of the warm-up and one for all others, or, if there were too many,
/// one for each of a number of groups, to which categories belong by their hash. One feature is 1,
/// the others 0; in a gap all are 0.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Categories {
    /// Categories of the warm-up, sorted; empty if they are grouped.
    seen: Vec<f64>,
    width: usize,
}

impl Categories {
    /// Categories among these cells, without gaps; grouped if there are more than `max_size`.
    pub fn of(cells: &[f64], max_size: usize) -> Self {
        let mut seen: Vec<f64> = cells.iter().copied().filter(|cell| !cell.is_nan()).collect();
        seen.sort_by(f64::total_cmp);
        seen.dedup();
        if seen.len() > max_size {
            return Self { seen: Vec::new(), width: max_size };
        }
        Self { width: seen.len() + 1, seen }
    }

    /// The categories of a [`state`](Self::state); `None` if it is invalid.
    pub fn from_state(state: &[f64], max_size: usize) -> Option<Self> {
        let (grouped, seen) = state.split_first()?;
        let sound = seen.is_sorted_by(|a, b| a < b) && seen.iter().all(|cell| is_category(*cell));
        match (flag(*grouped)?, seen.len()) {
            (true, 0) => Some(Self { seen: Vec::new(), width: max_size }),
            (false, count) if sound && count <= max_size => {
                Some(Self { seen: seen.to_vec(), width: count + 1 })
            }
            _ => None,
        }
    }

    /// 1 if categories are grouped, then those of the warm-up.
    pub fn state(&self) -> Vec<f64> {
        let grouped = self.width != self.seen.len() + 1;
        std::iter::once(number(grouped)).chain(self.seen.iter().copied()).collect()
    }

    pub fn width(&self) -> usize {
        self.width
    }

    /// Whether a cell is a new category, if categories are distinguished.
    pub fn is_new(&self, cell: f64) -> bool {
        let known = |seen: &f64| seen.total_cmp(&cell);
        self.width == self.seen.len() + 1 && self.seen.binary_search_by(known).is_err()
    }

    /// The features of a cell.
    pub fn encode(&self, cell: f64, out: &mut [f64]) {
        out.fill(0.0);
        if cell.is_nan() {
            return;
        }
        let place = if self.width == self.seen.len() + 1 {
            self.seen.binary_search_by(|known| known.total_cmp(&cell)).unwrap_or(self.seen.len())
        } else {
            group(cell, self.width)
        };
        out[place] = 1.0;
    }
}

/// The group of a category, below this number.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole, not negative, and few")]
fn group(cell: f64, groups: usize) -> usize {
    (cell as u64 % groups as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(categories: &Categories, cell: f64) -> Vec<f64> {
        let mut out = vec![9.0; categories.width()];
        categories.encode(cell, &mut out);
        out
    }

    #[test]
    fn one_feature_is_one() {
        let cells = ["red", "green", "red"].map(category);
        let categories = Categories::of(&cells, 32);
        let red = features(&categories, category("red"));
        assert!(red == [1.0, 0.0, 0.0] || red == [0.0, 1.0, 0.0]);
        assert_ne!(features(&categories, category("red")), features(&categories, category("green")));
        assert_eq!(features(&categories, category("blue")), [0.0, 0.0, 1.0]);
        assert_eq!(features(&categories, f64::NAN), [0.0; 3]);
        assert_eq!(Categories::from_state(&categories.state(), 32), Some(categories));
    }

    #[test]
    fn many_categories_are_grouped_evenly() {
        let cells: Vec<f64> = (0..1000).map(|i| category(&format!("user {i}"))).collect();
        assert!(cells.iter().all(|cell| is_category(*cell)));
        let categories = Categories::of(&cells, 10);
        assert_eq!(categories.width(), 10);
        let mut total = [0.0; 10];
        for cell in &cells {
            total.iter_mut().zip(features(&categories, *cell)).for_each(|(to, from)| *to += from);
        }
        assert!(total.iter().all(|count| (60.0..140.0).contains(count)), "{total:?}");
        assert_eq!(Categories::from_state(&categories.state(), 10), Some(categories));
    }
}
