//! The forecasts over one horizon: their mixture, their errors, and those that wait for what comes.

use std::collections::VecDeque;

use super::blend::Blend;
use super::errors::{Errors, Issued};
use super::size::NOTHING;
use crate::error::{Error, Result};
use crate::persist::{Reader, Writer, load};
use crate::uncertainty::Reaches;

/// What a forecast is a mixture of, in the order of its weights; the last only where a period is given.
pub const FORECASTS: [&str; 7] =
    ["operator", "increments", "linear", "modes", "persistence", "mean", "period"];

/// Those that are learned come first.
const LEARNED: usize = 4;

/// Which of them is trusted before any was judged.
const PERSISTENCE: usize = 4;

/// Forecasts of overlapping times say nearly the same: so many are judged of those that end while one lasts.
const JUDGED: usize = 10;

/// The forecasts from one state.
#[derive(Clone, Debug)]
struct Made {
    /// Those of each kind, one after the other, NaN throughout where a kind has none.
    kinds: Vec<f64>,
    /// What was made of them.
    mixed: Vec<f64>,
    /// What was given out with it.
    issued: Issued,
}

/// The golden section, by which numbers go round most evenly.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

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

    /// States from one that is judged to the next, on average.
    fn stride(&self) -> usize {
        (self.steps / JUDGED).max(1)
    }

    /// Whether a forecast from the state with this number is judged. At even distances the same few phases of what
    /// oscillates would be.
    pub fn is_due(&self, count: u64) -> bool {
        (count as f64 * GOLDEN).fract() * (self.stride() as f64) < 1.0
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
        self.errors.meet(&made.mixed, &made.issued, state, keep.powf(self.stride() as f64));
    }

    /// Lets forecasts of all kinds wait for what comes, or takes down that there are none.
    pub fn wait(&mut self, kinds: Option<Vec<f64>>) {
        let made = kinds.map(|kinds| {
            let (mixed, disagreement) = self.mix(&kinds);
            let issued = self.errors.issue(disagreement);
            Made { kinds, mixed, issued }
        });
        self.waiting.push_back(made);
    }

    /// What is made of the forecasts of all kinds, and number by number the logarithm of how far apart these are: the
    /// second smallest distance from it of those that are learned, since what is made may be one of them.
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
        let there: Vec<u64> = self.waiting.iter().map(|made| u64::from(made.is_some())).collect();
        own.counts("waiting.there", &there);
        let made = || self.waiting.iter().flatten();
        let forecasts = made().flat_map(|made| [&made.kinds[..], &made.mixed, &made.issued.spreads].concat());
        own.vector("waiting.forecasts", &forecasts.map(in_file).collect::<Vec<f64>>());
        let disagreement = made().flat_map(|made| &made.issued.disagreement).copied();
        own.vector("waiting.disagreement", &disagreement.map(in_file).collect::<Vec<f64>>());
        let reaches = made().flat_map(|made| &made.issued.reaches).flat_map(Reaches::numbers);
        own.vector("waiting.reaches", &reaches.copied().collect::<Vec<f64>>());
        own.counts("waiting.counts", &made().map(|made| made.issued.count).collect::<Vec<u64>>());
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
        let there = from.all_counts("waiting.there")?;
        let waiting = there.iter().filter(|there| **there > 0).count();
        let mut issued = Self::read_issued(waiting, width, from)?.into_iter();
        for there in there {
            let made = if there > 0 {
                let one = all.next().ok_or_else(wrong)?;
                let spreads = one[known + width..].iter().map(|value| or_absent(*value, f64::INFINITY));
                Some(Made {
                    kinds: one[..known].iter().map(|value| or_absent(*value, f64::NAN)).collect(),
                    mixed: one[known..known + width].to_vec(),
                    issued: Issued { spreads: spreads.collect(), ..issued.next().ok_or_else(wrong)? },
                })
            } else {
                None
            };
            if made.as_ref().is_some_and(|made| !made.is_sound(width)) {
                return Err(wrong());
            }
            self.waiting.push_back(made);
        }
        if all.next().is_none() && all.remainder().is_empty() { Ok(()) } else { Err(wrong()) }
    }

    /// What was given out with so many forecasts, besides spreads.
    fn read_issued(waiting: usize, width: usize, from: &Reader<'_>) -> Result<Vec<Issued>> {
        let wrong = || Error::file("waiting.reaches are not what was given out with forecasts");
        let disagreement = from.vector("waiting.disagreement", waiting * width)?;
        let reaches = from.vector("waiting.reaches", waiting * width * Reaches::NUMBERS)?;
        let reaches: Option<Vec<Reaches>> =
            reaches.chunks(Reaches::NUMBERS).map(Reaches::of_numbers).collect();
        let reaches = reaches.ok_or_else(wrong)?;
        let counts = from.all_counts("waiting.counts")?;
        if counts.len() != waiting {
            return Err(wrong());
        }
        let (numbers, width) = (disagreement, width.max(1));
        let each = numbers.chunks(width).zip(reaches.chunks(width)).zip(counts);
        let one = |((apart, reaches), count): ((&[f64], &[Reaches]), u64)| Issued {
            disagreement: apart.iter().map(|value| or_absent(*value, f64::NAN)).collect(),
            reaches: reaches.to_vec(),
            spreads: Vec::new(),
            count,
        };
        Ok(each.map(one).collect())
    }
}

impl Made {
    /// Whether each kind has a forecast or has none, and not all have none.
    fn is_sound(&self, width: usize) -> bool {
        let alike = |kind: &[f64]| kind.iter().all(|value| value.is_nan() == kind[0].is_nan());
        width > 0
            && self.kinds.chunks_exact(width).all(alike)
            && self.kinds.iter().any(|value| !value.is_nan())
            && self.issued.disagreement.len() == width
            && self.issued.spreads.iter().all(|spread| *spread >= 0.0)
    }
}

/// Numbers of forecasts as they are in a file: what is not there is beyond all numbers that states have.
fn in_file(value: f64) -> f64 {
    if value.is_finite() { value } else { f64::MAX }
}

fn or_absent(value: f64, absent: f64) -> f64 {
    if value < f64::MAX { value } else { absent }
}

const KIND: &str = "forecasts";

fn name(k: usize) -> String {
    format!("forecaster.{k}")
}
