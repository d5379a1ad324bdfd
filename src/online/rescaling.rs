//! Half-widths of intervals follow the scale of recent errors.

use super::error_scale::{ErrorScale, ErrorScaleParams};

/// Squares of scores are between this and its reciprocal; a half-width whose square is as large is
/// infinite.
pub(crate) const FARTHEST: f64 = 1e43;

/// For log2 of squared errors: a change is a factor of ten in size, which chance does not explain.
const SCALE: ErrorScaleParams = ErrorScaleParams { usual: 300, latest: 10, change: 6.6, kept: 10 };

/// Parameters of a [`Rescaling`].
struct RescalingParams {
    /// Weight of the initial Gaussian errors, in errors.
    prior_errors: u64,
    /// Most that the log2 of a squared error counts below the scale: a single error has bounded
    /// influence.
    max_fall: f64,
    /// The same above it.
    max_rise: f64,
    /// Errors between two updates of the half-widths.
    period: u64,
}

const PARAMS: RescalingParams =
    RescalingParams { prior_errors: 5, max_fall: 10.0, max_rise: 40.0, period: 16 };

/// The mean logarithm to base 2 of squares of Gaussian errors, in deviations.
const GAUSSIAN: f64 = -1.83;

/// Range of logarithms.
const FURTHEST: f64 = 200.0;

/// Rounding allowed in means of numbers.
const ROUNDED: f64 = 1.0 + 1e-9;

/// Consecutive zero errors after which updates stop.
pub(crate) const STILL: u64 = 30;

/// Geometric mean of recent errors, in units of their spread.
///
/// Half-widths move in steps of a few percent. Where errors become many times larger or smaller (a
/// model that has found the relation, a stuck sensor that resumes) this would take hundreds of
/// rows. So all half-widths are multiplied by the change of the geometric mean of about 300 errors
/// (intervals half a percent wider where nothing changes), and at once where ten errors agree on
/// another size. Coverage is not affected: it is a change of units that is known before the row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rescaling {
    scale: ErrorScale,
    /// The scale at the last update of the half-widths.
    followed: f64,
    /// Errors since the last update of the half-widths.
    since: u64,
    /// Consecutive zero errors.
    still: u64,
}

impl Default for Rescaling {
    fn default() -> Self {
        Self { scale: ErrorScale::new(GAUSSIAN, PARAMS.prior_errors), followed: GAUSSIAN, since: 0, still: 0 }
    }
}

impl Rescaling {
    /// The state as numbers.
    pub const NUMBERS: usize = 6;

    /// Records the squared error in spreads; returns the factor on squares of half-widths, if they
    /// change.
    #[inline]
    pub fn meet(&mut self, square: f64) -> Option<f64> {
        // Zero, or without an estimate of the spread.
        if square <= 0.0 || square >= FARTHEST {
            return None;
        }
        let nearest = (self.followed - PARAMS.max_fall).max(-FURTHEST);
        let size = log2(square).clamp(nearest, (self.followed + PARAMS.max_rise).min(FURTHEST));
        self.since += 1;
        (self.scale.follow(size, &SCALE) || self.since >= PARAMS.period).then(|| {
            let factor = (self.scale.usual - self.followed).exp2();
            (self.followed, self.since) = (self.scale.usual, 0);
            factor
        })
    }

    /// Records whether a prediction was exact; returns whether many in a row were.
    #[inline]
    pub fn is_still(&mut self, exact: bool) -> bool {
        self.still = if exact { self.still + 1 } else { 0 };
        self.still > STILL
    }

    /// Merges later errors, with this share of all.
    pub fn add(&mut self, later: &Self, share: f64) {
        self.scale.add(&later.scale, share, &SCALE);
        self.followed += share * (later.followed - self.followed);
        (self.since, self.still) = (later.since, later.still);
    }

    pub fn numbers(&self) -> [f64; Self::NUMBERS] {
        let ErrorScale { usual, latest, met } = self.scale;
        let counts = [met, self.since, self.still].map(|count| count as f64);
        [usual, latest, self.followed, counts[0], counts[1], counts[2]]
    }

    /// Inverse of [`numbers`](Self::numbers); `None` if they are invalid.
    pub fn of_numbers(numbers: &[f64]) -> Option<Self> {
        let (sizes, counts) = numbers.split_at(3);
        let sound =
            counts.iter().all(|count| *count >= 0.0 && *count < 2.0_f64.powi(53) && count.fract() == 0.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
        let count = |k: usize| counts[k] as u64;
        sound
            .then(|| Self {
                scale: ErrorScale { usual: sizes[0], latest: sizes[1], met: count(0) },
                followed: sizes[2],
                since: count(1),
                still: count(2),
            })
            .filter(Self::is_sound)
    }

    /// Whether the state is valid, which learning maintains and reading checks.
    fn is_sound(&self) -> bool {
        self.scale.is_sound(ROUNDED * FURTHEST, &SCALE) && self.followed.abs() <= ROUNDED * FURTHEST
    }
}

/// Approximate log2 of a normal number: exact at powers of 2, and at most 0.09 too small between
/// them.
#[inline]
fn log2(value: f64) -> f64 {
    // The bits of the exponent followed by those of the mantissa: linear between powers of 2.
    value.to_bits() as f64 * (1.0 / (1_u64 << 52) as f64) - 1023.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::normal;

    /// The total factor on the half-widths, and the last row at which they changed by more than a
    /// half.
    fn moved(rows: u64, error: impl Fn(u64) -> f64) -> (f64, u64) {
        let (mut size, mut all, mut last) = (Rescaling::default(), 1.0, 0);
        for t in 0..rows {
            if let Some(factor) = size.meet(error(t).powi(2)) {
                all *= factor;
                last = if (0.5..2.0).contains(&factor) { last } else { t };
            }
        }
        (all.sqrt(), last)
    }

    #[test]
    fn reaches_follow_errors_and_chance_does_not_move_them() {
        let (factor, last) = moved(5000, |t| normal(1, t));
        assert!((factor - 1.0).abs() < 0.2 && last == 0, "{factor}, {last}");
        let (factor, _) = moved(5000, |t| 1e-3 * normal(2, t));
        assert!((factor / 1e-3 - 1.0).abs() < 0.2, "{factor}");
    }

    #[test]
    fn errors_that_are_suddenly_many_times_larger_or_smaller_are_followed_soon() {
        for times in [1e-6, 1e-2, 1e2, 1e6] {
            let jump = |t: u64| if t < 2000 { 1.0 } else { times } * normal(3, t);
            let (factor, last) = moved(2200, jump);
            assert!((factor / times).ln().abs() < 1.0, "{factor} of {times}");
            assert!((2000..2150).contains(&last), "{last}");
        }
    }

    #[test]
    fn one_outlier_or_some_tiny_errors_barely_move_half_widths() {
        let (scale, _) = moved(3000, |t| if t == 2990 { 1e18 } else { normal(4, t) });
        assert!((0.5..2.0).contains(&scale), "{scale}");
        let (tiny, _) = moved(3000, |t| if t % 20 == 0 { 1e-12 } else { normal(5, t) });
        assert!((0.5..2.0).contains(&tiny), "{tiny}");
        assert!(moved(100, |_| 0.0).0.to_bits() == 1.0_f64.to_bits());
    }

    #[test]
    fn logarithms_are_nearly_right() {
        for value in [1e-300, 0.3, 1.0, 1.5, 4.0, 7e200] {
            assert!((log2(value) - value.log2()).abs() < 0.09);
        }
    }
}
