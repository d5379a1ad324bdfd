//! The forecasts over one horizon: their mixture, their errors, and those that wait for what comes.

use std::collections::VecDeque;

use super::blend::Blend;
use super::errors::Errors;
use crate::error::{Error, Result};
use crate::persist::{Reader, Writer, load};

/// What a forecast is a mixture of, in the order of its weights; the last only where a period is given.
pub const FORECASTS: [&str; 7] =
    ["operator", "increments", "linear", "modes", "persistence", "mean", "period"];

/// Which of them is trusted before any was judged.
const PERSISTENCE: usize = 4;

/// Forecasts of overlapping times say the same: so many are judged of those that end while one lasts.
const JUDGED: usize = 4;

/// The forecasts from one state.
#[derive(Clone, Debug)]
struct Made {
    /// Those of each kind, one after the other, NaN throughout where a kind has none.
    kinds: Vec<f64>,
    /// What was made of them.
    mixed: Vec<f64>,
    /// The spreads of errors at that time.
    spreads: Vec<f64>,
}

/// All that is known of one horizon.
#[derive(Clone, Debug)]
pub(super) struct Horizon {
    pub steps: usize,
    pub blend: Blend,
    pub errors: Errors,
    kinds: usize,
    /// The forecasts that wait, the earliest first; `None` where none was made.
    waiting: VecDeque<Option<Made>>,
}

impl Horizon {
    /// One of so many kinds of forecasts.
    pub fn new(steps: usize, kinds: usize) -> Self {
        let (blend, errors) = (Blend::new(kinds, PERSISTENCE, steps.min(JUDGED)), Errors::default());
        Self { steps, blend, errors, kinds, waiting: VecDeque::new() }
    }

    /// The first state has come, of so many numbers.
    pub fn begin(&mut self, width: usize) -> Result<()> {
        self.errors = Errors::new(width);
        self.blend.begin(width)
    }

    /// Another trajectory begins.
    pub fn end_trajectory(&mut self) {
        self.waiting.clear();
    }

    /// States from one that is judged to the next.
    fn stride(&self) -> usize {
        (self.steps / JUDGED).max(1)
    }

    /// Whether a forecast from the state with this number is judged.
    pub fn is_due(&self, count: u64) -> bool {
        count.is_multiple_of(self.stride() as u64)
    }

    /// Judges the forecast of the state that has come, `lag` states a step, whose squared errors count so much.
    /// `keep`: what is left of the weight of a state after another.
    pub fn judge(&mut self, state: &[f64], lag: usize, counts: &[f64], keep: f64) {
        let steps = self.steps * lag;
        // With another lag than before, some may be too early.
        self.waiting.drain(..self.waiting.len().saturating_sub(steps));
        if self.waiting.len() < steps {
            return;
        }
        let Some(made) = self.waiting.pop_front().flatten() else { return };
        self.blend.learn(&made.kinds, state, counts);
        self.errors.meet(&made.mixed, &made.spreads, state, keep.powf(self.stride() as f64));
    }

    /// Lets forecasts of all kinds wait for what comes, or takes down that there are none.
    pub fn wait(&mut self, kinds: Option<Vec<f64>>) {
        let made = kinds.map(|kinds| {
            let mixed = self.blend.mix(&kinds);
            let spreads = (0..mixed.len()).map(|c| self.errors.spread(c)).collect();
            Made { kinds, mixed, spreads }
        });
        self.waiting.push_back(made);
    }

    pub fn write(&self, k: usize, out: &mut Writer) -> Result<()> {
        let mut own = Writer::default();
        self.blend.write(&mut own);
        self.errors.write(&mut own);
        let there: Vec<u64> = self.waiting.iter().map(|made| u64::from(made.is_some())).collect();
        own.counts("waiting.there", &there);
        // In a file what is not there is beyond all numbers that states have.
        let numbers = |made: &Made| [&made.kinds[..], &made.mixed, &made.spreads].concat();
        let numbers = self.waiting.iter().flatten().flat_map(numbers);
        let numbers: Vec<f64> =
            numbers.map(|value| if value.is_finite() { value } else { f64::MAX }).collect();
        own.vector("waiting.forecasts", &numbers);
        out.bytes(&name(k), own.finish(KIND, serde_json::Value::Null, serde_json::Value::Null)?);
        Ok(())
    }

    /// Reads what [`write`](Self::write) wrote, of states of so many numbers.
    pub fn read(&mut self, k: usize, width: usize, from: &Reader<'_>) -> Result<()> {
        let bytes = from.bytes(&name(k))?;
        load(bytes, KIND, |_: serde_json::Value, from| self.read_own(width, from)).map(|_| ())
    }

    fn read_own(&mut self, width: usize, from: &Reader<'_>) -> Result<()> {
        let wrong = || Error::file("waiting.forecasts are no forecasts");
        self.blend.read(width, from)?;
        self.errors = Errors::read(width, from)?;
        let numbers = from.matrix("waiting.forecasts")?.2;
        let known = self.kinds * width;
        let mut all = numbers.chunks_exact((known + 2 * width).max(1));
        for there in from.all_counts("waiting.there")? {
            let one = if there > 0 { Some(all.next().ok_or_else(wrong)?) } else { None };
            let made = one.map(|one| {
                let absent = |unknown| move |value: &f64| if *value < f64::MAX { *value } else { unknown };
                Made {
                    kinds: one[..known].iter().map(absent(f64::NAN)).collect(),
                    mixed: one[known..known + width].to_vec(),
                    spreads: one[known + width..].iter().map(absent(f64::INFINITY)).collect(),
                }
            });
            if made.as_ref().is_some_and(|made| !made.is_sound(width)) {
                return Err(wrong());
            }
            self.waiting.push_back(made);
        }
        if all.next().is_none() && all.remainder().is_empty() { Ok(()) } else { Err(wrong()) }
    }
}

impl Made {
    /// Whether each kind has a forecast or has none, and not all have none.
    fn is_sound(&self, width: usize) -> bool {
        let alike = |kind: &[f64]| kind.iter().all(|value| value.is_nan() == kind[0].is_nan());
        width > 0
            && self.kinds.chunks_exact(width).all(alike)
            && self.kinds.iter().any(|value| !value.is_nan())
            && self.spreads.iter().all(|spread| *spread >= 0.0)
    }
}

const KIND: &str = "forecasts";

fn name(k: usize) -> String {
    format!("forecaster.{k}")
}
