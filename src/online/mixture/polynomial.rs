//! Weights proportional to regrets, with a learning rate for each expert.

use std::ops::RangeInclusive;

use super::outcome::{Outcome, PointLoss, level, name, normalize};
use crate::error::{Error, Result};
use crate::persist::{Reader, Writer};

/// Upper limit of regrets, against overflow of squares and sums.
const LARGEST: f64 = 1e150;

/// See [`MixtureSpec::Polynomial`](super::MixtureSpec::Polynomial). For each expert:
#[derive(Clone, Debug)]
pub(super) struct Polynomial {
    /// Regret: accumulated advantage over the mixture, bounded below.
    regret: Vec<f64>,
    /// Sum of its squared increments.
    variation: Vec<f64>,
    /// Largest squared increment.
    largest: Vec<f64>,
}

impl Polynomial {
    pub(super) fn new(experts: usize) -> Self {
        let zeros = || vec![0.0; experts];
        Self { regret: zeros(), variation: zeros(), largest: zeros() }
    }

    /// Continues with a subset of the experts, by index.
    pub(super) fn retain(&mut self, kept: &[usize]) {
        for values in [&mut self.regret, &mut self.variation, &mut self.largest] {
            *values = kept.iter().map(|j| values[*j]).collect();
        }
    }

    pub(super) fn learn(&mut self, seen: &Outcome<'_, impl PointLoss>, weights: &mut [f64]) {
        // Half of the derivative: for the squared loss the error.
        let slope = 0.5 * seen.weight * seen.loss.derivative(seen.mixed, seen.target);
        for j in (0..weights.len()).filter(|j| seen.said.sure(*j) > 0.0) {
            let step = slope * (seen.mixed - seen.said.made[j]) * seen.said.sure(j);
            let step = step.clamp(-LARGEST, LARGEST);
            self.variation[j] = (self.variation[j] + step * step).min(LARGEST * LARGEST);
            self.largest[j] = self.largest[j].max(step * step);
            self.set_regret(j, self.regret[j] + step);
        }
        self.weigh(weights);
    }

    /// Multiplies the weight of all past rows by a factor.
    pub(super) fn fade(&mut self, keep: f64) {
        self.regret.iter_mut().for_each(|regret| *regret *= keep);
        for square in self.variation.iter_mut().chain(&mut self.largest) {
            *square *= keep * keep;
        }
        // Squares are rounded, and underflow, independently of the regrets.
        for j in 0..self.regret.len() {
            self.set_regret(j, self.regret[j]);
        }
    }

    /// Range of the regret of an expert, given its increments.
    fn allowed(&self, expert: usize) -> RangeInclusive<f64> {
        -self.scale(expert).sqrt()..=LARGEST
    }

    fn set_regret(&mut self, expert: usize, regret: f64) {
        let allowed = self.allowed(expert);
        self.regret[expert] = regret.clamp(*allowed.start(), *allowed.end());
    }

    fn scale(&self, expert: usize) -> f64 {
        self.variation[expert] + self.largest[expert]
    }

    fn weigh(&self, weights: &mut [f64]) {
        for (j, weight) in weights.iter_mut().enumerate() {
            *weight = if self.regret[j] > 0.0 { self.regret[j] / self.scale(j) } else { 0.0 };
        }
        // Relative to the largest, so that the sum does not overflow in any unit of the targets.
        let most = weights.iter().copied().fold(0.0, f64::max);
        if most > 0.0 && most.is_finite() {
            for weight in &mut *weights {
                *weight /= most;
            }
            normalize(weights);
        } else {
            level(weights);
        }
    }

    pub(super) fn numbers(&self) -> Vec<f64> {
        [&self.regret[..], &self.variation, &self.largest].concat()
    }

    /// Sets the state from [`numbers`](Self::numbers) of another; returns whether they are valid.
    pub(super) fn resume(&mut self, numbers: &[f64]) -> bool {
        let size = self.regret.len();
        if numbers.len() != 3 * size {
            return false;
        }
        let lists = [&mut self.regret, &mut self.variation, &mut self.largest];
        lists.into_iter().zip(numbers.chunks(size)).for_each(|(own, part)| own.copy_from_slice(part));
        self.is_sound()
    }

    fn is_sound(&self) -> bool {
        (0..self.regret.len()).all(|j| {
            self.variation[j] >= 0.0 && self.largest[j] >= 0.0 && self.allowed(j).contains(&self.regret[j])
        })
    }

    pub(super) fn write(&self, output: usize, out: &mut Writer) {
        for (what, values) in
            [("regret", &self.regret), ("variation", &self.variation), ("largest", &self.largest)]
        {
            out.vector(&name(output, what), values);
        }
    }

    pub(super) fn read(&mut self, output: usize, from: &Reader<'_>) -> Result<()> {
        for (what, values) in
            [("regret", &mut self.regret), ("variation", &mut self.variation), ("largest", &mut self.largest)]
        {
            *values = from.vector(&name(output, what), values.len())?;
        }
        if !self.is_sound() {
            return Err(Error::file(format!("the regrets of output {output} do not fit their steps")));
        }
        Ok(())
    }
}
