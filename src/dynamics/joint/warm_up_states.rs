//! States of the warm-up as trajectories, from which forecasts are relearned.

use ndarray::ArrayView2;

use crate::error::{Error, Result};
use crate::persist::{Reader, Writer};

/// Consecutive trajectories, in the user's units.
#[derive(Clone, Debug, Default)]
pub struct WarmUpStates {
    states: Vec<f64>,
    /// First row of each.
    starts: Vec<u64>,
    /// States per step in the latest call.
    lag: u64,
}

impl WarmUpStates {
    /// Stores a state. A former trajectory of at most `span` states and a step, which has no pair,
    /// is dropped: without pairs a warm-up does not end.
    pub fn keep(&mut self, state: &[f64], span: usize, lag: usize, continued: bool) {
        if !continued || self.starts.is_empty() {
            let rows = (self.states.len() / state.len()) as u64;
            let start = match self.starts.last() {
                Some(last) if rows - last <= (span + lag) as u64 => *last,
                _ => {
                    self.starts.push(rows);
                    rows
                }
            };
            self.states.truncate(usize::try_from(start).unwrap_or(usize::MAX).saturating_mul(state.len()));
        }
        self.states.extend(state);
        self.lag = lag as u64;
    }

    /// States per step.
    pub fn lag(&self) -> usize {
        usize::try_from(self.lag).unwrap_or(usize::MAX)
    }

    /// The trajectories: (n, d) each.
    pub fn trajectories(&self, width: usize) -> impl Iterator<Item = ArrayView2<'_, f64>> {
        let whole = ArrayView2::from_shape((self.states.len() / width.max(1), width), &self.states)
            .unwrap_or_else(|_| unreachable!("states were kept whole"));
        let rows = whole.nrows() as u64;
        let ends = self.starts.iter().skip(1).copied().chain([rows]);
        let row = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
        self.starts
            .iter()
            .zip(ends)
            .map(move |(start, end)| whole.slice_move(ndarray::s![row(*start)..row(end), ..]))
    }

    pub fn write(&self, width: usize, out: &mut Writer) {
        out.matrix("past.states", self.states.len() / width.max(1), width, &self.states);
        let counts: Vec<u64> = [self.lag].iter().chain(&self.starts).copied().collect();
        out.counts("past.starts", &counts);
    }

    /// Reads what [`write`](Self::write) wrote, for this number of components.
    pub fn read(width: usize, from: &Reader<'_>) -> Result<Self> {
        let wrong = || Error::file("past.starts are no trajectories of past.states");
        let (rows, cols, states) = from.matrix("past.states")?;
        let counts = from.all_counts("past.starts")?;
        let (lag, starts) = counts.split_first().ok_or_else(wrong)?;
        let increasing = starts.first().is_none_or(|first| *first == 0)
            && starts.windows(2).all(|two| two[0] < two[1])
            && starts.last().is_none_or(|last| *last < rows as u64);
        let whole = rows == 0 || width > 0;
        if cols == width && whole && increasing && starts.is_empty() == (rows == 0) && (*lag > 0 || rows == 0)
        {
            Ok(Self { states, starts: starts.to_vec(), lag: *lag })
        } else {
            Err(wrong())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trajectories_without_pairs_are_not_stored() {
        let mut past = WarmUpStates::default();
        for t in 0..1000 {
            past.keep(&[f64::from(t), 1.0], 3, 1, t % 4 > 0);
        }
        assert_eq!(past.states.len(), 8);
        for t in 0..6 {
            past.keep(&[f64::from(t), 2.0], 3, 1, t > 0);
        }
        past.keep(&[0.0, 3.0], 3, 1, false);
        let lengths: Vec<usize> = past.trajectories(2).map(|states| states.nrows()).collect();
        assert_eq!(lengths, [6, 1]);
        assert!(
            past.trajectories(2).next().unwrap().column(1).iter().all(|value| (value - 2.0).abs() < 1e-12)
        );
    }
}
