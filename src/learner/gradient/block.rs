//! Rounds of gradient descent for a block of rows.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatRef, Par};

use super::rounds::Rounds;
use super::{Gradient, Scratch};
use crate::error::Result;
use crate::learner::{Learner as _, Rows};
use crate::linalg::{Panel, divided};

impl Gradient {
    /// Clears `rounds`, which [`take`](Self::take) fills and [`carry_out`](Self::carry_out)
    /// applies.
    pub fn begin(&self, rounds: &mut Rounds) {
        rounds.begin(self.progress, self.size());
    }

    /// [`next_gain`](Self::next_gain) after `rounds` have been applied.
    #[must_use]
    pub fn gain_after(&self, rounds: &Rounds) -> f64 {
        self.gain_of_round(rounds.progress.rounds + 1)
    }

    /// Adds the next round to `rounds`: its target, the result of [`Rounds::predict`], and `|z|^2`.
    /// `slopes` is scratch, one number an output.
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

    /// Applies `rounds` at the rows of `z` (rounds, dim), by one matrix product (two with
    /// averaging). Equals the rounds one by one to rounding. There are as many outputs as in the
    /// last round.
    pub fn carry_out(&mut self, z: MatRef<'_, f64>, rounds: &Rounds) {
        let (first, total) = (self.progress.rounds as f64, rounds.progress.rounds as f64);
        if self.spec.averaging && !rounds.is_empty() {
            // Sum of the weights after each of the rounds, from the weights before them.
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

    /// Computes the rounds of a block, up to the first row that becomes a coordinate.
    pub(super) fn collect(
        &self,
        rows: &Rows<'_>,
        mut predictions: Option<&mut Panel>,
        waiting: &mut Rounds,
        scratch: &mut Scratch,
    ) -> Result<usize> {
        let Scratch { inner, raw, mean, turned, made, summed, slopes, .. } = scratch;
        let outputs = self.n_outputs();
        inner.reshape(rows.len(), rows.len());
        divided::lower_product(inner.as_faer_mut(), rows.z, rows.z);
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
            let between = |earlier: usize| inner.get(i, earlier);
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
            if let Err(error) = self.take(waiting, y, weight, made.as_slice(), inner.get(i, i), slopes) {
                return rows.end_before(i, error.shifted(i)).map(|()| i);
            }
        }
        Ok(rows.len())
    }
}
