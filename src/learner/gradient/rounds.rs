//! Several rounds of gradient descent carried out together.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatRef, Par};

use super::{Gradient, Scratch};
use crate::error::Result;
use crate::learner::{Learner as _, Rows};
use crate::linalg::{Coordinates, Panel, loops, padded};

/// Rounds of gradient descent that have been worked out but not carried out.
///
/// A round shrinks the weights by `r_t`, adds `-step_t z_t g_t'` for its slopes `g_t`, and may shrink
/// them again into a ball; so after some rounds they are `keep W + sum_i carry_i z_i g_i'`. The prediction
/// of the next takes that of the old `W` and the inner products of `z` with those of the rounds
/// before, which are matrix products for a block of rows. The weights are touched once a block.
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
    /// `|W|^2` after the rounds so far, if anybody asks.
    pub(super) size: f64,
}

/// What a gradient learner takes down beside its weights.
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

    /// How many rounds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.carry.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.carry.is_empty()
    }

    /// The prediction of the next round, into `out`, which holds that of the weights before all rounds,
    /// with zeros for the outputs that came up since. `inner` gives the inner product with the
    /// coordinates of an earlier round.
    pub fn predict(&self, out: &mut Coordinates, inner: impl Fn(usize) -> f64) {
        self.combine(out, self.keep, &self.carry, inner);
    }

    /// The same of the sum of the weights after each round.
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

    /// A round: shrinks by `before`, goes `step` along the slopes, shrinks by `after`.
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

    /// Slopes (rounds, outputs) times what is left of each after the last round, into the second of
    /// `out`; what is left of the weights.
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

impl Gradient {
    /// Makes `rounds` none, of those that [`take`](Self::take) works out and
    /// [`carry_out`](Self::carry_out) carries out.
    pub fn begin(&self, rounds: &mut Rounds) {
        rounds.begin(self.progress, self.size());
    }

    /// [`next_gain`](Self::next_gain) when `rounds` will have been carried out.
    #[must_use]
    pub fn gain_after(&self, rounds: &Rounds) -> f64 {
        self.gain_of_round(rounds.progress.rounds + 1)
    }

    /// Takes the next round into `rounds`: its target and what [`Rounds::predict`] gives for it, and
    /// `|z|^2`. `slopes` is scratch, one number an output.
    pub fn take(
        &self,
        rounds: &mut Rounds,
        y: &[f64],
        weight: f64,
        prediction: &[f64],
        squared: f64,
        slopes: &mut [f64],
    ) -> Result<()> {
        let mut progress = rounds.progress;
        let step = self.spec.next_step(&mut progress, y, weight, prediction, squared, slopes)?;
        let keep = self.spec.keep(step);
        let mut after = 1.0;
        if let Some(radius) = self.spec.radius(progress.largest) {
            let along: f64 = slopes.iter().zip(prediction).map(|(slope, value)| slope * value).sum();
            let steepness: f64 = slopes.iter().map(|slope| slope * slope).sum();
            let size =
                keep * keep * rounds.size - 2.0 * keep * step * along + step * step * steepness * squared;
            rounds.size = size.max(0.0);
            if rounds.size > radius * radius {
                after = radius / rounds.size.sqrt();
                rounds.size = radius * radius;
            }
        }
        rounds.progress = progress;
        rounds.push(slopes, keep, step, after);
        Ok(())
    }

    /// Carries out `rounds` at the rows of `z` (rounds, dim), by one matrix product (two with
    /// averaging). Equals the rounds one by one to rounding. There are as many outputs as the last
    /// round had.
    pub fn carry_out(&mut self, z: MatRef<'_, f64>, rounds: &Rounds) {
        let (first, total) = (self.progress.rounds as f64, rounds.progress.rounds as f64);
        if self.spec.averaging && !rounds.is_empty() {
            // The sum of the weights after each of the rounds, from the weights before them.
            let keep = rounds.scaled_sum(self.n_outputs(), &mut self.scratch.scaled);
            for c in 0..self.mean.cols() {
                for (mean, w) in self.mean.col_mut(c).iter_mut().zip(self.weights.col(c)) {
                    *mean = (*mean * first + keep * w) / total;
                }
            }
            matmul(
                self.mean.as_faer_mut(),
                Accum::Add,
                z.transpose(),
                self.scratch.scaled[1].as_faer(),
                total.recip(),
                Par::Seq,
            );
        }
        let keep = rounds.scaled(self.n_outputs(), &mut self.scratch.scaled);
        self.weights.scale(keep);
        matmul(
            self.weights.as_faer_mut(),
            Accum::Add,
            z.transpose(),
            self.scratch.scaled[1].as_faer(),
            1.0,
            Par::Seq,
        );
        self.progress = rounds.progress;
    }

    /// Works out the rounds of a block, up to the first row that becomes a coordinate.
    pub(super) fn walk(
        &self,
        rows: &Rows<'_>,
        mut predictions: Option<&mut Panel>,
        waiting: &mut Rounds,
        scratch: &mut Scratch,
    ) -> Result<usize> {
        let Scratch { inner, raw, mean, turned, made, summed, slopes, .. } = scratch;
        let outputs = self.n_outputs();
        inner.reshape(rows.len(), rows.len());
        matmul(inner.as_faer_mut(), Accum::Replace, rows.z, rows.z.transpose(), 1.0, Par::Seq);
        let mut prediction = |of: &Panel, to: &mut Panel| {
            turned.reshape(rows.len(), outputs);
            matmul(turned.as_faer_mut(), Accum::Replace, rows.z, of.as_faer(), 1.0, Par::Seq);
            turned.transpose_into(to);
        };
        prediction(&self.weights, raw);
        if self.spec.averaging && predictions.is_some() {
            prediction(&self.mean, mean);
        }
        slopes.resize(outputs, 0.0);
        for i in 0..rows.len() {
            let (y, weight) = (rows.target(i), rows.weight(i));
            let between = |earlier: usize| inner.get(earlier, i);
            let before = &raw.col(i)[..outputs];
            made.set(before.iter().copied());
            waiting.predict(made, between);
            if rows.ends_at(i, || self.spec.changes(made.as_slice(), y)) {
                return Ok(i);
            }
            if let Some(predictions) = &mut predictions {
                let to = &mut predictions.col_mut(i)[..outputs];
                if self.spec.averaging {
                    let (first, now) = (self.progress.rounds as f64, waiting.progress.rounds as f64);
                    summed.set(before.iter().copied());
                    waiting.predict_by_sum(summed, between);
                    for ((to, sum), mean) in to.iter_mut().zip(summed.as_slice()).zip(mean.col(i)) {
                        *to = if now > 0.0 { (sum + first * mean) / now } else { 0.0 };
                    }
                } else {
                    to.copy_from_slice(made.as_slice());
                }
            }
            self.take(waiting, y, weight, made.as_slice(), inner.get(i, i), slopes)
                .map_err(|error| error.shifted(i))?;
        }
        Ok(rows.len())
    }
}
