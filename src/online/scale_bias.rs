//! How far errors are from the size that was expected of them.

use super::forecast_scale::FURTHEST;

/// Errors that it is the mean of.
const RECENT: f64 = 20.0;

/// The variance of the logarithms of Gaussian errors: none are believed to be more alike in size.
const GAUSSIAN: f64 = 1.2337;

/// Most that the logarithms of two errors, one after the other, are correlated.
const CORRELATED: f64 = 0.9;

/// Squared standard errors that chance may make the square of the mean.
const CHANCE: f64 = 4.0;

/// The largest correction, as a logarithm.
const LARGEST: f64 = 2.0;

/// The mean of the logarithms of the latest errors of one number, each in units of the size that was given out with its
/// forecast, and what they scatter by.
///
/// Where errors go on falling, those of which the expected size is the mean are old, and those of long horizons were known late:
/// all that are expected are too large. Reaches come down by some thousandths an error inside, since one beyond them has to outweigh
/// nine inside, and take hundreds of errors to come down by half. But that errors are smaller than expected shows in each of them.
/// So their mean moves all reaches at once, as far as chance does not explain it: the square of the mean is shrunk by four times that of
/// its standard error (in the manner of James and Stein, 1961, with two standard errors in the place of one), which counts
/// errors that come one after the other as fewer if they are alike, as those of forecasts that overlap are. On the wake of
/// a cylinder intervals a hundred steps ahead are half as wide for it; where errors stay as they are, intervals do too.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bias {
    /// Errors met, as far as they count.
    met: f64,
    mean: f64,
    variance: f64,
    /// The covariance of an error with the one before, and how far the latest is from the mean.
    covariance: f64,
    latest: f64,
}

impl Bias {
    /// Numbers of which it is made.
    pub const NUMBERS: usize = 5;

    /// Takes down the logarithm of an error in units of the size that was expected.
    pub fn follow(&mut self, error: f64) {
        self.met = (self.met + 1.0).min(RECENT);
        let share = self.met.recip();
        let further = error.clamp(-FURTHEST, FURTHEST) - self.mean;
        self.mean += share * further;
        let toward = |mean: &mut f64, product: f64| *mean = (1.0 - share) * (*mean + share * product);
        toward(&mut self.variance, further * further);
        toward(&mut self.covariance, further * self.latest);
        self.latest = (1.0 - share) * further;
    }

    /// What the size of errors that is expected is to be multiplied by.
    pub fn factor(&self) -> f64 {
        if self.mean == 0.0 {
            return 1.0;
        }
        // Those of an autoregression: so many count as one.
        let alike = if self.variance > 0.0 { self.covariance / self.variance } else { 0.0 };
        let alike = alike.clamp(0.0, CORRELATED);
        let one = (1.0 + alike) / (1.0 - alike);
        let chance = CHANCE * self.variance.max(GAUSSIAN) * one / self.met;
        let shown = (1.0 - chance / (self.mean * self.mean)).max(0.0);
        (shown * self.mean).clamp(-LARGEST, LARGEST).exp()
    }

    pub fn numbers(&self) -> [f64; Self::NUMBERS] {
        [self.met, self.mean, self.variance, self.covariance, self.latest]
    }

    /// That of [`numbers`](Self::numbers); `None` of others.
    pub fn of_numbers(numbers: &[f64]) -> Option<Self> {
        let &[met, mean, variance, covariance, latest] = numbers else { return None };
        let sound = (0.0..=RECENT).contains(&met)
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
        // Independent errors, and sums of ten of which the next shares nine.
        for overlapping in [1, 10] {
            let (mut bias, mut sum) = (Bias::default(), 0.0);
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
                let mut bias = Bias::default();
                (0..40).for_each(|t| bias.follow((factor * normal(seed, t).abs() / 0.5298).ln()));
                bias.factor().ln() / 50.0
            });
            let found = mean.sum::<f64>() / factor.ln();
            assert!((0.75..1.05).contains(&found), "{found} of {factor}");
        }
    }

    #[test]
    fn it_goes_on_from_its_numbers_and_refuses_others() {
        let mut bias = Bias::default();
        for t in 0..30 {
            bias.follow(if t < 20 { normal(3, t) } else { f64::INFINITY });
            assert_eq!(format!("{:?}", Bias::of_numbers(&bias.numbers())), format!("{:?}", Some(bias)));
        }
        assert!(bias.factor() <= LARGEST.exp());
        assert!(Bias::of_numbers(&[0.0, 1.0, 0.0, 0.0, 0.0]).is_none());
        assert!(Bias::of_numbers(&[5.0, 1.0, -1.0, 0.0, 0.0]).is_none());
        assert!(Bias::of_numbers(&bias.numbers()[1..]).is_none());
    }
}
