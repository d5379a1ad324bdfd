//! States of the warm-up as trajectories, from which forecasts are relearned.

use ndarray::ArrayView2;

use crate::error::{Error, Result};
use crate::persist::{Reader, Writer};

/// Consecutive trajectories, in the user's units.
#[derive(Clone, Debug, Default)]
pub(super) struct Past {
    states: Vec<f64>,
    /// First row of each.
    starts: Vec<u64>,
    /// States per step in the latest call.
    lag: u64,
}

impl Past {
    pub fn keep(&mut self, state: &[f64], lag: usize, continued: bool) {
        if !continued || self.starts.is_empty() {
            self.starts.push((self.states.len() / state.len()) as u64);
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
        if cols == width && increasing && starts.is_empty() == (rows == 0) && (*lag > 0 || rows == 0) {
            Ok(Self { states, starts: starts.to_vec(), lag: *lag })
        } else {
            Err(wrong())
        }
    }
}
