//! Bias of the expected size of errors.

use super::forecast_scale::FURTHEST;

/// Parameters of a [`ScaleBias`].
struct ScaleBiasParams {
    /// Memory, in errors.
    memory: f64,
    /// Variance of log Gaussian errors, the least that is assumed.
    min_variance: f64,
    /// Largest lag-one correlation of log errors.
    max_correlation: f64,
    /// Squared standard errors of the mean that are attributed to chance.
    shrinkage: f64,
    /// Largest correction, as a logarithm.
    max_correction: f64,
}

const PARAMS: ScaleBiasParams = ScaleBiasParams {
    memory: 20.0,
    min_variance: 1.2337,
    max_correlation: 0.9,
    shrinkage: 4.0,
    max_correction: 2.0,
};

/// Mean and scatter of recent log errors of one number, each in units of the size issued with its
/// forecast.
///
/// While errors decrease, the expected size is too large, because it is a mean of old errors, which
/// long horizons know late. Half-widths decrease by a few thousandths per error inside, since one
/// outside has to balance nine inside, and need hundreds of errors to halve. But each error shows
/// that it is smaller than expected. So the mean moves all half-widths at once, as far as chance
/// does not explain it: its square is shrunk by four squared standard errors (in the manner of
/// James and Stein, 1961, with two standard errors instead of one), which account for the
/// correlation of consecutive errors, as of overlapping forecasts. On the wake of a cylinder this
/// halves intervals a hundred steps ahead; with stationary errors intervals do not change.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ScaleBias {
    /// Errors recorded, up to the memory.
    met: f64,
    mean: f64,
    variance: f64,
    /// Covariance of consecutive log errors, and the latest deviation from the mean.
    covariance: f64,
    latest: f64,
}

impl ScaleBias {
    /// The state as numbers.
    pub const NUMBERS: usize = 5;

    /// Records a log error in units of the expected size.
    pub fn follow(&mut self, error: f64) {
        self.met = (self.met + 1.0).min(PARAMS.memory);
        let share = self.met.recip();
        let further = error.clamp(-FURTHEST, FURTHEST) - self.mean;
        self.mean += share * further;
        let toward = |mean: &mut f64, product: f64| *mean = (1.0 - share) * (*mean + share * product);
        toward(&mut self.variance, further * further);
        toward(&mut self.covariance, further * self.latest);
        self.latest = (1.0 - share) * further;
    }

    /// Factor on the expected size of errors.
    pub fn factor(&self) -> f64 {
        if self.mean == 0.0 {
            return 1.0;
        }
        // Effective number of an autoregressive sequence.
        let alike = if self.variance > 0.0 { self.covariance / self.variance } else { 0.0 };
        let alike = alike.clamp(0.0, PARAMS.max_correlation);
        let one = (1.0 + alike) / (1.0 - alike);
        let chance = PARAMS.shrinkage * self.variance.max(PARAMS.min_variance) * one / self.met;
        let shown = (1.0 - chance / (self.mean * self.mean)).max(0.0);
        (shown * self.mean).clamp(-PARAMS.max_correction, PARAMS.max_correction).exp()
    }

    pub fn numbers(&self) -> [f64; Self::NUMBERS] {
        [self.met, self.mean, self.variance, self.covariance, self.latest]
    }

    /// Inverse of [`numbers`](Self::numbers); `None` if they are invalid.
    pub fn of_numbers(numbers: &[f64]) -> Option<Self> {
        let &[met, mean, variance, covariance, latest] = numbers else { return None };
        let sound = (0.0..=PARAMS.memory).contains(&met)
            && (met > 0.0 || mean == 0.0)
            && mean.abs() <= FURTHEST
            && variance >= 0.0
            && latest.abs() <= 2.0 * FURTHEST;
        sound.then_some(Self { met, mean, variance, covariance, latest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::normal;

    #[test]
    fn what_chance_makes_is_no_bias() {
        // Independent errors, and moving sums of ten.
        for overlapping in [1, 10] {
            let (mut bias, mut sum) = (ScaleBias::default(), 0.0);
            for t in 0..5000 {
                let error: f64 = (t..t + overlapping).map(|step| normal(1, step)).sum();
                bias.follow((error.abs() / (overlapping as f64).sqrt() / 0.5298).ln());
                sum += bias.factor().ln().abs() / 5000.0;
            }
            assert!(sum < 0.03, "{sum}, {overlapping} that overlap");
        }
    }

    #[test]
    fn what_errors_show_is_corrected() {
        for factor in [0.2_f64, 5.0] {
            let mean = (0..50).map(|seed| {
                let mut bias = ScaleBias::default();
                (0..40).for_each(|t| bias.follow((factor * normal(seed, t).abs() / 0.5298).ln()));
                bias.factor().ln() / 50.0
            });
            let found = mean.sum::<f64>() / factor.ln();
            assert!((0.75..1.05).contains(&found), "{found} of {factor}");
        }
    }

    #[test]
    fn it_continues_from_its_numbers_and_refuses_others() {
        let mut bias = ScaleBias::default();
        for t in 0..30 {
            bias.follow(if t < 20 { normal(3, t) } else { f64::INFINITY });
            assert_eq!(format!("{:?}", ScaleBias::of_numbers(&bias.numbers())), format!("{:?}", Some(bias)));
        }
        assert!(bias.factor() <= PARAMS.max_correction.exp());
        assert!(ScaleBias::of_numbers(&[0.0, 1.0, 0.0, 0.0, 0.0]).is_none());
        assert!(ScaleBias::of_numbers(&[5.0, 1.0, -1.0, 0.0, 0.0]).is_none());
        assert!(ScaleBias::of_numbers(&bias.numbers()[1..]).is_none());
    }
}
