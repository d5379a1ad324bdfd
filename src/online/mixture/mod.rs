//! Weights of experts, from their prequential predictions.

mod fixed_share;
mod outcome;
mod polynomial;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::persist::{Reader, Writer};
use fixed_share::FixedShare;
use outcome::{Outcome, level, name, normalize};
pub(crate) use outcome::{PointLoss, Said};
use polynomial::Polynomial;

/// Aggregation rule: a weighted mean of the experts' predictions.
///
/// There are no learning rates to set: rates adapt to the losses, so that rescaled targets give the
/// same weights. Losses are squared errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MixtureSpec {
    /// Weights proportional to how much better each expert was than the mixture: the most accurate
    /// of the rules tried on stationary streams, and it recovers when the best expert changes. With
    /// `K` experts, `T` rows, `r_t = (p_t - y_t)(p_t - f_t)` and `V = sum r_t^2 + max r_t^2`, on
    /// any interval of any stream the mixture's loss exceeds that of any expert by at most `2 (1 +
    /// sqrt(2 K ln(1 + T))) sqrt(V)` (proved if `max r_t^2` is given in advance).
    ///
    /// ML-Poly of Gaillard, Stoltz and van Erven ("A second-order bound with excess losses", 2014)
    /// on the gradient of the loss, with regrets bounded below by `-sqrt(V)`: in the original, an
    /// expert that was inaccurate for a long time has to be accurate for as long before it gets
    /// weight. Regret matching+ (Tammelin, Burch, Johanson and Bowling, "Solving heads-up limit
    /// Texas hold'em", 2015) bounds them by zero, which gives weight to poor experts after single
    /// favourable rows.
    #[default]
    Polynomial,
    /// Posterior probability that each expert is the best, for Gaussian errors with the mixture's
    /// variance over about the last thousand rows, and a probability of 1e-4 per row that the best
    /// expert changes. It adapts faster, averages less, and has no worst-case bound.
    ///
    /// Herbster and Warmuth, "Tracking the best expert", 1998.
    FixedShare,
}

/// Weights of one output, and their statistics.
#[derive(Clone, Debug)]
pub(crate) struct Mixture<L> {
    weights: Vec<f64>,
    state: MixtureState,
    loss: L,
}

#[derive(Clone, Debug)]
enum MixtureState {
    Polynomial(Polynomial),
    FixedShare(FixedShare),
}

impl<L: PointLoss> Mixture<L> {
    /// Equal weights for `experts`, with this loss.
    pub(crate) fn new(spec: MixtureSpec, loss: L, experts: usize) -> Self {
        let state = match spec {
            MixtureSpec::Polynomial => MixtureState::Polynomial(Polynomial::new(experts)),
            MixtureSpec::FixedShare => MixtureState::FixedShare(FixedShare::default()),
        };
        let mut weights = vec![0.0; experts];
        level(&mut weights);
        Self { weights, state, loss }
    }

    /// One for each expert, with sum 1.
    pub(crate) fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The mixture of the experts' predictions. A missing one, NaN, counts as the mixture's.
    pub(crate) fn mixed(&self, made: &[f64]) -> f64 {
        mean_of(made, &self.weights)
    }

    /// Weights of the experts in a prediction with these confidences, with sum 1, into `shares`.
    /// Confidences are 1 if `sure` is empty.
    pub(crate) fn share_out(&self, sure: &[f64], shares: &mut [f64]) {
        shares.copy_from_slice(&self.weights);
        if sure.is_empty() {
            return;
        }
        shares.iter_mut().zip(sure).for_each(|(share, sure)| *share *= sure);
        // If no expert with weight has confidence, those with confidence are averaged.
        if shares.iter().all(|share| *share <= 0.0) {
            let any = sure.iter().any(|sure| *sure > 0.0);
            shares.copy_from_slice(if any { sure } else { &self.weights });
        }
        normalize(shares);
    }

    /// One round: returns the [mixture](Self::mixed), then learns from the target, except for
    /// experts without a prediction.
    pub(crate) fn learn(&mut self, made: &[f64], target: f64, weight: f64) -> f64 {
        let mixed = self.mixed(made);
        self.learn_from(Said { made, sure: &[] }, mixed, target, weight);
        mixed
    }

    /// Learns from a target, given the predictions of the experts and of the mixture.
    pub(crate) fn learn_from(&mut self, said: Said<'_>, mixed: f64, target: f64, weight: f64) {
        let seen = Outcome { said, mixed, target, weight, loss: self.loss };
        // Differences of rounding size are no evidence for any expert, and would count in full at
        // the beginning.
        let (low, high) = said.made.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &value| {
            (value.min(low), value.max(high))
        });
        if weight > 0.0 && high - low > 1e-12 * low.abs().max(high.abs()) {
            match &mut self.state {
                MixtureState::Polynomial(state) => state.learn(&seen, &mut self.weights),
                MixtureState::FixedShare(state) => state.learn(&seen, &mut self.weights),
            }
        }
    }

    /// Multiplies the weight of all past rows by a factor.
    pub(crate) fn fade(&mut self, keep: f64) {
        match &mut self.state {
            MixtureState::Polynomial(state) => state.fade(keep),
            MixtureState::FixedShare(_) => {}
        }
    }

    /// Continues with a subset of the experts, at least one, by index.
    pub(crate) fn retain(&mut self, kept: &[usize]) {
        self.weights = kept.iter().map(|j| self.weights[*j]).collect();
        if self.weights.iter().any(|weight| *weight > 0.0) {
            normalize(&mut self.weights);
        } else {
            level(&mut self.weights);
        }
        match &mut self.state {
            MixtureState::Polynomial(state) => state.retain(kept),
            MixtureState::FixedShare(_) => {}
        }
    }

    /// The state as numbers, for files that hold many.
    pub(crate) fn numbers(&self) -> Vec<f64> {
        let state = match &self.state {
            MixtureState::Polynomial(state) => state.numbers(),
            MixtureState::FixedShare(state) => state.numbers(),
        };
        [self.weights.clone(), state].concat()
    }

    /// Sets the state from [`numbers`](Self::numbers) of another with as many experts, if they are
    /// valid.
    pub(crate) fn resume(&mut self, numbers: &[f64]) -> Result<()> {
        let wrong = || Error::file("the numbers of a mixture are none");
        let (weights, state) = numbers.split_at_checked(self.weights.len()).ok_or_else(wrong)?;
        let sound = match &mut self.state {
            MixtureState::Polynomial(own) => own.resume(state),
            MixtureState::FixedShare(own) => own.resume(state),
        };
        self.weights.copy_from_slice(weights);
        if sound && self.weighs() { Ok(()) } else { Err(wrong()) }
    }

    /// Whether these are valid weights.
    fn weighs(&self) -> bool {
        let sum: f64 = self.weights.iter().sum();
        self.weights.iter().all(|weight| *weight >= 0.0) && (sum - 1.0).abs() <= 1e-6
    }

    pub(crate) fn write(&self, output: usize, out: &mut Writer) {
        out.vector(&name(output, "weights"), &self.weights);
        match &self.state {
            MixtureState::Polynomial(state) => state.write(output, out),
            MixtureState::FixedShare(state) => state.write(output, out),
        }
    }

    pub(crate) fn read(&mut self, output: usize, from: &Reader<'_>) -> Result<()> {
        let weights = name(output, "weights");
        self.weights = from.vector(&weights, self.weights.len())?;
        if !self.weighs() {
            return Err(Error::file(format!("{weights} are not weights that sum to 1")));
        }
        match &mut self.state {
            MixtureState::Polynomial(state) => state.read(output, from),
            MixtureState::FixedShare(state) => state.read(output, from),
        }
    }
}

/// Weighted mean of the predictions that are available and not excluded as NaN.
pub(crate) fn mean_of(made: &[f64], weights: &[f64]) -> f64 {
    let mixed: f64 = weights.iter().zip(made).map(|(weight, made)| weight * made).sum();
    if !mixed.is_nan() {
        return mixed;
    }
    let there = || weights.iter().zip(made).filter(|(_, made)| !made.is_nan());
    let total: f64 = there().map(|(weight, _)| weight).sum();
    if total > 0.0 {
        return there().map(|(weight, made)| weight * made).sum::<f64>() / total;
    }
    there().map(|(_, made)| made).sum::<f64>() / there().count() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::Loss;
    use crate::random::{normal, uniform};

    const SPECS: [MixtureSpec; 2] = [MixtureSpec::Polynomial, MixtureSpec::FixedShare];

    fn loss(prediction: f64, target: f64) -> f64 {
        (prediction - target) * (prediction - target)
    }

    /// Mean loss of the mixture on each of several intervals of a stream.
    fn losses(spec: MixtureSpec, stream: &[(Vec<f64>, f64)], ends: &[usize]) -> Vec<f64> {
        let mut mixture = Mixture::new(spec, Loss::Squared, stream[0].0.len());
        let all: Vec<f64> =
            stream.iter().map(|(made, target)| loss(mixture.learn(made, *target, 1.0), *target)).collect();
        let starts = std::iter::once(&0).chain(ends);
        starts.zip(ends).map(|(a, b)| all[*a..*b].iter().sum::<f64>() / (b - a) as f64).collect()
    }

    #[test]
    fn it_changes_over_when_the_best_expert_does() {
        // Experts with biases, whose sign flips half way.
        let stream: Vec<_> = (0..8000_u32)
            .map(|t| {
                let target = (f64::from(t) / 30.0).sin() + 0.1 * normal(5, u64::from(t));
                let bias = |j: u32| 0.05 * f64::from(if t < 4000 { j + 1 } else { 20 - j });
                ((0..20).map(|j| (f64::from(t) / 30.0).sin() + bias(j)).collect(), target)
            })
            .collect();
        for spec in SPECS {
            let found = losses(spec, &stream, &[4000, 4500, 8000]);
            // The loss of the best expert is 0.01 + 0.05^2 in both halves, that of the former best
            // 1.01.
            assert!(found[0] < 0.0145, "{spec:?}: {found:?}");
            assert!(found[1] < 0.1, "{spec:?}: {found:?}");
            assert!(found[2] < 0.02, "{spec:?}: {found:?}");
        }
    }

    #[test]
    fn signs_right_beyond_the_margin_have_zero_loss() {
        for spec in SPECS {
            let mut mixture = Mixture::new(spec, Loss::SquaredHinge, 3);
            for t in 0..2000_u32 {
                let sign = if t % 3 == 0 { 1.0 } else { -1.0 };
                mixture.learn(&[3.0 * sign, 0.4 * sign, -1.0], sign, 1.0);
            }
            assert!(mixture.weights()[0] > 0.9, "{spec:?}: {:?}", mixture.weights());
        }
    }

    #[test]
    fn its_regret_is_bounded_whatever_the_stream() {
        let experts = 8_usize;
        let rows = 3000_u64;
        for (kind, unsure) in (0..4).flat_map(|kind| [(kind, false), (kind, true)]) {
            let sure = |t: u64| -> Vec<f64> {
                let each = |j: u64| uniform(kind + 10, t * experts as u64 + j).powi(2);
                if unsure { (0..experts as u64).map(each).collect() } else { Vec::new() }
            };
            let mut mixture = Mixture::new(MixtureSpec::Polynomial, Loss::Squared, experts);
            let (mut regret, mut worst) = (vec![0.0_f64; experts], vec![0.0_f64; experts]);
            let mut steps = vec![(0.0_f64, 0.0_f64); experts];
            for t in 0..rows {
                let mut made: Vec<f64> =
                    (0..experts as u64).map(|j| uniform(kind, t * experts as u64 + j)).collect();
                let (sure, mut shares) = (sure(t), vec![0.0; experts]);
                mixture.share_out(&sure, &mut shares);
                let mixed = |made: &[f64]| shares.iter().zip(made).map(|(share, made)| share * made).sum();
                let guess: f64 = mixed(&made);
                let target = match kind {
                    // Far from the mixture's prediction.
                    0 => f64::from(guess < 0.5),
                    // The prediction of one expert, periodically that of another.
                    1 => made[usize::try_from(t / 300).unwrap() % experts],
                    // The experts with the most weight have the largest error.
                    2 => {
                        let heaviest = (0..experts)
                            .max_by(|a, b| mixture.weights()[*a].total_cmp(&mixture.weights()[*b]));
                        made[heaviest.unwrap()] = 1.0;
                        0.0
                    }
                    // On a growing scale.
                    _ => {
                        let scale = 1.01_f64.powf(t as f64);
                        for value in &mut made {
                            *value *= scale;
                        }
                        0.5 * made[0]
                    }
                };
                let mixed: f64 = mixed(&made);
                mixture.learn_from(Said { made: &made, sure: &sure }, mixed, target, 1.0);
                for j in 0..experts {
                    // The largest over all intervals that end here; rows are weighted by the
                    // expert's confidence.
                    let sure = sure.get(j).copied().unwrap_or(1.0);
                    let gap = sure * (loss(mixed, target) - loss(made[j], target));
                    regret[j] = (regret[j] + gap).max(0.0);
                    worst[j] = worst[j].max(regret[j]);
                    let step = (sure * (mixed - target) * (mixed - made[j])).powi(2);
                    steps[j] = (steps[j].0 + step, steps[j].1.max(step));
                }
            }
            for j in 0..experts {
                let scale = steps[j].0 + steps[j].1;
                let bound =
                    2.0 * (1.0 + (2.0 * experts as f64 * (rows as f64).ln_1p()).sqrt()) * scale.sqrt();
                assert!(worst[j] <= bound, "stream {kind}, expert {j}: {} above {bound}", worst[j]);
                assert!(worst[j] > 0.0, "stream {kind} puts it to the test");
            }
        }
    }

    #[test]
    fn confidences_weight_predictions_and_losses() {
        for spec in SPECS {
            let mut mixture = Mixture::new(spec, Loss::Squared, 3);
            let mut shares = [0.0; 3];
            for t in 0..2000 {
                // The first is right where it has confidence, every other row; the second is always
                // nearly right.
                let (target, sure) = (normal(1, t), [f64::from(t % 2 == 0), 1.0, 0.0]);
                let made = [if t % 2 == 0 { target } else { 1e3 }, target + 0.1 * normal(2, t), f64::NAN];
                mixture.share_out(&sure, &mut shares);
                let mixed = shares[0] * made[0] + shares[1] * made[1];
                assert!(shares[2] == 0.0 && (t % 2 == 0 || shares[0] == 0.0));
                mixture.learn_from(Said { made: &made, sure: &sure }, mixed, target, 1.0);
            }
            mixture.share_out(&[1.0, 1.0, 0.0], &mut shares);
            assert!(shares[0] > 0.9, "{spec:?}: {shares:?}");
            mixture.share_out(&[0.0; 3], &mut shares);
            assert!(
                shares.iter().zip(mixture.weights()).all(|(share, weight)| (share - weight).abs() < 1e-12)
            );
        }
    }

    #[test]
    fn experts_that_agree_keep_their_weights() {
        for spec in SPECS {
            let mut mixture = Mixture::new(spec, Loss::Squared, 3);
            for t in 0..50 {
                mixture.learn(&[1.0, 1.0 + f64::EPSILON, 1.0], f64::from(t), 1.0);
                mixture.learn(&[1.0, 2.0, 3.0], 1.0, 0.0);
            }
            assert!(mixture.weights().iter().all(|weight| (weight - 1.0 / 3.0).abs() < 1e-15));
        }
    }

    #[test]
    fn numbers_near_the_end_of_the_scale_stay_numbers() {
        for spec in SPECS {
            for scale in [1e-70_f64, 1e-30, 1e50, 1e149] {
                let mut mixture = Mixture::new(spec, Loss::Squared, 3);
                for t in 0..100 {
                    let target = scale.min(1e50) * f64::from(t % 3);
                    let mixed = mixture.learn(&[target, scale, -scale], target, 1e50);
                    assert!(mixed.is_finite());
                    let sum: f64 = mixture.weights().iter().sum();
                    assert!((sum - 1.0).abs() < 1e-12, "{spec:?} at {scale}: {:?}", mixture.weights());
                }
                assert!(
                    scale > 1e50 || mixture.weights()[0] > 0.5,
                    "{spec:?} at {scale}: {:?}",
                    mixture.weights()
                );
            }
        }
    }
}
