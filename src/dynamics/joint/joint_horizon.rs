//! Forecasts of all components over one horizon: their mixture, errors, and pending forecasts.

use super::blend::Blend;
use super::errors::Errors;
use super::pending::{PendingForecast, PendingForecasts};
use crate::dynamics::judging::{JUDGED, stride};
use crate::error::Result;
use crate::online::forecast_scale::NOTHING;
use crate::persist::{Reader, Writer, load};

/// Kinds of forecasts, in the order of the weights; the last requires a period.
pub const FORECASTS: [&str; 7] =
    ["operator", "increments", "linear", "modes", "persistence", "mean", "period"];

/// Number of trained kinds, which come first.
const LEARNED: usize = 4;

/// Index of the kind that is trusted initially.
const PERSISTENCE: usize = 4;

/// State of one horizon, of all components together.
#[derive(Clone, Debug)]
pub struct JointHorizon {
    pub steps: usize,
    pub blend: Blend,
    pub errors: Errors,
    kinds: usize,
    waiting: PendingForecasts,
}

impl JointHorizon {
    /// Initial state for this number of kinds.
    pub fn new(steps: usize, kinds: usize) -> Self {
        let (blend, errors) = (Blend::new(kinds, PERSISTENCE, steps.min(JUDGED)), Errors::default());
        Self { steps, blend, errors, kinds, waiting: PendingForecasts::default() }
    }

    /// Sets the number of components.
    pub fn begin(&mut self, width: usize) {
        self.errors = Errors::new(width);
        self.blend.begin(width);
    }

    /// Starts another trajectory.
    pub fn end_trajectory(&mut self) {
        self.waiting.clear();
    }

    /// Judges the forecast of the new state, `lag` states per step, with these weights of squared
    /// errors. `keep`: factor on the weight of past states.
    pub fn judge(&mut self, state: &[f64], lag: usize, counts: &[f64], keep: f64) {
        let Some(made) = self.waiting.take(self.steps * lag) else { return };
        self.blend.learn(&made.kinds, state, counts);
        self.errors.meet(&made.mixed, &made.issued, state, keep.powf(stride(self.steps) as f64));
    }

    /// Stores forecasts of all kinds until their outcome, or records that there are none; returns
    /// their mixture.
    pub fn wait(&mut self, kinds: Option<Vec<f64>>) -> Option<Vec<f64>> {
        let made = kinds.map(|kinds| {
            let (mixed, disagreement) = self.mix(&kinds);
            let issued = self.errors.issue(disagreement);
            PendingForecast { kinds, mixed, issued }
        });
        let mixed = made.as_ref().map(|made| made.mixed.clone());
        self.waiting.push(made);
        mixed
    }

    /// Mixture of the forecasts of all kinds, and for each component the log distance between them:
    /// the second smallest distance from the mixture among trained kinds, since the mixture may
    /// equal one of them.
    pub fn mix(&self, kinds: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let mixed = self.blend.mix(kinds);
        let width = mixed.len();
        let apart = |(c, mixed): (usize, &f64)| {
            let [mut nearest, mut next] = [f64::INFINITY; 2];
            for kind in kinds.chunks_exact(width).take(LEARNED) {
                let distance = (kind[c] - mixed).abs();
                if distance < nearest {
                    (nearest, next) = (distance, nearest);
                } else if distance < next {
                    next = distance;
                }
            }
            if next < f64::INFINITY { next.ln().max(NOTHING) } else { f64::NAN }
        };
        let disagreement = mixed.iter().enumerate().map(apart).collect();
        (mixed, disagreement)
    }

    pub fn write(&self, k: usize, out: &mut Writer) -> Result<()> {
        let mut own = Writer::default();
        self.blend.write(&mut own);
        self.errors.write(&mut own);
        self.waiting.write(&mut own);
        out.bytes(&name(k), own.finish(KIND, serde_json::Value::Null, serde_json::Value::Null)?);
        Ok(())
    }

    /// Reads what [`write`](Self::write) wrote, for this number of components.
    pub fn read(&mut self, k: usize, width: usize, from: &Reader<'_>) -> Result<()> {
        let bytes = from.bytes(&name(k))?;
        load(bytes, KIND, |_: serde_json::Value, from| self.read_own(width, from)).map(|_| ())
    }

    fn read_own(&mut self, width: usize, from: &Reader<'_>) -> Result<()> {
        self.blend.read(width, from)?;
        self.errors = Errors::read(width, from)?;
        self.waiting = PendingForecasts::read(self.kinds, width, from)?;
        Ok(())
    }
}

const KIND: &str = "forecasts";

fn name(k: usize) -> String {
    format!("forecaster.{k}")
}
