//! How large the error of a forecast is likely to be.

/// Errors whose geometric mean is the usual size, and the latest of them.
const RECENT: f64 = 50.0;
const LATEST: f64 = 10.0;

/// Errors that say what disagreement means.
const COMPARED: f64 = 100.0;

/// Factor between the usual size and the latest, as a logarithm, at which the latest alone are believed: chance hardly
/// makes it.
const FAR: f64 = 1.5;

/// Errors that those before such a change count as.
const BEFORE: u64 = 5;

/// An error counts as that much smaller than usual, as a logarithm, at most, and so does disagreement, or as that much
/// larger: a lucky forecast says little.
pub(crate) const FURTHEST: f64 = 4.0;

/// Disagreement has to explain about that share of the variance of errors to be believed, and so many errors have to
/// show it.
const EXPLAINED: f64 = 0.1;
const SHOWN: f64 = 10.0;

/// Most that errors may grow with disagreement, as a power.
const STEEPEST: f64 = 1.5;

/// The logarithm of a size of nothing.
pub(crate) const NOTHING: f64 = -700.0;

/// Logarithms of sizes are within this.
const FARTHEST: f64 = 1000.0;

/// The geometric mean of the latest errors of one number, and how they grow with the disagreement between the kinds of
/// forecasts at the time.
///
/// Operators become better by orders of magnitude as a system shows what it does, and errors a fraction of a horizon
/// apart are alike, so that there are few to go by: a geometric mean follows such a change within ten of them. But what
/// came of a forecast is known late. How far apart the forecasts of several kinds are is known at once, state by
/// state: where a system has no noise their distance goes as their errors do, and intervals are a quarter to a half
/// narrower for it (Lorenz's system and the wake of a cylinder, a step and ten steps ahead). Where they differ by
/// chance the power that is learned is nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Means of the logarithms of recent errors, each less what disagreement explains, and of the latest.
    usual: f64,
    latest: f64,
    /// Errors since it began, or became another.
    met: u64,
    /// Errors since it began, as far as they count.
    compared: f64,
    /// Means of the logarithms of disagreement and of errors, their variances and their covariance.
    disagreement: f64,
    error: f64,
    variances: [f64; 2],
    covariance: f64,
}

impl Default for Size {
    fn default() -> Self {
        Self {
            usual: NOTHING,
            latest: NOTHING,
            met: 0,
            compared: 0.0,
            disagreement: 0.0,
            error: 0.0,
            variances: [0.0; 2],
            covariance: 0.0,
        }
    }
}

impl Size {
    /// Numbers of which it is made, besides the count.
    pub const NUMBERS: usize = 8;

    /// The logarithm of the size that an error is likely to have after so much disagreement, a logarithm too; NaN where
    /// there is none to go by.
    pub fn expected(&self, disagreement: f64) -> f64 {
        self.usual + self.explained(disagreement)
    }

    /// Takes the logarithm of an error after so much disagreement: whether errors are others from now on.
    pub fn follow(&mut self, disagreement: f64, error: f64) -> bool {
        self.compare(disagreement, error);
        self.met += 1;
        let rest = (error - self.explained(disagreement)).max(self.usual - FURTHEST);
        let n = self.met as f64;
        self.usual += RECENT.min(n).recip() * (rest - self.usual);
        self.latest += LATEST.min(n).recip() * (rest - self.latest);
        let changed = (self.usual - self.latest).abs() > FAR;
        if changed {
            (self.usual, self.met) = (self.latest, BEFORE);
        }
        changed
    }

    /// What disagreement adds to the logarithm of the size.
    fn explained(&self, disagreement: f64) -> f64 {
        let [of_disagreement, of_errors] = self.variances;
        if self.covariance <= 0.0 || of_disagreement <= 0.0 || of_errors <= 0.0 || disagreement.is_nan() {
            return 0.0;
        }
        let explained = self.covariance * self.covariance / (of_disagreement * of_errors);
        let trust = explained / (explained + EXPLAINED) * self.compared / (self.compared + SHOWN);
        let power = trust * (self.covariance / of_disagreement).min(STEEPEST);
        power * (disagreement - self.disagreement).clamp(-FURTHEST, FURTHEST)
    }

    fn compare(&mut self, disagreement: f64, error: f64) {
        // Kinds of forecasts that know nothing yet agree entirely, and are right where nothing happens: that says nothing
        // of later.
        if disagreement.is_nan() || disagreement <= NOTHING || error <= NOTHING {
            return;
        }
        if self.compared == 0.0 {
            (self.compared, self.disagreement, self.error) = (1.0, disagreement, error);
            return;
        }
        self.compared = (self.compared + 1.0).min(COMPARED);
        let share = self.compared.recip();
        let further = (disagreement - self.disagreement).clamp(-FURTHEST, FURTHEST);
        let larger = (error - self.error).max(-FURTHEST);
        self.disagreement += share * further;
        self.error += share * larger;
        let toward = |mean: &mut f64, product: f64| *mean = (1.0 - share) * (*mean + share * product);
        toward(&mut self.variances[0], further * further);
        toward(&mut self.variances[1], larger * larger);
        toward(&mut self.covariance, further * larger);
    }

    /// Errors since it began, or became another.
    pub fn met(&self) -> u64 {
        self.met
    }

    pub fn numbers(&self) -> [f64; Self::NUMBERS] {
        let Self { usual, latest, met: _, compared, disagreement, error, variances, covariance } = *self;
        [usual, latest, compared, disagreement, error, variances[0], variances[1], covariance]
    }

    /// That of [`numbers`](Self::numbers), after so many errors; `None` of others.
    pub fn of_numbers(numbers: &[f64], met: u64) -> Option<Self> {
        let &[usual, latest, compared, disagreement, error, of_disagreement, of_errors, covariance] = numbers
        else {
            return None;
        };
        let variances = [of_disagreement, of_errors];
        let sound = [usual, latest, disagreement, error].iter().all(|logarithm| logarithm.abs() <= FARTHEST)
            && (0.0..=COMPARED).contains(&compared)
            && variances.iter().all(|variance| *variance >= 0.0);
        sound.then_some(Self { usual, latest, met, compared, disagreement, error, variances, covariance })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::normal;

    /// The mean distance, as a logarithm, of errors from what was expected of them.
    fn distance(errors: impl Fn(u64) -> [f64; 2]) -> f64 {
        let (mut size, mut sum) = (Size::default(), 0.0);
        for t in 0..2000 {
            let [disagreement, error] = errors(t).map(|value| value.abs().ln());
            if t >= 1000 {
                sum += (error - size.expected(disagreement)).abs() / 1000.0;
            }
            size.follow(disagreement, error);
        }
        sum
    }

    #[test]
    fn disagreement_counts_as_far_as_errors_grow_with_it() {
        let apart = |t| (normal(1, t) + normal(2, t) * 0.1).exp();
        // The least that can be reached is the distance of Gaussian numbers from their geometric mean.
        let least = distance(|t| [1.0, normal(3, t)]);
        for power in [0.5, 1.0] {
            let close = distance(|t| [apart(t), normal(3, t) * apart(t).powf(power)]);
            assert!(close < 1.05 * least, "{close} of {least}");
        }
        let chance = distance(|t| [apart(t), normal(3, t)]);
        assert!(chance < 1.02 * least, "{chance} of {least}");
    }

    #[test]
    fn what_is_unknown_or_nothing_is_borne() {
        let mut size = Size::default();
        for (t, disagreement) in (0..500).zip([f64::NAN, NOTHING, 0.3, -0.2].into_iter().cycle()) {
            size.follow(disagreement, normal(4, t).abs().ln());
            assert!(size.expected(disagreement).is_finite(), "{size:?}");
        }
        assert!(size.expected(1.0).abs() < 2.0, "{size:?}");
    }
}
