//! The probability of each expert, given that the best one changes now and then.

use super::outcome::{Outcome, PointLoss, name, normalize};
use crate::error::{Error, Result};
use crate::persist::{Reader, Writer};

/// The chance that another expert takes over at a row.
const SHARE: f64 = 1e-4;

/// The weight of a past row falls by this factor each round: the variance is that of a thousand rows or so.
const MEMORY: f64 = 0.999;

/// Losses are kept below this, so that their sums are numbers.
const LARGEST: f64 = 1e240;

/// See [`MixtureSpec::FixedShare`](super::MixtureSpec::FixedShare).
#[derive(Clone, Debug, Default)]
pub(super) struct FixedShare {
    /// Sum of the losses of the mixture in the latest rows.
    loss: f64,
    /// How many these are, by their weights.
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
        // Who is not sure said in part what the others say.
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

    /// Takes over the [`numbers`](Self::numbers) of another; returns whether they are such.
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
