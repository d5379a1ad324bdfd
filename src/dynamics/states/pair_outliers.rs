//! Pairs with outlying states, which an operator leaves out.
//!
//! A single state far from all others, such as a sensor's code for a missing value, would set scale
//! and bandwidth, and the operator would learn that the system goes there. Pairs with such a state
//! are left out, like those across a gap. States that the system stays near are learned: in a warm-up
//! with all their pairs, later without those that lead there and back.

use ndarray::ArrayView2;

use crate::error::{Error, Result};
use crate::online::winsorizer::{Limits, WinsorizerParams};
use crate::persist::{Reader, Writer};

/// An outlier is beyond 40 deviations from the mean (`ordinary`) and 40 root mean square steps from
/// the other state of its pair (`outlier`): of 4,000 states of Student's t with 3 degrees of freedom
/// one is with a probability of 1 %. With a `memory` of 10,000 pairs, a system that stays 1,000 rows
/// in each of several regimes remembers the others.
const PARAMS: WinsorizerParams = WinsorizerParams { outlier: 40.0, ordinary: 40.0, memory: 1e4, rare: 400 };

/// Limits of the states of pairs, and the pairs that are left out.
#[derive(Clone, Debug)]
pub struct PairOutliers {
    limits: Limits,
    /// Component and value of the first outlier, until it is taken. Not saved.
    first: Option<(usize, f64)>,
}

impl PairOutliers {
    /// Initial state.
    pub fn new() -> Self {
        Self { limits: Limits::new(PARAMS), first: None }
    }

    /// Number of pairs left out.
    pub fn count(&self) -> u64 {
        self.limits.limited
    }

    /// Component and value of the first outlier since this was called.
    pub fn take_first(&mut self) -> Option<(usize, f64)> {
        self.first.take()
    }

    /// Resets the number of pairs left out to 0.
    pub fn forget_count(&mut self) {
        self.limits.limited = 0;
    }

    /// Adds the pairs that another left out.
    pub fn add_count(&mut self, other: &Self) {
        self.limits.limited = self.limits.limited.saturating_add(other.limits.limited);
    }

    /// Restarts from the pairs of a warm-up, of states of `width` components before their delays;
    /// returns the rows to learn, if not all.
    pub fn restart(
        &mut self,
        x: ArrayView2<'_, f64>,
        next: ArrayView2<'_, f64>,
        width: usize,
    ) -> Option<Vec<usize>> {
        let found = self.limits.restart_pairs(x, next, width);
        self.first = found.iter().flatten().next().copied();
        let left_out: Vec<usize> = (0..found.len()).filter(|row| found[*row].is_some()).collect();
        rows_without(&left_out, found.len())
    }

    /// Records further pairs; returns the rows to learn, if not all.
    pub fn meet(&mut self, x: ArrayView2<'_, f64>, next: ArrayView2<'_, f64>) -> Option<Vec<usize>> {
        if !self.limits.are_known() {
            return None;
        }
        let mut left_out = Vec::new();
        for (row, (x, next)) in x.rows().into_iter().zip(next.rows()).enumerate() {
            let found = self.limits.outlier_of_pair(x, next);
            self.limits.meet_pair(x, next, found.is_some());
            self.first = self.first.or(found);
            if found.is_some() {
                left_out.push(row);
            }
        }
        rows_without(&left_out, x.nrows())
    }

    pub fn write(&self, out: &mut Writer) {
        self.limits.write(out);
    }

    /// Reads what [`write`](Self::write) wrote, for states of `width` components; the initial state
    /// for a file of a version without limits.
    pub fn read(width: usize, from: &Reader<'_>) -> Result<Self> {
        if from.has("limits.limited") && !from.has("limits.known") {
            return Err(Error::file("limits.known is missing"));
        }
        Ok(Self { limits: Limits::read(width, PARAMS, from)?, first: None })
    }
}

/// The others of `n` rows, if not all.
fn rows_without(left_out: &[usize], n: usize) -> Option<Vec<usize>> {
    let is_kept = |row: &usize| left_out.binary_search(row).is_err();
    (!left_out.is_empty()).then(|| (0..n).filter(is_kept).collect())
}
