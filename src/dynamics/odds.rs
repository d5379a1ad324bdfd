//! How probable it is of each of several forecasts of a number that it is the right one, and how large its errors are.

use crate::experts::mean_of;
use crate::online::forecast_scale::{FURTHEST, NOTHING, Size};
use crate::uncertainty::is_exact;

/// The chance that another one becomes the right one when a forecast is judged.
const SHARE: f64 = 1e-4;

/// Errors, in units of their size, are those of Student's distribution with so many degrees of freedom: what is far off
/// now and then, as all forecasts of a particle are that changes from one well to another, says little of who is better.
const FREEDOM: f64 = 10.0;

/// The logarithm of the deviation of Gaussian errors with a geometric mean of 1.
const DEVIATION: f64 = 0.635_181;

/// Experts of one number of a state, from the errors that each has made.
///
/// As systems show what they do, the errors of one kind of forecasts fall by orders of magnitude while those of another
/// stay. So each has a [size](Size) of errors of its own, which follows such a change within ten of them. Its probability
/// is that of its errors, given their size, with a fixed share (Herbster and Warmuth, "Tracking the best expert", 1998);
/// its weight that divided by the square of the size, as is best where errors are independent (Bates and Granger, "The
/// combination of forecasts", 1969): a millionth of what is off by a hundred thousand times as much would be most of the
/// error. Judged by a common variance, which is that of the worst times, the wake of a cylinder was forecast up to a thousand
/// times worse.
#[derive(Clone, Debug)]
pub(super) struct Odds {
    /// Adding up to 1.
    probable: Vec<f64>,
    sizes: Vec<Size>,
    /// Adding up to 1.
    weights: Vec<f64>,
}

impl Odds {
    /// Those of experts that are as probable as this, none of which was judged.
    pub fn new(probable: Vec<f64>) -> Self {
        Self { sizes: vec![Size::default(); probable.len()], weights: probable.clone(), probable }
    }

    /// One for each expert, adding up to 1.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The mean of what the experts say, those left out that say nothing, NaN.
    pub fn mixed(&self, made: &[f64]) -> f64 {
        mean_of(made, &self.weights)
    }

    /// Takes down what came of what the experts said. `count`: how many errors it counts as.
    pub fn learn(&mut self, made: &[f64], truth: f64, count: f64) {
        let (low, high) = made
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (value.min(low), value.max(high)));
        // What differs by rounding alone says nothing of who is better.
        if high - low <= 1e-12 * low.abs().max(high.abs()) {
            return;
        }
        self.compare(made, truth, count);
        for (size, made) in self.sizes.iter_mut().zip(made) {
            if made.is_nan() {
                continue;
            }
            // What is rounded is met exactly now and then, and off by far more at other times: these are the errors that
            // have a size.
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

    /// How probable each is after it.
    fn compare(&mut self, made: &[f64], truth: f64, count: f64) {
        // Logarithms of densities, in the place of weights, which are made anew; of one that said nothing, or was never judged,
        // none.
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
        // Who said nothing said what the others say.
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
        let judged = |size: &&Size| size.met() > 0;
        let sizes = self.sizes.iter().filter(judged).map(|size| size.expected(f64::NAN));
        let least = sizes.fold(f64::INFINITY, f64::min);
        for ((weight, probable), size) in self.weights.iter_mut().zip(&self.probable).zip(&self.sizes) {
            let precision = (2.0 * (least - size.expected(f64::NAN))).exp();
            *weight = if size.met() > 0 { probable * precision } else { 0.0 };
        }
        let sum: f64 = self.weights.iter().sum();
        self.weights.iter_mut().for_each(|weight| *weight /= sum);
    }

    /// Numbers of which each expert is made, besides the count of its errors.
    pub const NUMBERS: usize = 1 + Size::NUMBERS;

    /// Those of all experts, one after the other, and the counts of their errors.
    pub fn numbers(&self) -> (Vec<f64>, Vec<u64>) {
        let experts = self.probable.iter().zip(&self.sizes);
        let numbers = experts.flat_map(|(probable, size)| std::iter::once(*probable).chain(size.numbers()));
        (numbers.collect(), self.sizes.iter().map(Size::met).collect())
    }

    /// Those of [`numbers`](Self::numbers); `None` of others.
    pub fn of_numbers(numbers: &[f64], met: &[u64]) -> Option<Self> {
        let experts = || numbers.chunks_exact(Self::NUMBERS);
        let probable: Vec<f64> = experts().map(|numbers| numbers[0]).collect();
        let sizes = experts().zip(met).map(|(numbers, met)| Size::of_numbers(&numbers[1..], *met));
        let sizes = sizes.collect::<Option<Vec<Size>>>()?;
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

    /// Mean of the logarithms of the errors of the mixture in the last of 1,000 rows, each kind with errors like this.
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
        // The second kind is ten times worse at first, and a hundred thousand times better from the 200th on.
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
        // Both jump at the same times; the first is closer between jumps.
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
        let (mut probable, mut sizes) = ([1.0 / 3.0; 3], [Size::default(); 3]);
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
            // The first is always right, the second now and then, the third speaks late, the last is far off.
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
    fn it_goes_on_from_its_numbers_and_refuses_others() {
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
