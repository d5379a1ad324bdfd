//! What a single model knows of its errors.

use super::{Calibration, Noise, Prequential, Spread};
use crate::error::Result;
use crate::persist::{Reader, Writer};

/// The [`Noise`] of a model's targets, and the [`Calibration`] of the deviations that follow from it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Errors {
    noise: Noise,
    calibration: Calibration,
}

/// A row that was predicted and then learned.
pub(crate) struct Learned<'a> {
    pub predictions: &'a [f64],
    pub y: &'a [f64],
    /// Variance of the predictions in units of the noise.
    pub leverage: f64,
    pub weight: f64,
    /// What is left of the weight of the rows before.
    pub forgetting: f64,
}

impl Errors {
    /// Those of as many outputs, before the first row.
    pub fn new(outputs: usize) -> Self {
        Self { noise: Noise::new(outputs), calibration: Calibration::new(outputs) }
    }

    /// Standard deviation of the noise.
    pub fn noise(&self, c: usize) -> f64 {
        self.noise.deviation(c)
    }

    /// The spread of errors of predictions that have this leverage; infinite where nothing is known yet.
    pub fn spread(&self, c: usize, leverage: f64, spread: Spread) -> f64 {
        self.noise.deviation(c) * spread.at(leverage)
    }

    pub fn calibration(&self) -> &Calibration {
        &self.calibration
    }

    /// Tells of row `i`.
    pub fn tell(&self, i: usize, predictions: &[f64], leverage: f64, told: &mut Prequential<'_>) {
        if told.asks_nothing() {
            return;
        }
        for (c, made) in predictions.iter().enumerate() {
            let spread = |spread| self.spread(c, leverage, spread);
            told.tell((i, c), *made, spread, &self.calibration);
        }
    }

    /// Tells of row `i`, then takes down its errors.
    pub fn meet(&mut self, i: usize, row: &Learned<'_>, told: &mut Prequential<'_>) {
        self.tell(i, row.predictions, row.leverage, told);
        let factor = Spread::Interval.at(row.leverage);
        for (c, (made, target)) in row.predictions.iter().zip(row.y).enumerate() {
            self.calibration.meet(c, *made, *target, factor * self.noise(c));
        }
        self.noise.meet(row);
    }

    /// Adds what is known of the errors on other rows, each of which leaves so much of the weight of those before.
    pub fn follow(&mut self, later: &Self, forgetting: f64) {
        let keep = forgetting.powf(later.noise.rows() as f64);
        self.noise.follow(&later.noise, keep);
        self.calibration.follow(&later.calibration, keep);
    }

    pub fn write(&self, out: &mut Writer) {
        self.noise.write(out);
        self.calibration.write(out);
    }

    /// What [`write`](Self::write) wrote.
    pub fn read(outputs: usize, from: &Reader<'_>) -> Result<Self> {
        Ok(Self { noise: Noise::read(outputs, from)?, calibration: Calibration::read(outputs, from)? })
    }
}
