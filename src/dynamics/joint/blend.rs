//! Mixture of several forecasts, for each component of the state.

use super::posterior::Odds;
use crate::error::{Error, Result};
use crate::experts::{Mixture, MixtureSpec};
use crate::learner::Loss;
use crate::persist::{Reader, Writer};

/// Mixtures of the kinds of forecasts over one horizon. One is common to all components and learns
/// from all of them: regrets, in which the n-th forecast has about n times the weight of the first,
/// since the first are those of untrained models. Each component has [posterior weights](Odds) of
/// its own, with the common mixture as one expert. So forecasts are averaged where this helps, and
/// with enough rows each component uses its best kind.
///
/// Initially the common mixture and one kind that needs no learning have most of the weight,
/// because few, dependent forecasts have been judged, and others are better by chance.
///
/// A kind without a forecast (NaN) counts as the mixture.
#[derive(Clone, Debug)]
pub struct Blend {
    kinds: usize,
    trusted: usize,
    common: Mixture,
    own: Vec<Odds>,
    /// Weight of a forecast in the posterior.
    weight: f64,
    /// Forecasts recorded.
    count: u64,
}

/// Weight in the posterior of a forecast that overlaps no other, below 1 because errors are neither
/// independent nor Gaussian.
const TRUST: f64 = 0.25;

/// Initial weights of the common mixture and of the trusted kind; the other kinds share the rest.
const FIRST: f64 = 1.0 / 3.0;

impl Blend {
    /// A mixture of this many kinds, one of which is trusted initially, judged this many times per
    /// horizon.
    pub fn new(kinds: usize, trusted: usize, overlapping: usize) -> Self {
        let weight = TRUST / overlapping as f64;
        let common = Mixture::new(MixtureSpec::Polynomial, Loss::Squared, kinds);
        Self { kinds, trusted, common, own: Vec::new(), weight, count: 0 }
    }

    /// Sets the number of components.
    pub fn begin(&mut self, width: usize) {
        let mut probable = vec![(1.0 - 2.0 * FIRST) / (self.kinds - 1) as f64; self.kinds + 1];
        (probable[0], probable[1 + self.trusted]) = (FIRST, FIRST);
        self.own = vec![Odds::new(probable); width];
    }

    /// The mixture of the forecasts of all kinds, which follow one another.
    pub fn mix(&self, made: &[f64]) -> Vec<f64> {
        let common = self.common_of(made);
        let mix = |(c, own): (usize, &Odds)| own.mixed(&self.experts(made, &common, c));
        self.own.iter().enumerate().map(mix).collect()
    }

    /// Records the outcome of these forecasts; the common mixture weights squared errors of each
    /// component by `scale`.
    pub fn learn(&mut self, made: &[f64], state: &[f64], counts: &[f64]) {
        let common = self.common_of(made);
        // Derivative of the loss with respect to each forecast: a weighted sum over components.
        let slope = |kind: &[f64]| -> f64 {
            (0..state.len()).map(|c| counts[c] * (common[c] - state[c]) * (kind[c] - common[c])).sum()
        };
        let slopes: Vec<f64> = made.chunks_exact(state.len()).map(slope).collect();
        let experts: Vec<Vec<f64>> = (0..state.len()).map(|c| self.experts(made, &common, c)).collect();
        self.count += 1;
        let keep = (1.0 - (self.count as f64).recip()).max(0.5);
        self.common.fade(keep);
        self.common.learn(&slopes, -1.0, 1.0);
        for ((own, experts), truth) in self.own.iter_mut().zip(experts).zip(state) {
            own.learn(&experts, *truth, self.weight);
        }
    }

    /// Weights of the kinds in the forecast of a component, with sum 1.
    pub fn weights(&self, c: usize) -> Vec<f64> {
        let own = self.own[c].weights();
        self.common
            .weights()
            .iter()
            .zip(&own[1..])
            .map(|(common, own_one)| own[0] * common + own_one)
            .collect()
    }

    fn common_of(&self, made: &[f64]) -> Vec<f64> {
        let width = self.own.len();
        let kinds = |c: usize| (0..self.kinds).map(|j| made[j * width + c]).collect::<Vec<f64>>();
        (0..width).map(|c| self.common.mixed(&kinds(c))).collect()
    }

    /// Forecasts of the experts of a component.
    fn experts(&self, made: &[f64], common: &[f64], c: usize) -> Vec<f64> {
        let kinds = (0..self.kinds).map(|j| made[j * common.len() + c]);
        std::iter::once(common[c]).chain(kinds).collect()
    }

    pub fn write(&self, out: &mut Writer) {
        out.counts("blend.count", &[self.count]);
        out.vector("blend.common", &self.common.numbers());
        let (own, judged): (Vec<_>, Vec<_>) = self.own.iter().map(Odds::numbers).unzip();
        out.vector("blend.own", &own.concat());
        out.counts("blend.judged", &judged.concat());
    }

    /// Reads what [`write`](Self::write) wrote, for this number of components.
    pub fn read(&mut self, width: usize, from: &Reader<'_>) -> Result<()> {
        [self.count] = from.counts("blend.count")?;
        let (_, _, common) = from.matrix("blend.common")?;
        self.common.resume(&common)?;
        let experts = self.kinds + 1;
        let own = from.vector("blend.own", width * experts * Odds::NUMBERS)?;
        let judged = from.all_counts("blend.judged")?;
        let parts = own.chunks(experts * Odds::NUMBERS).zip(judged.chunks(experts));
        let own: Option<Vec<Odds>> =
            parts.map(|(numbers, judged)| Odds::of_numbers(numbers, judged)).collect();
        let own = own.filter(|own| own.len() == width && judged.len() == width * experts);
        self.own = own.ok_or_else(|| Error::file("blend.own are not the odds of all numbers"))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::normal;

    #[test]
    fn each_number_goes_to_what_is_best_for_it_and_silence_does_no_harm() {
        let mut blend = Blend::new(3, 1, 1);
        blend.begin(2);
        for t in 0..2000 {
            let state = [normal(1, t), 100.0 * normal(2, t)];
            // The first kind forecasts the first component, the second the other, the third is
            // missing every other time.
            let third = if t % 2 == 0 { f64::NAN } else { 50.0 };
            let made = [state[0], 0.0, 3.0, state[1], third, third];
            blend.learn(&made, &state, &[1.0, 1e-4]);
        }
        assert!(blend.weights(0)[0] > 0.95 && blend.weights(1)[1] > 0.95, "{blend:?}");
        let mixed = blend.mix(&[1.0, 0.0, 0.0, 2.0, f64::NAN, f64::NAN]);
        assert!((mixed[0] - 1.0).abs() < 0.1 && (mixed[1] - 2.0).abs() < 0.2, "{mixed:?}");
        for c in 0..2 {
            assert!((blend.weights(c).iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
    }
}
