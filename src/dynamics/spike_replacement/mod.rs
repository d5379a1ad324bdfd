//! Learning of rows without isolated outliers, until these are a new level.
//!
//! [`Spikes`](super::states::spikes) are replaced by the last value before them, for at most three rows. The next is a new
//! level, or a burst: the model from before the first of these rows, which is kept until then, learns all of them as they
//! came.

#[cfg(test)]
mod tests;

use ndarray::{Array2, ArrayView1, ArrayView2, s};
use serde_json::Value;

use super::Dynamics;
use super::candidates::Candidates;
use crate::error::{Error, Result};
use crate::kernel::LARGEST;
use crate::persist::{Persist as _, Reader, Writer};
use crate::validate::one_row;

/// Most rows that are learned again at a new level.
const MOST_UNCONFIRMED: usize = 64;

/// The model from before rows that were replaced and may be a new level, and these rows with their
/// inputs, as they came.
#[derive(Clone, Debug)]
pub struct Unconfirmed {
    model: Dynamics,
    rows: Vec<f64>,
}

impl Unconfirmed {
    pub fn expect_periods(&mut self, calendar: &[usize]) -> Result<()> {
        self.model.expect_periods(calendar.to_vec())
    }
}

impl Dynamics {
    /// Learns the next row (1, d + k) of a trajectory, with outliers of its state replaced. Returns
    /// whether it was learned; not if it was interrupted before. An error may leave the model changed.
    pub fn follow_without_spikes(
        &mut self,
        row: ArrayView2<'_, f64>,
        lag: usize,
        continued: bool,
    ) -> Result<bool> {
        let params = self.spec.params.spikes;
        let width = row.ncols() - self.operator.n_controls();
        let state = row.slice(s![0, ..width]);
        let tail = self.tail.as_ref().filter(|tail| continued && tail.nrows() > 0);
        let last = tail.map(|tail| tail.slice(s![tail.nrows() - 1, ..width]).to_owned());
        let last = last.as_ref().map(|last| last.view());
        if last.is_none() {
            self.unconfirmed = None;
        }
        let levels = last.map_or(Vec::new(), |last| self.spikes.levels(state, last, &params));
        if !levels.is_empty()
            && let Some(unconfirmed) = self.unconfirmed.take()
        {
            return self.learn_levels(unconfirmed, row, lag, &levels);
        }
        let replaces = last.is_some_and(|last| self.spikes.replaces(state, last, &params));
        let before = (replaces && self.unconfirmed.is_none()).then(|| self.clone());
        let spikes = self.driven.is_some().then(|| self.spikes.clone());
        let replaced = self.spikes.meet(state, last, &params).map(|state| {
            let mut row = row.to_owned();
            row.slice_mut(s![0, ..width]).assign(&ArrayView1::from(&state));
            row
        });
        let as_learned = replaced.as_ref().map_or(row, |row| row.view());
        if !self.follow_and_judge_next(as_learned, lag, continued)? {
            self.spikes = spikes.unwrap_or_default();
            return Ok(false);
        }
        if let Some(model) = before {
            self.unconfirmed = Some(Box::new(Unconfirmed { model, rows: Vec::new() }));
        }
        if !self.spikes.is_in_run() {
            self.unconfirmed = None;
        }
        if let Some(unconfirmed) = &mut self.unconfirmed {
            unconfirmed.rows.extend(row);
        }
        // Outliers of one component after another are no level of one.
        self.unconfirmed.take_if(|own| own.rows.len() > MOST_UNCONFIRMED * row.ncols());
        Ok(true)
    }

    /// Learns the rows that were replaced, and the next one, as they came in these components.
    fn learn_levels(
        &mut self,
        unconfirmed: Box<Unconfirmed>,
        row: ArrayView2<'_, f64>,
        lag: usize,
        levels: &[usize],
    ) -> Result<bool> {
        let rows: Vec<f64> = unconfirmed.rows.iter().chain(row).copied().collect();
        let mut model = unconfirmed.model.clone();
        for c in levels {
            model.spikes.widen(*c, rows.chunks_exact(row.ncols()).map(|row| &row[*c]));
        }
        for row in rows.chunks_exact(row.ncols()) {
            if !model.follow_without_spikes(one_row(row), lag, true)? {
                self.unconfirmed = Some(unconfirmed);
                return Ok(false);
            }
        }
        *self = model;
        Ok(true)
    }

    /// Writes the model from before rows that may be a new level.
    pub fn write_unconfirmed(&self, out: &mut Writer) -> Result<()> {
        if let Some(unconfirmed) = &self.unconfirmed {
            let width = self.spikes.width() + self.operator.n_controls();
            out.bytes("spikes.before", unconfirmed.model.to_bytes(Value::Null)?);
            out.matrix("spikes.rows", unconfirmed.rows.len() / width, width, &unconfirmed.rows);
        }
        Ok(())
    }

    /// Reads what [`write_unconfirmed`](Self::write_unconfirmed) wrote.
    pub fn read_unconfirmed(&mut self, from: &Reader<'_>) -> Result<()> {
        if !from.has("spikes.before") {
            return Ok(());
        }
        let wrong = || Error::file("spikes.before is not the model before spikes.rows");
        let bytes = from.bytes("spikes.before")?;
        // It has none itself: files are not nested without end.
        if Reader::open(bytes)?.has("spikes.before") {
            return Err(wrong());
        }
        let model = Self::from_bytes(bytes)?.0;
        let (n, cols, rows) = from.matrix("spikes.rows")?;
        let width = self.spikes.width();
        let candidates = |model: &Self| model.candidates.as_ref().map(Candidates::width);
        let fits = model.spec == self.spec
            && model.spikes.width() == width
            && candidates(&model) == candidates(self)
            && model.n_features().is_none_or(|own| own == width)
            && model.tail.as_ref().is_some_and(|tail| tail.ncols() == cols && tail.nrows() > 0)
            && cols == width + self.operator.n_controls();
        if n == 0 || width == 0 || !fits || rows.iter().any(|value| value.abs() > LARGEST) {
            return Err(wrong());
        }
        self.unconfirmed = Some(Box::new(Unconfirmed { model, rows }));
        Ok(())
    }

    /// The states of a given history with outliers replaced, if it has one.
    pub fn history_without_spikes(&self, states: ArrayView2<'_, f64>) -> Option<Array2<f64>> {
        let tail = self.tail.as_ref().filter(|tail| tail.nrows() > 0);
        let last = tail.map(|tail| tail.slice(s![tail.nrows() - 1, ..states.ncols()]));
        self.spikes.replaced(states, last, &self.spec.params.spikes)
    }
}
