//! Mixtures of forecasts in a model file.

use super::JointForecaster;
use super::readouts::Readouts;
use crate::error::{Error, Result};
use crate::koopman::Koopman;
use crate::persist::{Reader, Writer};

impl JointForecaster {
    pub fn write(&self, out: &mut Writer) -> Result<()> {
        self.learned.write(self.seen.mean.len(), out)?;
        self.readouts.write(out);
        out.counts("forecaster.counts", &[self.seen.count]);
        out.vector("forecaster.mean", &self.seen.mean);
        out.vector("forecaster.squares", &self.seen.squares);
        out.vector("forecaster.low", &self.seen.low);
        out.vector("forecaster.high", &self.seen.high);
        self.horizons.iter().enumerate().try_for_each(|(k, horizon)| horizon.write(k, out))
    }

    /// Reads what [`write`](Self::write) wrote, beside this operator. `again`: whether its first
    /// states are stored.
    pub fn read(&mut self, from: &Reader<'_>, operator: &Koopman, blocks: usize, again: bool) -> Result<()> {
        let list = |name: &str| from.matrix(name).map(|(_, _, values)| values);
        [self.seen.count] = from.counts("forecaster.counts")?;
        (self.seen.mean, self.seen.squares) = (list("forecaster.mean")?, list("forecaster.squares")?);
        (self.seen.low, self.seen.high) = (list("forecaster.low")?, list("forecaster.high")?);
        let (joint, width) = (operator.n_features(), self.seen.mean.len());
        if !self.seen.is_sound() || joint.is_some_and(|joint| width > 0 && joint != width * blocks) {
            return Err(Error::file("the arrays of its forecasts do not fit each other"));
        }
        self.learned.read(width, operator, again, from)?;
        self.readouts = Readouts::read(operator, self.horizons.len() * width, from)?;
        self.horizons.iter_mut().enumerate().try_for_each(|(k, horizon)| horizon.read(k, width, from))
    }
}
