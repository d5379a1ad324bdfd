//! Pending forecasts.

use std::collections::VecDeque;

use super::errors::Issued;
use crate::error::{Error, Result};
use crate::online::quantiles::Reaches;
use crate::persist::{Reader, Writer};

/// The forecasts from one state.
#[derive(Clone, Debug)]
pub struct PendingForecast {
    /// Forecasts of each kind, one after the other, NaN where a kind has none.
    pub kinds: Vec<f64>,
    /// Their mixture.
    pub mixed: Vec<f64>,
    /// What was issued with it.
    pub issued: Issued,
}

/// From the latest states of a trajectory, the earliest first; `None` where none was made.
#[derive(Clone, Debug, Default)]
pub struct PendingForecasts(VecDeque<Option<PendingForecast>>);

impl PendingForecasts {
    /// From the new state.
    pub fn push(&mut self, made: Option<PendingForecast>) {
        self.0.push_back(made);
    }

    /// From the state this many before the new one.
    pub fn take(&mut self, steps: usize) -> Option<PendingForecast> {
        // With another lag than before, some may be too early.
        self.0.drain(..self.0.len().saturating_sub(steps));
        if self.0.len() < steps { None } else { self.0.pop_front().flatten() }
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn write(&self, out: &mut Writer) {
        let there: Vec<u64> = self.0.iter().map(|made| u64::from(made.is_some())).collect();
        let made: Vec<&PendingForecast> = self.0.iter().flatten().collect();
        let numbers: Vec<Vec<f64>> = made.iter().map(|made| made.numbers()).collect();
        out.counts("waiting.there", &there);
        out.matrix("waiting.forecasts", made.len(), numbers.first().map_or(0, Vec::len), &numbers.concat());
        out.counts("waiting.counts", &made.iter().map(|made| made.issued.count).collect::<Vec<u64>>());
    }

    /// Reads what [`write`](Self::write) wrote, for this number of kinds and components.
    pub fn read(kinds: usize, width: usize, from: &Reader<'_>) -> Result<Self> {
        let wrong = || Error::file("waiting.forecasts are no forecasts");
        let there = from.all_counts("waiting.there")?;
        let waiting = there.iter().filter(|there| **there > 0).count();
        let size = if waiting > 0 { PendingForecast::size(kinds, width) } else { 0 };
        let numbers = from.matrix_of("waiting.forecasts", waiting, size)?;
        let counts = from.all_counts("waiting.counts")?;
        if counts.len() != waiting {
            return Err(wrong());
        }
        let mut made = numbers.chunks_exact(size.max(1)).zip(counts);
        let one = |there: u64| {
            let next = if there > 0 { made.next() } else { return Ok(None) };
            let made =
                next.and_then(|(numbers, count)| PendingForecast::of_numbers(numbers, count, kinds, width));
            made.map(Some).ok_or_else(wrong)
        };
        there.into_iter().map(one).collect::<Result<_>>().map(Self)
    }
}

impl PendingForecast {
    /// Numbers per component: forecasts of all kinds, their mixture and log distance, spread and
    /// half-widths.
    fn size(kinds: usize, width: usize) -> usize {
        (kinds + 3 + Reaches::NUMBERS) * width
    }

    fn numbers(&self) -> Vec<f64> {
        let Issued { disagreement, spreads, reaches, count: _ } = &self.issued;
        let all = [&self.kinds[..], &self.mixed, disagreement, spreads].concat();
        let reaches = reaches.iter().flat_map(Reaches::numbers).copied();
        all.into_iter().map(in_file).chain(reaches).collect()
    }

    /// Inverse of [`numbers`](Self::numbers), with this count of errors; `None` if they are
    /// invalid.
    fn of_numbers(numbers: &[f64], count: u64, kinds: usize, width: usize) -> Option<Self> {
        let (kinds, rest) = numbers.split_at(kinds * width);
        let (mixed, rest) = rest.split_at(width);
        let (disagreement, rest) = rest.split_at(width);
        let (spreads, reaches) = rest.split_at(width);
        let or = |absent: f64| move |value: &f64| if *value < f64::MAX { *value } else { absent };
        let reaches: Option<_> = reaches.chunks_exact(Reaches::NUMBERS).map(Reaches::of_numbers).collect();
        let issued = Issued {
            disagreement: disagreement.iter().map(or(f64::NAN)).collect(),
            spreads: spreads.iter().map(or(f64::INFINITY)).collect(),
            reaches: reaches?,
            count,
        };
        let kinds = kinds.iter().map(or(f64::NAN)).collect();
        let made = Self { kinds, mixed: mixed.to_vec(), issued };
        made.is_sound().then_some(made)
    }

    /// Whether each kind has a complete forecast or none, and at least one has.
    fn is_sound(&self) -> bool {
        let alike = |kind: &[f64]| kind.iter().all(|value| value.is_nan() == kind[0].is_nan());
        self.kinds.chunks_exact(self.mixed.len().max(1)).all(alike)
            && self.kinds.iter().any(|value| !value.is_nan())
            && self.issued.spreads.iter().all(|spread| *spread >= 0.0)
    }
}

/// A number as stored: missing values are represented by one beyond all valid numbers.
fn in_file(value: f64) -> f64 {
    if value.is_finite() { value } else { f64::MAX }
}
