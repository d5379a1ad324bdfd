//! A column of categories.

use std::f64::consts::FRAC_1_SQRT_2;

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
/// one for each of a number of groups, to two of which a category belongs by its hash: few pairs of
/// categories share both. The features of a category have norm 1, the others are 0; in a gap all
/// are 0.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Categories {
    /// Categories of the warm-up, sorted; empty if they are grouped.
    seen: Vec<f64>,
    width: usize,
    /// Groups of a category; 0 if they are not grouped, 1 in older models.
    groups: usize,
}

impl Categories {
    /// Categories among these cells, without gaps; grouped if there are more than `max_size`.
    pub fn of(cells: &[f64], max_size: usize) -> Self {
        let mut seen: Vec<f64> = cells.iter().copied().filter(|cell| !cell.is_nan()).collect();
        seen.sort_by(f64::total_cmp);
        seen.dedup();
        if seen.len() > max_size {
            return Self { seen: Vec::new(), width: max_size, groups: 2 };
        }
        Self { width: seen.len() + 1, seen, groups: 0 }
    }

    /// The categories of a [`state`](Self::state); `None` if it is invalid.
    pub fn from_state(state: &[f64], max_size: usize) -> Option<Self> {
        let (groups, seen) = state.split_first()?;
        let groups = (0..=2).find(|count| (*count as f64).to_bits() == groups.to_bits())?;
        let sound = seen.is_sorted_by(|a, b| a < b) && seen.iter().all(|cell| is_category(*cell));
        match (groups, seen.len()) {
            (1 | 2, 0) => Some(Self { seen: Vec::new(), width: max_size, groups }),
            (0, count) if sound && count <= max_size => {
                Some(Self { seen: seen.to_vec(), width: count + 1, groups })
            }
            _ => None,
        }
    }

    /// The number of groups of a category, then those of the warm-up.
    pub fn state(&self) -> Vec<f64> {
        std::iter::once(self.groups as f64).chain(self.seen.iter().copied()).collect()
    }

    pub fn width(&self) -> usize {
        self.width
    }

    /// Whether a cell is a new category, if categories are distinguished.
    pub fn is_new(&self, cell: f64) -> bool {
        let known = |seen: &f64| seen.total_cmp(&cell);
        self.groups == 0 && self.seen.binary_search_by(known).is_err()
    }

    /// The features of a cell.
    pub fn encode(&self, cell: f64, out: &mut [f64]) {
        out.fill(0.0);
        if cell.is_nan() {
            return;
        }
        if self.groups == 0 {
            let place = self.seen.binary_search_by(|known| known.total_cmp(&cell));
            out[place.unwrap_or(self.seen.len())] = 1.0;
            return;
        }
        let [first, second] = groups_of(cell, self.width);
        if self.groups == 1 || first == second {
            out[first] = 1.0;
        } else {
            (out[first], out[second]) = (FRAC_1_SQRT_2, FRAC_1_SQRT_2);
        }
    }
}

/// Two groups of a category, below this number; different if there are two.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole, not negative, and few")]
fn groups_of(cell: f64, groups: usize) -> [usize; 2] {
    let (hash, groups) = (cell as u64, groups as u64);
    let first = hash % groups;
    let second = (first + 1 + (hash / groups) % groups.saturating_sub(1).max(1)) % groups;
    [first as usize, second as usize]
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
            let features = features(&categories, *cell);
            assert!((features.iter().map(|one| one * one).sum::<f64>() - 1.0).abs() < 1e-12);
            total.iter_mut().zip(features).for_each(|(to, from)| *to += from * from);
        }
        assert!(total.iter().all(|count| (60.0..140.0).contains(count)), "{total:?}");
        assert_eq!(Categories::from_state(&categories.state(), 10), Some(categories));
        let older = Categories::from_state(&[1.0], 10).unwrap();
        assert!(cells.iter().all(|cell| (features(&older, *cell).iter().sum::<f64>() - 1.0).abs() < 1e-12));
        assert!(Categories::from_state(&[3.0], 10).is_none());
        assert_eq!(features(&Categories::of(&cells, 1), cells[3]), [1.0]);
    }
}
