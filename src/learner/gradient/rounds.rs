//! Several rounds of gradient descent, applied together.

use crate::linalg::{Coordinates, Panel, loops, padded};

/// Rounds of gradient descent that have been computed but not applied.
///
/// A round shrinks the weights by `r_t`, adds `-step_t z_t g_t'` with its slopes `g_t`, and may
/// project them onto a ball; after several rounds they are `keep W + sum_i carry_i z_i g_i'`. The
/// next prediction needs that of the old `W` and the inner products of `z` with those of earlier
/// rounds, which are matrix products for a block of rows. The weights are read and written once a
/// block.
#[derive(Clone, Debug, Default)]
pub struct Rounds {
    /// Slopes of each round (outputs, rounds).
    slopes: Panel,
    carry: Vec<f64>,
    keep: f64,
    /// Sums of `carry` and `keep` over the rounds so far, for the mean of the weights.
    carry_sum: Vec<f64>,
    keep_sum: f64,
    pub(super) progress: Progress,
    /// `|W|^2` after the rounds so far, where there is a ball.
    pub(super) size: f64,
}

/// State of a gradient learner besides its weights.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    pub(super) rounds: u64,
    /// Sum of squared gradient norms.
    pub(super) sum: f64,
    /// Largest `|y|` seen.
    pub(super) largest: f64,
}

impl Rounds {
    /// No round yet, for weights of squared norm `size`.
    pub(super) fn begin(&mut self, progress: Progress, size: f64) {
        self.slopes.reset(self.slopes.rows(), 0);
        self.carry.clear();
        self.carry_sum.clear();
        (self.keep, self.keep_sum) = (1.0, 0.0);
        (self.progress, self.size) = (progress, size);
    }

    /// Number of rounds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.carry.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.carry.is_empty()
    }

    /// Prediction of the next round, into `out`, which holds that of the weights before all rounds,
    /// with zeros for outputs added since. `inner` gives the inner product with the coordinates of
    /// an earlier round.
    pub fn predict(&self, out: &mut Coordinates, inner: impl Fn(usize) -> f64) {
        self.combine(out, self.keep, &self.carry, inner);
    }

    /// The same for the sum of the weights after each round.
    pub(super) fn predict_by_sum(&self, out: &mut Coordinates, inner: impl Fn(usize) -> f64) {
        self.combine(out, self.keep_sum, &self.carry_sum, inner);
    }

    fn combine(&self, out: &mut Coordinates, keep: f64, carry: &[f64], inner: impl Fn(usize) -> f64) {
        let known = padded(self.slopes.rows().min(out.len()));
        for value in out.in_lanes_mut() {
            *value *= keep;
        }
        let (out, stride) = (&mut out.in_lanes_mut()[..known], self.slopes.stride());
        let mut shares = [0.0; 64];
        let parts = carry.chunks(shares.len()).zip(self.slopes.data().chunks(shares.len() * stride.max(1)));
        for (k, (carry, slopes)) in parts.enumerate() {
            let first = k * shares.len();
            for (i, (share, carry)) in shares.iter_mut().zip(carry).enumerate() {
                *share = carry * inner(first + i);
            }
            loops::add_product(slopes, stride, &shares[..carry.len()], out);
        }
    }

    /// Adds a round: shrinks by `before`, takes `step` along the slopes, shrinks by `after`.
    pub(super) fn push(&mut self, slopes: &[f64], before: f64, step: f64, after: f64) {
        let i = self.len();
        self.slopes.grow_rows(slopes.len());
        self.slopes.grow_cols(i + 1);
        self.slopes.col_mut(i)[..slopes.len()].copy_from_slice(slopes);
        self.keep *= before * after;
        self.carry.iter_mut().for_each(|carry| *carry *= before * after);
        self.carry.push(-step * after);
        self.carry_sum.push(0.0);
        self.keep_sum += self.keep;
        self.carry_sum.iter_mut().zip(&self.carry).for_each(|(sum, carry)| *sum += carry);
    }

    /// Slopes (rounds, outputs) times the factor on each after the last round, into the second of
    /// `out`; returns the factor on the weights.
    pub(super) fn scaled(&self, outputs: usize, out: &mut [Panel; 2]) -> f64 {
        self.times(&self.carry, outputs, out);
        self.keep
    }

    /// The same, summed over the rounds.
    pub(super) fn scaled_sum(&self, outputs: usize, out: &mut [Panel; 2]) -> f64 {
        self.times(&self.carry_sum, outputs, out);
        self.keep_sum
    }

    fn times(&self, weights: &[f64], outputs: usize, [scaled, turned]: &mut [Panel; 2]) {
        scaled.reset(outputs, self.len());
        for (i, weight) in weights.iter().enumerate() {
            let slopes = &self.slopes.col(i)[..self.slopes.rows()];
            scaled.col_mut(i).iter_mut().zip(slopes).for_each(|(to, slope)| *to = weight * slope);
        }
        scaled.transpose_into(turned);
    }
}
