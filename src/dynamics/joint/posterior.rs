//! Posterior weight and error scale of each forecast, for one component.

use crate::experts::mean_of;
use crate::online::forecast_scale::{FURTHEST, ForecastScale, NOTHING};
use crate::uncertainty::is_exact;

/// Probability that another forecast becomes the best when one is judged.
const SHARE: f64 = 1e-4;

/// Degrees of freedom of Student's distribution of scaled errors: occasional large errors, as of
/// all forecasts when a particle changes wells, are weak evidence.
const FREEDOM: f64 = 10.0;

/// Log deviation of Gaussian errors with a geometric mean of 1.
const DEVIATION: f64 = 0.635_181;

/// Experts of one component, weighted by their errors.
///
/// As a system is learned, the errors of one kind of forecast may fall by orders of magnitude while
/// those of another do not. So each has its own error [size](ForecastScale), which follows such a change
/// within ten errors. Its posterior probability is computed given that size, with fixed share
/// (Herbster and Warmuth, "Tracking the best expert", 1998); its weight is that divided by the
/// squared size, which is optimal for independent errors (Bates and Granger, "The combination of
/// forecasts", 1969): a weight of 1e-6 on a forecast with 1e5 times the error would dominate. With
/// a common variance, that of the worst times, forecasts of the wake of a cylinder were up to a
/// thousand times worse.
#[derive(Clone, Debug)]
pub struct Odds {
    /// Posterior probabilities.
    probable: Vec<f64>,
    sizes: Vec<ForecastScale>,
    /// Weights, with sum 1.
    weights: Vec<f64>,
}

impl Odds {
    /// Initial state with these probabilities.
    pub fn new(probable: Vec<f64>) -> Self {
        Self { sizes: vec![ForecastScale::default(); probable.len()], weights: probable.clone(), probable }
    }

    /// One for each expert, with sum 1.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Weighted mean of the available forecasts, without NaN.
    pub fn mixed(&self, made: &[f64]) -> f64 {
        mean_of(made, &self.weights)
    }

    /// Records the outcome. `count`: weight of the error.
    pub fn learn(&mut self, made: &[f64], truth: f64, count: f64) {
        let (low, high) = made
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (value.min(low), value.max(high)));
        // Differences of rounding size are no evidence.
        if high - low <= 1e-12 * low.abs().max(high.abs()) {
            return;
        }
        self.compare(made, truth, count);
        for (size, made) in self.sizes.iter_mut().zip(made) {
            if made.is_nan() {
                continue;
            }
            // Rounded targets are occasionally met exactly, and otherwise missed by more: only
            // nonzero errors define the size.
            let error = if is_exact(*made, truth) {
                let rounding = (f64::EPSILON * truth.abs()).ln().max(NOTHING);
                if size.met() > 0 && size.expected(f64::NAN) - rounding > FURTHEST {
                    continue;
                }
                rounding
            } else {
                (truth - made).abs().ln().max(NOTHING)
            };
            size.follow(f64::NAN, error);
        }
        self.weigh();
    }

    /// Posterior probabilities after it.
    fn compare(&mut self, made: &[f64], truth: f64, count: f64) {
        // Log densities, stored in the place of the weights, which are recomputed; none without a
        // forecast or a judged error.
        for ((density, size), made) in self.weights.iter_mut().zip(&self.sizes).zip(made) {
            let deviation = size.expected(f64::NAN) + DEVIATION;
            let error = if is_exact(*made, truth) { 0.0 } else { (truth - made).abs() };
            let beyond = (2.0 * (error.ln() - deviation)).min(f64::MAX.ln()).exp() / FREEDOM;
            let unknown = size.met() == 0 || made.is_nan();
            *density = if unknown { f64::NAN } else { -deviation - 0.5 * (FREEDOM + 1.0) * beyond.ln_1p() };
        }
        let most = self.weights.iter().copied().fold(f64::NAN, f64::max);
        let known = || self.probable.iter().zip(&self.weights).filter(|(_, density)| !density.is_nan());
        let total: f64 = known().map(|(probable, _)| probable).sum();
        if total <= 0.0 {
            return;
        }
        let mean = known().map(|(probable, density)| probable * (density - most).exp()).sum::<f64>() / total;
        // A missing forecast counts as the mixture's.
        let usual = most + mean.ln();
        for (probable, density) in self.probable.iter_mut().zip(&self.weights) {
            *probable *= if density.is_nan() { 1.0 } else { (count * (density - usual)).exp() };
        }
        let sum: f64 = self.probable.iter().sum();
        let each = SHARE / self.probable.len() as f64;
        for probable in &mut self.probable {
            *probable = (1.0 - SHARE) * *probable / sum + each;
        }
    }

    fn weigh(&mut self) {
        let judged = |size: &&ForecastScale| size.met() > 0;
        let sizes = self.sizes.iter().filter(judged).map(|size| size.expected(f64::NAN));
        let least = sizes.fold(f64::INFINITY, f64::min);
        for ((weight, probable), size) in self.weights.iter_mut().zip(&self.probable).zip(&self.sizes) {
            let precision = (2.0 * (least - size.expected(f64::NAN))).exp();
            *weight = if size.met() > 0 { probable * precision } else { 0.0 };
        }
        let sum: f64 = self.weights.iter().sum();
        self.weights.iter_mut().for_each(|weight| *weight /= sum);
    }

    /// Numbers per expert, besides the count of its errors.
    pub const NUMBERS: usize = 1 + ForecastScale::NUMBERS;

    /// State of all experts, one after the other, and their counts.
    pub fn numbers(&self) -> (Vec<f64>, Vec<u64>) {
        let experts = self.probable.iter().zip(&self.sizes);
        let numbers = experts.flat_map(|(probable, size)| std::iter::once(*probable).chain(size.numbers()));
        (numbers.collect(), self.sizes.iter().map(ForecastScale::met).collect())
    }

    /// Inverse of [`numbers`](Self::numbers); `None` if they are invalid.
    pub fn of_numbers(numbers: &[f64], met: &[u64]) -> Option<Self> {
        let experts = || numbers.chunks_exact(Self::NUMBERS);
        let probable: Vec<f64> = experts().map(|numbers| numbers[0]).collect();
        let sizes = experts().zip(met).map(|(numbers, met)| ForecastScale::of_numbers(&numbers[1..], *met));
        let sizes = sizes.collect::<Option<Vec<ForecastScale>>>()?;
        let sound = numbers.len() == met.len() * Self::NUMBERS
            && probable.iter().all(|probable| *probable >= 0.0)
            && (probable.iter().sum::<f64>() - 1.0).abs() <= 1e-6;
        let begun = met.iter().any(|met| *met > 0);
        let mut odds = Self { weights: probable.clone(), probable, sizes };
        if begun {
            odds.weigh();
        }
        sound.then_some(odds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::normal;

    fn odds(experts: usize) -> Odds {
        Odds::new(vec![(experts as f64).recip(); experts])
    }

    /// Mean log error of the mixture in the last of 1,000 rows, with these errors of each kind.
    fn late(errors: impl Fn(u64) -> Vec<f64>) -> f64 {
        let (mut odds, mut sum) = (odds(errors(0).len()), 0.0);
        for t in 0..1000 {
            let truth = normal(1, t);
            let made: Vec<f64> = errors(t).iter().map(|error| truth + error).collect();
            if t >= 500 {
                sum += (odds.mixed(&made) - truth).abs().ln() / 500.0;
            }
            odds.learn(&made, truth, 0.25);
        }
        sum
    }

    #[test]
    fn what_becomes_better_by_orders_of_magnitude_is_followed() {
        // The second kind is ten times worse at first, and 1e5 times better from the 200th row on.
        let size = |t: u64| if t < 200 { 10.0 } else { 1e-5 };
        let best = late(|t| vec![size(t) * normal(3, t)]);
        let found = late(|t| vec![normal(2, t), size(t) * normal(3, t), 3.0]);
        assert!(found < best + 0.1, "{found}, {best}");
    }

    #[test]
    fn kinds_that_are_as_good_are_blended_and_one_that_is_better_is_chosen() {
        let blended = late(|t| vec![normal(2, t), normal(3, t)]);
        let one = late(|t| vec![normal(2, t)]);
        assert!(blended < one - 0.1, "{blended}, {one}");
        let common = |t| normal(2, t);
        let chosen = late(|t| vec![common(t), common(t) + 0.5 * normal(3, t)]);
        assert!(chosen < late(|t| vec![common(t)]) + 0.01, "{chosen}");
    }

    #[test]
    fn rare_large_errors_say_no_more_than_they_do() {
        // Both jump at the same times; the first is more accurate in between.
        let jump = |t: u64| if t.is_multiple_of(50) { 30.0 } else { 0.0 };
        let mut odds = odds(2);
        for t in 0..1000 {
            odds.learn(&[normal(2, t) + jump(t), 1.5 * normal(3, t) + 1.1 * jump(t)], 0.0, 1.0);
        }
        assert!(odds.weights()[0] > 0.9, "{odds:?}");
    }

    #[test]
    fn its_weights_are_those_of_the_definition() {
        let mut odds = odds(3);
        let (mut probable, mut sizes) = ([1.0 / 3.0; 3], [ForecastScale::default(); 3]);
        for t in 0..200 {
            let truth = normal(1, t);
            let made =
                [1, 2, 3].map(|j| truth + normal(1 + j, t) * if t > 80 { (-(j as f64)).exp() } else { 1.0 });
            odds.learn(&made, truth, 0.3);
            if t > 0 {
                // Student's density, to the power of 0.3, and the share.
                let mut likely: Vec<f64> = (0..3)
                    .map(|j| {
                        let scale = sizes[j].expected(f64::NAN).exp() / 0.529_84;
                        let ratio = ((made[j] - truth) / scale).powi(2);
                        probable[j] * ((1.0 + ratio / 10.0).powf(-5.5) / scale).powf(0.3)
                    })
                    .collect();
                let sum: f64 = likely.iter().sum();
                for likely in &mut likely {
                    *likely = *likely / sum * (1.0 - 1e-4) + 1e-4 / 3.0;
                }
                probable.copy_from_slice(&likely);
            }
            for (size, made) in sizes.iter_mut().zip(&made) {
                size.follow(f64::NAN, (made - truth).abs().ln());
            }
            let weights: Vec<f64> =
                (0..3).map(|j| probable[j] / (2.0 * sizes[j].expected(f64::NAN)).exp()).collect();
            let sum: f64 = weights.iter().sum();
            for (own, weight) in odds.weights().iter().zip(&weights) {
                assert!((own - weight / sum).abs() < 1e-5, "row {t}: {odds:?}, {weights:?}");
            }
        }
    }

    #[test]
    fn what_is_exact_silent_or_the_same_is_borne() {
        let mut odds = odds(4);
        for t in 0..500_u64 {
            // The first is always right, the second occasionally, the third starts late, the last
            // has large errors.
            let truth = (normal(1, t) * 3.0).round();
            let second = if t.is_multiple_of(3) { truth } else { truth + 1.0 };
            let third = if t < 300 { f64::NAN } else { truth + 1e-3 };
            odds.learn(&[truth, second, third, 1e200], truth, 0.5);
            odds.learn(&[2.0; 4], truth, 0.5);
            odds.learn(&[0.0, 0.0, f64::NAN, 0.0], truth, 0.5);
            let sum: f64 = odds.weights().iter().sum();
            assert!(
                (sum - 1.0).abs() < 1e-12 && odds.weights().iter().all(|weight| *weight >= 0.0),
                "{odds:?}"
            );
        }
        assert!(odds.weights()[0] > 0.999, "{odds:?}");
        assert!((odds.mixed(&[f64::NAN, 2.0, f64::NAN, f64::NAN]) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn it_continues_from_its_numbers_and_refuses_others() {
        let mut odds = odds(3);
        (0..50).for_each(|t| odds.learn(&[normal(1, t), 2.0 * normal(2, t), f64::NAN], 0.0, 0.5));
        let (numbers, met) = odds.numbers();
        let mut back = Odds::of_numbers(&numbers, &met).unwrap();
        for each in [&mut odds, &mut back] {
            (50..60).for_each(|t| each.learn(&[normal(1, t), 2.0 * normal(2, t), 0.1], 0.0, 0.5));
        }
        assert_eq!(format!("{odds:?}"), format!("{back:?}"));
        assert!(Odds::of_numbers(&numbers[1..], &met).is_none());
        assert!(
            Odds::of_numbers(&numbers.iter().map(|number| -number).collect::<Vec<f64>>(), &met).is_none()
        );
    }
}
