//! How large errors are of late.

/// Squares of scores are within this, and one part of it. A reach whose square is as large is infinite.
pub(crate) const FARTHEST: f64 = 1e43;

/// Errors that count: how many the usual size is the mean of, and how many the latest is.
const USUAL: u64 = 300;
const LATEST: u64 = 10;

/// Errors that Gaussian ones at the beginning count as.
const PRIOR: u64 = 5;

/// The mean logarithm to base 2 of squares of Gaussian errors, in deviations.
const GAUSSIAN: f64 = -1.83;

/// Distance, as a logarithm to base 2 of squares, at which the latest errors alone are believed: a factor of ten in size,
/// which chance does not make.
const FAR: f64 = 6.6;

/// Errors count as that much smaller or larger than usual, at most: a single one is not believed, whatever it is.
const SMALLEST: f64 = 10.0;
const LARGEST: f64 = 40.0;

/// Logarithms are within this.
const FURTHEST: f64 = 200.0;

/// What means of numbers may be beyond the furthest of them by rounding.
const ROUNDED: f64 = 1.0 + 1e-9;

/// Errors after which reaches are moved.
const OFTEN: u64 = 16;

/// Exact predictions in a row after which more of them say nothing of the errors that are to come.
pub(crate) const STILL: u64 = 30;

/// The geometric mean of the latest errors, in units of their spreads.
///
/// Reaches go where they have to be by steps of some percent. Where errors become many times larger or smaller (a model that
/// suddenly understands, a sensor that has stuck and comes back) this takes hundreds of rows, which are all inside, or all
/// outside. So all reaches move along with the geometric mean of some hundred errors, which costs intervals half a percent
/// of width where nothing changes, and follows ten errors that agree on something else at once. What the reaches
/// guarantee stays: they are those of errors in other units, known before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Means of logarithms to base 2 of squares of errors: the usual, the latest, and where reaches were moved to.
    usual: f64,
    latest: f64,
    followed: f64,
    /// Errors met, as far as they count, and since reaches were moved.
    met: u64,
    since: u64,
    /// Exact predictions in a row.
    still: u64,
}

impl Default for Size {
    fn default() -> Self {
        Self { usual: GAUSSIAN, latest: GAUSSIAN, followed: GAUSSIAN, met: PRIOR, since: 0, still: 0 }
    }
}

impl Size {
    /// Numbers that it is made of.
    pub const NUMBERS: usize = 6;

    /// Takes the square of an error in spreads: the factor that squares of reaches are to be multiplied by after it, if any.
    #[inline]
    pub fn meet(&mut self, square: f64) -> Option<f64> {
        // Of no size, or of a spread of which nothing is known.
        if square <= 0.0 || square >= FARTHEST {
            return None;
        }
        let nearest = (self.followed - SMALLEST).max(-FURTHEST);
        let size = log2(square).clamp(nearest, (self.followed + LARGEST).min(FURTHEST));
        self.met = (self.met + 1).min(USUAL);
        self.since += 1;
        let share = if self.met < USUAL { (self.met as f64).recip() } else { 1.0 / USUAL as f64 };
        self.usual += share * (size - self.usual);
        self.latest += share.max(1.0 / LATEST as f64) * (size - self.latest);
        let far = (self.latest - self.usual).abs() > FAR;
        (far || self.since >= OFTEN).then(|| self.follow(far))
    }

    fn follow(&mut self, far: bool) -> f64 {
        if far {
            // As at the beginning, the next ones say how large they really are.
            (self.usual, self.met) = (self.latest, LATEST);
        }
        let factor = (self.usual - self.followed).exp2();
        (self.followed, self.since) = (self.usual, 0);
        factor
    }

    /// Counts a row whose prediction was exact, or was not: whether it is one of many that were.
    #[inline]
    pub fn is_still(&mut self, exact: bool) -> bool {
        self.still = if exact { self.still + 1 } else { 0 };
        self.still > STILL
    }

    /// Adds what is known of later errors, as this share of all.
    pub fn add(&mut self, later: &Self, share: f64) {
        self.usual += share * (later.usual - self.usual);
        self.latest += share * (later.latest - self.latest);
        self.followed += share * (later.followed - self.followed);
        self.met = (self.met + later.met).min(USUAL);
        (self.since, self.still) = (later.since, later.still);
    }

    pub fn numbers(&self) -> [f64; Self::NUMBERS] {
        let counts = [self.met, self.since, self.still].map(|count| count as f64);
        [self.usual, self.latest, self.followed, counts[0], counts[1], counts[2]]
    }

    /// That of [`numbers`](Self::numbers); `None` of others.
    pub fn of_numbers(numbers: &[f64]) -> Option<Self> {
        let (sizes, counts) = numbers.split_at(3);
        let sound =
            counts.iter().all(|count| *count >= 0.0 && *count < 2.0_f64.powi(53) && count.fract() == 0.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
        let count = |k: usize| counts[k] as u64;
        sound
            .then(|| Self {
                usual: sizes[0],
                latest: sizes[1],
                followed: sizes[2],
                met: count(0),
                since: count(1),
                still: count(2),
            })
            .filter(Self::is_sound)
    }

    /// Whether it can be that of errors: learning keeps it so, and reading asks for it.
    fn is_sound(&self) -> bool {
        [self.usual, self.latest, self.followed].iter().all(|size| size.abs() <= ROUNDED * FURTHEST)
            && self.met <= USUAL
    }
}

/// The logarithm to base 2 of a normal number, exact at powers of 2 and too small by 0.09 at most between them.
#[inline]
fn log2(value: f64) -> f64 {
    // The bits are those of the exponent, and behind them those of the mantissa: linear from one power to the next.
    value.to_bits() as f64 * (1.0 / (1_u64 << 52) as f64) - 1023.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::normal;

    /// The factor that reaches were moved by in all, and the last row at which they were moved by more than a half.
    fn moved(rows: u64, error: impl Fn(u64) -> f64) -> (f64, u64) {
        let (mut size, mut all, mut last) = (Size::default(), 1.0, 0);
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
    fn one_wild_error_or_some_tiny_ones_do_not_move_reaches_far() {
        let (wild, _) = moved(3000, |t| if t == 2990 { 1e18 } else { normal(4, t) });
        assert!((0.5..2.0).contains(&wild), "{wild}");
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
