//! Expected size of the error of a forecast.

use super::error_scale::{ErrorScale, ErrorScaleParams};

/// For natural logarithms of errors: a change is rare by chance.
const SCALE: ErrorScaleParams = ErrorScaleParams { usual: 50, latest: 10, change: 1.5, kept: 5 };

/// How far disagreement of forecasts is used.
struct DisagreementParams {
    /// Memory, in errors, of the effect of disagreement.
    memory: f64,
    /// Share of the variance of log errors at which disagreement has half of its effect.
    min_explained: f64,
    /// Number of errors at which disagreement has half of its effect.
    min_errors: f64,
    /// Largest exponent of disagreement.
    max_exponent: f64,
}

const DISAGREEMENT: DisagreementParams =
    DisagreementParams { memory: 100.0, min_explained: 0.1, min_errors: 10.0, max_exponent: 1.5 };

/// Clipping of log errors and log disagreement relative to the usual: one accurate forecast has
/// little influence.
pub(crate) const FURTHEST: f64 = 4.0;

/// Logarithm used for a size of zero.
pub(crate) const NOTHING: f64 = -700.0;

/// Range of logarithms.
const FARTHEST: f64 = 1000.0;

/// Geometric mean of recent errors of one number, and its dependence on the disagreement of the
/// forecasts.
///
/// The errors of an operator fall by orders of magnitude as a system is learned, and errors a
/// fraction of a horizon apart are dependent: a geometric mean of about ten follows. Errors are
/// known only one horizon later, but the distance between forecasts of several kinds is known at
/// once. Without noise it is proportional to the errors, which makes intervals a quarter to a half
/// narrower (Lorenz's system and the wake of a cylinder, one and ten steps ahead). Where the
/// distance is random, the learned exponent is zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForecastScale {
    /// Scale of errors corrected for disagreement.
    scale: ErrorScale,
    /// Errors since the beginning, up to the memory.
    compared: f64,
    /// Means of log disagreement and log error, their variances and covariance.
    disagreement: f64,
    error: f64,
    variances: [f64; 2],
    covariance: f64,
}

impl Default for ForecastScale {
    fn default() -> Self {
        Self {
            scale: ErrorScale::new(NOTHING, 0),
            compared: 0.0,
            disagreement: 0.0,
            error: 0.0,
            variances: [0.0; 2],
            covariance: 0.0,
        }
    }
}

impl ForecastScale {
    /// The state as numbers, except the count.
    pub const NUMBERS: usize = 8;

    /// Log of the expected size of an error given log disagreement; NaN without an estimate.
    pub fn expected(&self, disagreement: f64) -> f64 {
        self.scale.usual + self.explained(disagreement)
    }

    /// Records a log error and log disagreement; returns whether the size of errors has changed.
    pub fn follow(&mut self, disagreement: f64, error: f64) -> bool {
        self.compare(disagreement, error);
        let rest = (error - self.explained(disagreement)).max(self.scale.usual - FURTHEST);
        self.scale.follow(rest, &SCALE)
    }

    /// Effect of disagreement on the log size.
    fn explained(&self, disagreement: f64) -> f64 {
        let [of_disagreement, of_errors] = self.variances;
        if self.covariance <= 0.0 || of_disagreement <= 0.0 || of_errors <= 0.0 || disagreement.is_nan() {
            return 0.0;
        }
        let explained = self.covariance * self.covariance / (of_disagreement * of_errors);
        let trust = explained / (explained + DISAGREEMENT.min_explained) * self.compared
            / (self.compared + DISAGREEMENT.min_errors);
        let power = trust * (self.covariance / of_disagreement).min(DISAGREEMENT.max_exponent);
        power * (disagreement - self.disagreement).clamp(-FURTHEST, FURTHEST)
    }

    fn compare(&mut self, disagreement: f64, error: f64) {
        // Forecasts without information agree exactly, and are right while nothing happens: not
        // representative.
        if disagreement.is_nan() || disagreement <= NOTHING || error <= NOTHING {
            return;
        }
        if self.compared == 0.0 {
            (self.compared, self.disagreement, self.error) = (1.0, disagreement, error);
            return;
        }
        self.compared = (self.compared + 1.0).min(DISAGREEMENT.memory);
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

    /// Errors since the beginning, or since the last change.
    pub fn met(&self) -> u64 {
        self.scale.met
    }

    pub fn numbers(&self) -> [f64; Self::NUMBERS] {
        let Self { scale, compared, disagreement, error, variances, covariance } = *self;
        let ErrorScale { usual, latest, met: _ } = scale;
        [usual, latest, compared, disagreement, error, variances[0], variances[1], covariance]
    }

    /// Inverse of [`numbers`](Self::numbers), with this count; `None` if they are invalid.
    pub fn of_numbers(numbers: &[f64], met: u64) -> Option<Self> {
        let &[usual, latest, compared, disagreement, error, of_disagreement, of_errors, covariance] = numbers
        else {
            return None;
        };
        let variances = [of_disagreement, of_errors];
        let scale = ErrorScale { usual, latest, met };
        let sound = scale.is_sound(FARTHEST, &SCALE)
            && [disagreement, error].iter().all(|logarithm| logarithm.abs() <= FARTHEST)
            && (0.0..=DISAGREEMENT.memory).contains(&compared)
            && variances.iter().all(|variance| *variance >= 0.0);
        sound.then_some(Self { scale, compared, disagreement, error, variances, covariance })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::normal;

    /// Mean absolute difference of log errors from their expectation.
    fn distance(errors: impl Fn(u64) -> [f64; 2]) -> f64 {
        let (mut size, mut sum) = (ForecastScale::default(), 0.0);
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
        // Its minimum is that of Gaussian numbers from their geometric mean.
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
        let mut size = ForecastScale::default();
        for (t, disagreement) in (0..500).zip([f64::NAN, NOTHING, 0.3, -0.2].into_iter().cycle()) {
            size.follow(disagreement, normal(4, t).abs().ln());
            assert!(size.expected(disagreement).is_finite(), "{size:?}");
        }
        assert!(size.expected(1.0).abs() < 2.0, "{size:?}");
    }
}
