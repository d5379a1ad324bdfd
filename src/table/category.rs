//! A column of categories.

use std::f64::consts::FRAC_1_SQRT_2;

/// Bits of a category's number: few enough for float64 to hold it exactly.
const BITS: u32 = 52;

/// Numbers of categories are below this.
const LIMIT: u64 = 1 << BITS;

/// The number of a category in a row: a hash of its text (FNV-1a), so that no list of categories
/// grows. Two of a thousand categories have the same number in one of 10^10 tables. White space around
/// the text does not count, since it is invisible.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "52 bits fit")]
pub fn category(text: &str) -> f64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = text.trim().bytes().fold(0xcbf2_9ce4_8422_2325, step);
    ((hash ^ (hash >> BITS)) % LIMIT) as f64
}

/// Whether a number is one that [`category`] gives.
#[expect(clippy::cast_precision_loss, reason = "a power of two")]
pub(super) fn is_category(cell: f64) -> bool {
    cell >= 0.0 && cell.fract() == 0.0 && cell < LIMIT as f64
}

/// Most features that are kept for categories after the warm-up: if rows so far came category by
/// category, if all had the same one, and if they came in a random order, in which two categories
/// rarely become more.
const RESERVE_IN_RUNS: usize = 64;
const RESERVE_OF_ONE: usize = 8;
const RESERVE: usize = 4;

/// Rows come category by category if neighbours differ in less than this share of what is expected
/// in random order.
const RUNS: f64 = 0.5;

/// Fewest cells, and least share of them that another one equals. Below it categories only tell rows apart, as names and texts
/// do: a distance that is the same for all pairs of rows is no feature, and many features of it make bandwidths too large.
const FEWEST: usize = 40;
const REPEATED: f64 = 0.1;

/// One feature for each category of the warm-up, and some for others: the first of these have one
/// each, in the order in which they come, and all later ones share them, two each by its hash. If
/// there were too many in the warm-up, all are such shared groups. Few pairs of categories share both
/// of their groups. The features of a category have norm 1, the others are 0; in a gap, and for a
/// category that has not been learned while features are left, all are 0. With one feature for
/// others, all share it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Categories {
    /// Categories of the warm-up, sorted; empty if they are grouped.
    seen: Vec<f64>,
    /// Categories after the warm-up with a feature of their own, in the order in which they came.
    later: Vec<f64>,
    /// Features of categories that are not of the warm-up.
    others: usize,
    /// Groups of a category; 0 if they are not grouped, 1 in older models.
    groups: usize,
    /// Whether nearly all rows of the warm-up had a category of their own: all have the features of a gap.
    differ: bool,
}

impl Categories {
    /// Categories among these cells, without gaps; grouped if there are more than `max_size`. With
    /// `reserve`, features are kept for as many others as the order of the cells lets expect.
    pub fn of(cells: &[f64], max_size: usize, reserve: bool) -> Self {
        let known: Vec<f64> = cells.iter().copied().filter(|cell| !cell.is_nan()).collect();
        if known.len() >= FEWEST && share_of_repeated(&known) < REPEATED {
            return Self { differ: true, ..Self::grouped(1, 2) };
        }
        let seen = distinct(&known);
        if seen.len() > max_size {
            return Self::grouped(max_size, 2);
        }
        let others = if reserve { expected_others(&known, &seen) } else { 1 };
        Self { seen, later: Vec::new(), others, groups: 0, differ: false }
    }

    fn grouped(others: usize, groups: usize) -> Self {
        Self { seen: Vec::new(), later: Vec::new(), others, groups, differ: false }
    }

    /// The categories of a [`state`](Self::state); `None` if it is invalid.
    pub fn from_state(state: &[f64], max_size: usize) -> Option<Self> {
        let count =
            |value: &f64, most: usize| (0..=most).find(|count| (*count as f64).to_bits() == value.to_bits());
        let sound = |seen: &[f64]| {
            seen.len() <= max_size
                && seen.is_sorted_by(|a, b| a < b)
                && seen.iter().all(|cell| is_category(*cell))
        };
        let (kind, rest) = state.split_first()?;
        match (count(kind, 4)?, rest) {
            (groups @ (1 | 2), []) => Some(Self::grouped(max_size, groups)),
            (0, seen) if sound(seen) => Some(Self { seen: seen.to_vec(), ..Self::grouped(1, 0) }),
            (4, []) => Some(Self { differ: true, ..Self::grouped(1, 2) }),
            (3, [others, of_warm_up, rest @ ..]) => {
                let others = count(others, RESERVE_IN_RUNS)?;
                let (seen, later) = rest.split_at_checked(count(of_warm_up, max_size)?)?;
                let fits = others > 1 && later.len() <= others && distinct(rest).len() == rest.len();
                (fits && sound(seen) && later.iter().all(|cell| is_category(*cell))).then(|| Self {
                    seen: seen.to_vec(),
                    later: later.to_vec(),
                    ..Self::grouped(others, 0)
                })
            }
            _ => None,
        }
    }

    /// The number of groups of a category, then those of the warm-up; or 3, the number of features
    /// of others, that of categories of the warm-up, these, and those after it; or 4 if rows differ.
    pub fn state(&self) -> Vec<f64> {
        if self.differ {
            return vec![4.0];
        }
        if self.groups > 0 || self.others == 1 {
            return std::iter::once(self.groups as f64).chain(self.seen.iter().copied()).collect();
        }
        let head = [3.0, self.others as f64, self.seen.len() as f64];
        head.into_iter().chain(self.seen.iter().chain(&self.later).copied()).collect()
    }

    pub fn width(&self) -> usize {
        self.seen.len() + self.others
    }

    /// Whether a cell is not of the warm-up, if categories are distinguished.
    pub fn is_new(&self, cell: f64) -> bool {
        self.groups == 0 && self.place(cell).is_none()
    }

    /// Whether a cell is known neither from the warm-up nor from later rows, if categories are distinguished.
    pub fn is_unknown(&self, cell: f64) -> bool {
        self.is_new(cell) && !self.later.contains(&cell)
    }

    /// Whether the next category that is not known gets a feature of its own.
    pub fn grows(&self) -> bool {
        self.groups == 0 && self.others > 1 && self.later.len() < self.others
    }

    /// Whether [`meet`](Self::meet) would give this cell a feature.
    pub fn is_met_by(&self, cell: f64) -> bool {
        self.grows() && self.is_unknown(cell)
    }

    /// Gives a category that is not known a feature, if one is left.
    pub fn meet(&mut self, cell: f64) {
        if self.is_met_by(cell) {
            self.later.push(cell);
        }
    }

    /// The place of a category of the warm-up.
    fn place(&self, cell: f64) -> Option<usize> {
        self.seen.binary_search_by(|known| known.total_cmp(&cell)).ok()
    }

    /// The features of a cell.
    pub fn encode(&self, cell: f64, out: &mut [f64]) {
        out.fill(0.0);
        if cell.is_nan() || self.differ {
            return;
        }
        if let Some(place) = self.place(cell) {
            out[place] = 1.0;
            return;
        }
        let others = &mut out[self.seen.len()..];
        if let Some(place) = self.later.iter().position(|known| known.to_bits() == cell.to_bits()) {
            others[place] = 1.0;
        } else if !self.grows() {
            let [first, second] = groups_of(cell, self.others);
            if self.groups == 1 || first == second {
                others[first] = 1.0;
            } else {
                (others[first], others[second]) = (FRAC_1_SQRT_2, FRAC_1_SQRT_2);
            }
        }
    }
}

/// Share of these cells that another one equals.
fn share_of_repeated(cells: &[f64]) -> f64 {
    let mut sorted = cells.to_vec();
    sorted.sort_by(f64::total_cmp);
    let single = sorted.chunk_by(|a, b| a.to_bits() == b.to_bits()).filter(|equal| equal.len() == 1).count();
    1.0 - single as f64 / cells.len().max(1) as f64
}

/// Different cells, sorted.
fn distinct(cells: &[f64]) -> Vec<f64> {
    let mut seen = cells.to_vec();
    seen.sort_by(f64::total_cmp);
    seen.dedup();
    seen
}

/// Number of features for categories after these cells.
fn expected_others(cells: &[f64], seen: &[f64]) -> usize {
    let n = cells.len() as f64;
    let changes = cells.windows(2).filter(|pair| pair[0].to_bits() != pair[1].to_bits()).count();
    let mut sorted = cells.to_vec();
    sorted.sort_by(f64::total_cmp);
    let counts = sorted.chunk_by(|a, b| a.to_bits() == b.to_bits()).map(|equal| equal.len() as f64);
    let equal_pairs: f64 = counts.map(|count| count * (count - 1.0)).sum();
    let expected = (n - 1.0) - equal_pairs / n;
    if seen.len() <= 1 {
        RESERVE_OF_ONE
    } else if (changes as f64) < RUNS * expected {
        (16 * seen.len()).min(RESERVE_IN_RUNS)
    } else if seen.len() == 2 {
        1
    } else {
        seen.len().min(RESERVE)
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
        let categories = Categories::of(&cells, 32, false);
        let red = features(&categories, category("red"));
        assert!(red == [1.0, 0.0, 0.0] || red == [0.0, 1.0, 0.0]);
        assert_ne!(features(&categories, category("red")), features(&categories, category("green")));
        assert_eq!(features(&categories, category(" red\t")), red);
        assert_eq!(features(&categories, category("blue")), [0.0, 0.0, 1.0]);
        assert_eq!(features(&categories, f64::NAN), [0.0; 3]);
        assert_eq!(Categories::from_state(&categories.state(), 32), Some(categories));
    }

    #[test]
    fn many_categories_are_grouped_evenly() {
        let cells: Vec<f64> = (0..1000).map(|i| category(&format!("user {}", i % 500))).collect();
        assert!(cells.iter().all(|cell| is_category(*cell)));
        let categories = Categories::of(&cells, 10, true);
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
        assert_eq!(features(&Categories::of(&cells, 1, false), cells[3]), [1.0]);
    }

    #[test]
    fn categories_after_the_warm_up_have_features_as_their_order_lets_expect() {
        let of = |names: &[usize]| {
            let cells: Vec<f64> = names.iter().map(|i| category(&format!("town {i}"))).collect();
            Categories::of(&cells, 128, true)
        };
        let in_runs: Vec<usize> = (0..200).map(|i| i / 40).collect();
        let in_turn: Vec<usize> = (0..200).map(|i| i % 5).collect();
        let late: Vec<usize> = (0..200).map(|i| if i < 100 { i % 5 } else { i % 8 }).collect();
        let others = [in_runs, in_turn, late, vec![0; 200]].map(|names| of(&names).others);
        assert_eq!(others, [RESERVE_IN_RUNS, RESERVE, RESERVE, RESERVE_OF_ONE]);
    }

    #[test]
    fn categories_that_only_tell_rows_apart_are_none() {
        let user = |i: usize| category(&format!("user {i}"));
        let cells =
            |equal: usize| -> Vec<f64> { (0..200).map(|i| user(if i < equal { 0 } else { i })).collect() };
        let all = Categories::of(&cells(0), 300, false);
        assert_eq!((all.width(), all.is_new(category("a")), all.grows()), (1, false, false));
        assert!(cells(0).iter().all(|cell| features(&all, *cell) == [0.0]));
        assert_eq!(Categories::from_state(&all.state(), 300), Some(all));
        assert!(Categories::from_state(&[4.0, 1.0], 300).is_none());
        // Too few to tell, and repeated ones.
        assert_eq!(Categories::of(&cells(0)[..FEWEST - 1], 300, false).width(), FEWEST);
        assert_eq!(Categories::of(&cells(30), 300, false).width(), 171 + 1);
    }

    #[test]
    fn later_categories_have_features_of_their_own_then_shared_ones() {
        let cell = |i: usize| category(&format!("town {i}"));
        let mut categories = Categories::of(&[cell(0); 50], 128, true);
        assert_eq!(features(&categories, cell(1)), [0.0; 9]);
        let mut first = Vec::new();
        for i in 1..=20 {
            assert_eq!(categories.is_met_by(cell(i)), i <= 8);
            categories.meet(cell(i));
            first.push(features(&categories, cell(i)));
            assert!((first[i - 1].iter().map(|one| one * one).sum::<f64>() - 1.0).abs() < 1e-12);
        }
        for (i, first) in first.iter().enumerate() {
            assert_eq!(features(&categories, cell(i + 1)), *first, "they do not move");
            assert_eq!(first.contains(&1.0), i < 8);
        }
        assert_eq!(Categories::from_state(&categories.state(), 128), Some(categories.clone()));
        let state = categories.state();
        for broken in [
            [&state[..], &[cell(70)]].concat(),
            [&state[..], &[cell(3)]].concat(),
            [&[3.0, 1.0, 0.0][..], &[cell(3)]].concat(),
            [3.0, 8.0, 5.0].to_vec(),
            [3.0, 8.0, 0.0, 0.5].to_vec(),
        ] {
            assert!(Categories::from_state(&broken, 128).is_none());
        }
    }
}
