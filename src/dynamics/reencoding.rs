//! Forecasts that begin again, every few steps, from the state forecast.
//!
//! Powers of the operator are the conditional expectation, but an estimate on few functions is not exact, and its error
//! grows with every power. Where the system has no noise, the expected state is the state itself, and a forecast may
//! begin again from it: its coordinates are then those of a state, which the propagated ones no longer are. With noise
//! the expected state is no state of the system, and powers are right.
//!
//! M. Fathi, C. Gehring, J. Pilault, D. Kanaa, P.-L. Bacon, R. Goroshin, "Course correcting Koopman representations", 2024.

use ndarray::{Array2, Array3, ArrayView2, Axis, s};

use super::Dynamics;
use crate::error::{Error, Result, in_range};
use crate::interrupt::check;
use crate::koopman::{Koopman, Truncation, finite};
use crate::persist::{Reader, Writer};

/// After how many steps a forecast of states begins again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reencoding {
    /// Steps by powers of the operator; 1: each step is one of the operator from the state forecast before it; 0: all
    /// steps are by powers.
    pub every: usize,
    /// Whether a step of the operator is as long as a delay. The delays of a forecast state are then earlier states and
    /// forecasts; otherwise they are forecast with it.
    pub is_one_delay: bool,
}

/// States (steps, n, d with delays) and, for each step and row, whether an earlier one from which the forecast began
/// again was refused.
pub(super) type Reencoded = (Array3<f64>, Array2<bool>);

impl Reencoding {
    /// Forecasts from rows `x` (n, d with delays) on the scale of the operator; `is_refused`, for states of this step and
    /// the first rows they come from, which of them are no states to begin again from.
    pub(super) fn forecast(
        self,
        operator: &Koopman,
        blocks: usize,
        x: ArrayView2<'_, f64>,
        steps: &[usize],
        truncation: Truncation,
        is_refused: impl Fn(ArrayView2<'_, f64>, usize) -> Vec<bool>,
    ) -> Result<Reencoded> {
        for &n in steps {
            in_range("n_steps", n, n > 0, "at least 1")?;
        }
        let last = steps.iter().copied().max().unwrap_or(0);
        let mut out = Array3::zeros((steps.len(), x.nrows(), x.ncols()));
        let mut refused = Array2::from_elem((steps.len(), x.nrows()), false);
        let (mut from, mut at, mut lost) = (x.to_owned(), 0, vec![false; x.nrows()]);
        while at < last {
            check()?;
            let part = if self.every == 0 { last } else { self.every.min(last - at) };
            let ends = at + part < last;
            let wanted = |n: usize| steps.contains(&(at + n));
            let of_delays = if self.is_one_delay { part.min(blocks) } else { 1 };
            let asked: Vec<usize> =
                (1..=part).filter(|n| wanted(*n) || ends && *n + of_delays > part).collect();
            let ahead = operator.forecast_unbounded(from.view(), &asked, truncation)?;
            for (i, n) in steps.iter().enumerate() {
                if let Some(place) = n.checked_sub(at).and_then(|n| asked.iter().position(|one| *one == n)) {
                    out.index_axis_mut(Axis(0), i).assign(&ahead.index_axis(Axis(0), place));
                    refused.row_mut(i).iter_mut().zip(&lost).for_each(|(to, lost)| *to = *lost);
                }
            }
            at += part;
            if ends {
                from = self.begun(&from, &ahead, blocks, part);
                let wrong = is_refused(from.view(), at);
                for (i, mut row) in from.rows_mut().into_iter().enumerate() {
                    lost[i] |= wrong[i] || row.iter().any(|value| !value.is_finite());
                    if lost[i] {
                        row.fill(0.0);
                    }
                }
            }
        }
        Ok((out, refused))
    }

    /// The states with delays after a part of this many steps, of which the last `ahead` (steps, n, d) are known.
    fn begun(self, from: &Array2<f64>, ahead: &Array3<f64>, blocks: usize, part: usize) -> Array2<f64> {
        let (known, width) = (ahead.dim().0, from.ncols() / blocks);
        let latest = ahead.index_axis(Axis(0), known - 1);
        let mut out = latest.to_owned();
        if self.is_one_delay {
            for block in 1..blocks {
                let mut to = out.slice_mut(s![.., block * width..(block + 1) * width]);
                if block < part {
                    to.assign(&ahead.slice(s![known - 1 - block, .., ..width]));
                } else {
                    let earlier = block - part;
                    to.assign(&from.slice(s![.., earlier * width..(earlier + 1) * width]));
                }
            }
        }
        out
    }

    pub(super) fn write(self, out: &mut Writer) {
        out.counts("reencoding", &[self.every as u64, u64::from(self.is_one_delay)]);
    }

    /// Reads what [`write`](Self::write) wrote; powers from files without it.
    pub(super) fn read(from: &Reader<'_>) -> Result<Self> {
        if !from.has("reencoding") {
            return Ok(Self::default());
        }
        let [every, is_one_delay] = from.counts("reencoding")?;
        let every = usize::try_from(every).ok().filter(|every| *every <= LONGEST);
        match (every, is_one_delay) {
            (Some(every), 0 | 1) => Ok(Self { every, is_one_delay: is_one_delay == 1 }),
            _ => Err(Error::file("reencoding is no number of steps")),
        }
    }
}

/// Most steps by powers that are selected.
const LONGEST: usize = 1 << 20;

impl Dynamics {
    /// How [`forecast`](Self::forecast) makes several steps: selected by held-out forecasts of the first pairs, if
    /// these were stored and follow each other in trajectories; by powers otherwise.
    #[must_use]
    pub fn reencoding(&self) -> Reencoding {
        self.reencoding
    }

    /// [`forecast_and_judge`](Self::forecast_and_judge) in this way, not in the one selected. Where a state is not finite,
    /// the forecast is an error.
    pub fn forecast_by(
        &self,
        x: ArrayView2<'_, f64>,
        steps: &[usize],
        truncation: Truncation,
        by: Reencoding,
    ) -> Result<(Array3<f64>, bool)> {
        if by.every == 0 || steps.iter().all(|n| *n <= by.every) {
            return self.forecast_by_powers(x, steps, truncation);
        }
        let scaled = self.units.scaled(x);
        let blocks = self.spec.delays.blocks();
        let kept = |states: ArrayView2<'_, f64>, _: usize| vec![false; states.nrows()];
        let (ahead, lost) = by.forecast(&self.operator, blocks, scaled.view(), steps, truncation, kept)?;
        if let Some(((n, _), _)) = lost.indexed_iter().find(|(_, lost)| **lost) {
            return Err(Error::ForecastOverflow { steps: steps[n] });
        }
        let ahead = finite(ahead, steps)?;
        let beyond = self.spec.choice.bandwidth
            && self.beyond(scaled.view(), &ahead, steps).iter().any(|beyond| *beyond);
        Ok((self.states(ahead), beyond))
    }

    /// The forecast in the way selected, but by powers from the step on at which one of its states is further from the
    /// states learned than any expectation of them, and whether there is such a one.
    pub(super) fn forecast_as_selected(
        &self,
        x: ArrayView2<'_, f64>,
        steps: &[usize],
        truncation: Truncation,
    ) -> Result<(Array3<f64>, bool)> {
        let by = self.reencoding;
        let is_whole = truncation == Truncation::default();
        if by.every == 0 || !is_whole || steps.iter().all(|n| *n <= by.every) {
            return self.forecast_by_powers(x, steps, truncation);
        }
        let scaled = self.units.scaled(x);
        let is_beyond = |states: ArrayView2<'_, f64>, step: usize| {
            let states = states.to_owned().insert_axis(Axis(0));
            self.beyond(scaled.view(), &states, &[step]).iter().copied().collect()
        };
        let blocks = self.spec.delays.blocks();
        let (ahead, mut lost) =
            by.forecast(&self.operator, blocks, scaled.view(), steps, truncation, is_beyond)?;
        lost.zip_mut_with(&self.beyond(scaled.view(), &ahead, steps), |lost, beyond| *lost |= beyond);
        for ((n, row), lost) in lost.indexed_iter_mut() {
            *lost |= ahead.slice(s![n, row, ..]).iter().any(|value| !value.is_finite());
        }
        let mut out = self.states(ahead);
        let any = lost.iter().any(|lost| *lost);
        let rows: Vec<usize> =
            (0..x.nrows()).filter(|row| lost.column(*row).iter().any(|lost| *lost)).collect();
        if any {
            let (powers, _) = self.forecast_by_powers(x.select(Axis(0), &rows).view(), steps, truncation)?;
            for (i, row) in rows.iter().enumerate() {
                for n in (0..steps.len()).filter(|n| lost[(*n, *row)]) {
                    out.slice_mut(s![n, *row, ..]).assign(&powers.slice(s![n, i, ..]));
                }
            }
        }
        Ok((out, any))
    }
}
