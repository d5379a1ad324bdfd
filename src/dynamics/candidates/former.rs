//! Coefficients as of former rows.
//!
//! Forecasts under inputs are made for comparison when their target is there. The coefficients of that time have learned
//! the rows in between; those of the forecast's own row have not.

use std::collections::VecDeque;

use super::numbers::{Numbers, Pass, pass_all};

/// Coefficients, and the row at which others replaced them.
#[derive(Clone, Debug, Default)]
struct Replaced {
    at: usize,
    coefficients: Vec<f64>,
}

/// Those replaced recently, the earliest first.
#[derive(Clone, Debug, Default)]
pub struct Former(VecDeque<Replaced>);

impl Former {
    /// Keeps the coefficients that are replaced at row `now`, if there are any, for forecasts from up to `longest` rows
    /// before.
    pub fn keep(&mut self, now: usize, coefficients: Vec<f64>, longest: usize) {
        while self.0.front().is_some_and(|replaced| replaced.at + longest <= now) {
            self.0.pop_front();
        }
        if !coefficients.is_empty() {
            self.0.push_back(Replaced { at: now, coefficients });
        }
    }

    /// The coefficients after row `from`, these if they have not been replaced since.
    pub fn after<'a>(&'a self, from: usize, latest: &'a [f64]) -> &'a [f64] {
        self.0.iter().find(|replaced| replaced.at > from).map_or(latest, |replaced| &replaced.coefficients)
    }

    pub fn is_sound(&self, width: usize) -> bool {
        let fits = |replaced: &Replaced| replaced.coefficients.len() == width;
        self.0.iter().is_sorted_by_key(|replaced| replaced.at) && self.0.iter().all(fits)
    }
}

impl Numbers for Replaced {
    fn pass(&mut self, pass: &mut dyn Pass) {
        pass.count(&mut self.at);
        pass.list(&mut self.coefficients);
    }
}

impl Numbers for Former {
    fn pass(&mut self, pass: &mut dyn Pass) {
        let mut all: Vec<Replaced> = std::mem::take(&mut self.0).into();
        pass_all(&mut all, pass);
        self.0 = all.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forecasts_have_the_coefficients_of_their_own_row() {
        let mut former = Former::default();
        former.keep(9, Vec::new(), 20);
        former.keep(10, vec![0.0], 20);
        former.keep(15, vec![1.0], 20);
        former.keep(30, vec![2.0], 20);
        // Those before row 10 are needed no longer.
        let of = |from| former.after(from, &[3.0]).to_vec();
        assert_eq!((of(14), of(15), of(29)), (vec![1.0], vec![2.0], vec![2.0]));
        assert_eq!((of(30), of(40)), (vec![3.0], vec![3.0]));
        assert_eq!(former.0.len(), 2);
    }
}
