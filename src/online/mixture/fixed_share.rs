//! Posterior probability of each expert, if the best expert changes occasionally.

use super::outcome::{Outcome, PointLoss, name, normalize};
use crate::error::{Error, Result};
use crate::persist::{Reader, Writer};

/// Probability per row that another expert becomes the best.
const SHARE: f64 = 1e-4;

/// Decay of the weight of a past row: a memory of about a thousand rows for the variance.
const MEMORY: f64 = 0.999;

/// Upper limit of losses, against overflow.
const LARGEST: f64 = 1e240;

/// See [`MixtureSpec::FixedShare`](super::MixtureSpec::FixedShare).
#[derive(Clone, Debug, Default)]
pub(super) struct FixedShare {
    /// Exponentially weighted sum of the losses of the mixture.
    loss: f64,
    /// Sum of these weights.
    seen: f64,
}

impl FixedShare {
    pub(super) fn learn(&mut self, seen: &Outcome<'_, impl PointLoss>, weights: &mut [f64]) {
        let loss = |prediction: f64| seen.loss.value(prediction, seen.target).min(LARGEST);
        self.loss = MEMORY * self.loss + seen.weight * loss(seen.mixed);
        self.seen = MEMORY * self.seen + seen.weight;
        if self.loss <= 0.0 {
            return;
        }
        let rate = (0.5 * seen.weight * self.seen / self.loss).min(f64::MAX);
        // With the remaining weight, an expert has the loss of the mixture.
        let common = loss(seen.mixed);
        let own = |j: usize| {
            let sure = seen.said.sure(j);
            if sure > 0.0 { sure * loss(seen.said.made[j]) + (1.0 - sure) * common } else { common }
        };
        let least = (0..weights.len()).map(own).fold(f64::INFINITY, f64::min);
        for (j, weight) in weights.iter_mut().enumerate() {
            *weight *= (-rate * (own(j) - least)).exp();
        }
        normalize(weights);
        let each = SHARE / weights.len() as f64;
        for weight in weights {
            *weight = (1.0 - SHARE) * *weight + each;
        }
    }

    pub(super) fn numbers(&self) -> Vec<f64> {
        vec![self.loss, self.seen]
    }

    /// Sets the state from [`numbers`](Self::numbers) of another; returns whether they are valid.
    pub(super) fn resume(&mut self, numbers: &[f64]) -> bool {
        let [loss, seen] = *numbers else { return false };
        (self.loss, self.seen) = (loss, seen);
        loss >= 0.0 && seen >= 0.0
    }

    pub(super) fn write(&self, output: usize, out: &mut Writer) {
        out.vector(&name(output, "errors"), &[self.loss, self.seen]);
    }

    pub(super) fn read(&mut self, output: usize, from: &Reader<'_>) -> Result<()> {
        let name = name(output, "errors");
        let errors = from.vector(&name, 2)?;
        (self.loss, self.seen) = (errors[0], errors[1]);
        if self.loss < 0.0 || self.seen < 0.0 {
            return Err(Error::file(format!("{name} holds a negative number")));
        }
        Ok(())
    }
}
