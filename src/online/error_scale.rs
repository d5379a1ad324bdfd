//! How large recent errors are.
//!
//! The exponentially weighted mean of the logarithms of errors, `u += (e - u) / min(n, usual)`, beside a faster one of the
//! `latest`. A geometric mean follows errors that become smaller as soon as errors that become larger, and one outlier moves
//! it little. Where the two means part by more than chance makes of so few errors, the errors have changed: the scale
//! begins again from the latest. (A pair of averages of different memory, as moving-average charts of process control:
//! Roberts, Control chart tests based on geometric moving averages, 1959.)

/// Numbers of an [`ErrorScale`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct ErrorScaleParams {
    /// Errors whose mean logarithm is the scale.
    pub usual: u64,
    /// Errors of the mean that notices a change.
    pub latest: u64,
    /// Distance between the two means above which errors have changed, in the unit of the logarithms.
    pub change: f64,
    /// Errors that those before a change count as.
    pub kept: u64,
}

/// Mean logarithms of errors, in any unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ErrorScale {
    pub usual: f64,
    pub latest: f64,
    /// Errors since it began or changed, as far as they count.
    pub met: u64,
}

impl ErrorScale {
    /// A scale that counts as that of `met` errors.
    pub const fn new(logarithm: f64, met: u64) -> Self {
        Self { usual: logarithm, latest: logarithm, met }
    }

    /// Takes the logarithm of an error: whether errors have changed with it.
    #[inline]
    pub fn follow(&mut self, logarithm: f64, params: &ErrorScaleParams) -> bool {
        self.met = (self.met + 1).min(params.usual);
        let n = self.met as f64;
        self.usual += n.recip() * (logarithm - self.usual);
        self.latest += (params.latest as f64).min(n).recip() * (logarithm - self.latest);
        let changed = (self.latest - self.usual).abs() > params.change;
        if changed {
            (self.usual, self.met) = (self.latest, params.kept);
        }
        changed
    }

    /// Adds the statistics of later errors, as this share of all.
    pub fn add(&mut self, later: &Self, share: f64, params: &ErrorScaleParams) {
        self.usual += share * (later.usual - self.usual);
        self.latest += share * (later.latest - self.latest);
        self.met = (self.met + later.met).min(params.usual);
    }

    /// Whether it can be that of errors whose logarithms are at most so far from 0.
    pub fn is_sound(&self, furthest: f64, params: &ErrorScaleParams) -> bool {
        [self.usual, self.latest].iter().all(|size| size.abs() <= furthest) && self.met <= params.usual
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::normal;

    const PARAMS: ErrorScaleParams = ErrorScaleParams { usual: 50, latest: 10, change: 1.5, kept: 5 };

    #[test]
    fn the_first_errors_are_averaged_and_later_ones_exponentially() {
        let logarithm = |t: u64| 0.3 * normal(1, t);
        let mut scale = ErrorScale::new(0.0, 0);
        (0..50).for_each(|t| assert!(!scale.follow(logarithm(t), &PARAMS)));
        let mean = (0..50).map(logarithm).sum::<f64>() / 50.0;
        assert!((scale.usual - mean).abs() < 1e-12);
        let expected = mean + (logarithm(50) - mean) / 50.0;
        scale.follow(logarithm(50), &PARAMS);
        assert!((scale.usual - expected).abs() < 1e-12);
    }

    #[test]
    fn a_change_is_noticed_within_the_latest_errors_in_both_directions() {
        for step in [-4.0, 4.0] {
            let mut scale = ErrorScale::new(0.0, 0);
            (0..200).for_each(|t| assert!(!scale.follow(0.3 * normal(2, t), &PARAMS)));
            let noticed = (0..10).position(|t| scale.follow(step + 0.3 * normal(3, t), &PARAMS));
            assert!(noticed.is_some_and(|row| row > 2), "{noticed:?}");
            (0..50).for_each(|t| _ = scale.follow(step + 0.3 * normal(4, t), &PARAMS));
            assert!((scale.usual - step).abs() < 0.5, "{scale:?}");
        }
    }
}
