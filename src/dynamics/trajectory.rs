//! Learning of trajectories, which may arrive in pieces.

use ndarray::{Array2, ArrayView2, Axis, CowArray, Ix2, concatenate, s};

use super::states::delay_embedding::embedded;
use super::{Dynamics, MOST_STATES, candidates};
use crate::error::{Error, Result, in_range};
use crate::validate::{check_finite, check_width};

impl Dynamics {
    /// Learns a trajectory `x` (n, d), or with `k` inputs (n, d + k), in which each state is paired
    /// with the one `lag` states later. `continued`: it continues that of the previous call, if
    /// any. On an error the model is unchanged.
    pub fn follow(&mut self, x: ArrayView2<'_, f64>, lag: usize, continued: bool) -> Result<()> {
        self.follow_while(x, lag, continued, |_| true).map(|_| ())
    }

    /// The next trajectory continues the one learned last after `missing` rows that are not known; 0: how many is not known
    /// either. Candidates keep their seasons, where no more rows are missing than in one of these (four where all components
    /// have some), or 12; the operator begins another trajectory. For the next call of [`follow`](Self::follow) with
    /// `continued` false.
    pub fn pass_over(&mut self, missing: usize) {
        self.missing = missing;
    }

    /// [`follow`](Self::follow) with a callback that can stop it; returns how many states were
    /// recorded, after which the trajectory can be continued.
    pub fn follow_while(
        &mut self,
        x: ArrayView2<'_, f64>,
        lag: usize,
        continued: bool,
        mut should_continue: impl FnMut(usize) -> bool,
    ) -> Result<usize> {
        let missing = std::mem::take(&mut self.missing);
        self.check_trajectory(x, lag, continued)?;
        if !self.spec.horizons.is_empty() {
            return self.follow_and_judge(x, lag, (continued, missing), &mut should_continue);
        }
        self.follow_part(x, lag, continued, &mut should_continue)
    }

    /// [`follow_while`](Self::follow_while) of a validated trajectory.
    pub(super) fn follow_part(
        &mut self,
        x: ArrayView2<'_, f64>,
        lag: usize,
        continued: bool,
        should_continue: &mut dyn FnMut(usize) -> bool,
    ) -> Result<usize> {
        let span = self.spec.delays.span();
        let needed = lag + span;
        let kept = needed.max(self.reach(lag) + span + 1);
        // With other delays or another lag than in the previous call, some may be too early.
        let known = self
            .tail
            .as_ref()
            .filter(|_| continued)
            .map(|tail| tail.slice(s![tail.nrows().saturating_sub(kept).., ..]).to_owned());
        let n_known = known.as_ref().map_or(0, Array2::nrows);
        let all: CowArray<'_, f64, Ix2> = match &known {
            Some(known) => concatenate![Axis(0), *known, x].into(),
            None => x.into(),
        };
        // Earlier ones are for forecasts only.
        let first = n_known.saturating_sub(needed);
        let unpaired = needed + first - n_known;
        let n_pairs = (all.nrows() - first).saturating_sub(needed);
        let learned = if n_pairs == 0 {
            0
        } else {
            let (now, next) = self.paired(all.slice(s![first.., ..]), lag, n_pairs);
            self.take_in(now.view(), next.view(), None, should_continue)
                .map_err(|error| error.shifted(unpaired))?
        };
        let done = if learned == n_pairs { x.nrows() } else { learned + unpaired };
        let end = n_known + done;
        self.tail = Some(all.slice(s![end.saturating_sub(kept)..end, ..]).to_owned());
        Ok(done)
    }

    /// The first `pairs` states with their delays and inputs, and the states `lag` later.
    fn paired<'a>(
        &self,
        all: ArrayView2<'a, f64>,
        lag: usize,
        pairs: usize,
    ) -> (CowArray<'a, f64, Ix2>, CowArray<'a, f64, Ix2>) {
        let (span, width) = (self.spec.delays.span(), all.ncols() - self.operator.n_controls());
        let states = |from: usize| all.slice_move(s![from..from + pairs + span, ..width]);
        let now = embedded(&self.spec.delays, states(0));
        let next = embedded(&self.spec.delays, states(lag));
        if width == all.ncols() {
            return (now, next);
        }
        let inputs = all.slice(s![span..span + pairs, width..]);
        (concatenate![Axis(1), now, inputs].into(), next)
    }

    /// Refuses an invalid trajectory, naming the row. Changes nothing.
    pub fn check_trajectory(&self, x: ArrayView2<'_, f64>, lag: usize, continued: bool) -> Result<()> {
        self.check_lag(lag)?;
        if self.is_plain() {
            self.operator.check_joint("X", x)?;
        } else {
            let inputs = self.operator.n_controls();
            // At least one column belongs to the state.
            let least = (x.ncols() <= inputs).then_some(1 + inputs);
            check_width("X", self.n_features().map(|width| width + inputs).or(least), x.ncols())?;
            check_finite("X", x)?;
            self.check_driven(lag, x.ncols() - inputs)?;
        }
        match &self.tail {
            Some(tail) if continued && tail.ncols() != x.ncols() => {
                Err(Error::WrongWidth { what: "X", expected: tail.ncols(), found: x.ncols() })
            }
            None if continued && self.operator.n_seen() > 0 => Err(Error::NoTrajectory),
            _ => Ok(()),
        }
    }

    /// Checks the states per step of a call.
    pub(super) fn check_lag(&self, lag: usize) -> Result<()> {
        in_range("lag", lag, lag > 0, "at least 1")?;
        in_range("lag", lag, lag <= MOST_STATES, "at most 1,000,000,000 states")?;
        let rows = self.longest().saturating_mul(lag);
        in_range("lag", lag, rows <= candidates::FURTHEST, "at most 1,000,000 rows to the longest horizon")?;
        Ok(())
    }

    /// Sets the last states of the learned trajectory, which files of older versions store beside
    /// the model.
    pub fn resume_trajectory(&mut self, states: ArrayView2<'_, f64>) -> Result<()> {
        self.check_trajectory(states, 1, false)?;
        self.tail = Some(states.to_owned());
        Ok(())
    }
}
