//! Learning of pairs, and relearning of the first when scale and parameters change.

use std::borrow::Cow;

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, s};

use super::candidates::Candidates;
use super::joint::{DelayEmbedding, Readouts};
use super::{Dynamics, Units, selection};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::koopman::Koopman;
use crate::online::warm_up::WarmUp;
use crate::validate::one_row;

impl Dynamics {
    /// Learns pairs: row `i` of `next` (n, d) follows row `i` of `x` (n, d), or of `x` (n, d + k)
    /// with inputs. All rows are validated before the first is learned. On an error the model is
    /// unchanged.
    ///
    /// With delays only [trajectories](Self::follow) are accepted.
    pub fn learn(&mut self, x: ArrayView2<'_, f64>, next: ArrayView2<'_, f64>) -> Result<()> {
        self.learn_while(x, next, |_| true).map(|_| ())
    }

    /// [`learn`](Self::learn) with a callback that can stop it, as that of [the
    /// operator](crate::koopman::Koopman::learn_while).
    pub fn learn_while(
        &mut self,
        x: ArrayView2<'_, f64>,
        next: ArrayView2<'_, f64>,
        should_continue: impl FnMut(usize) -> bool,
    ) -> Result<usize> {
        self.learn_weighted_while(x, next, None, should_continue)
    }

    /// [`learn_while`](Self::learn_while) of pairs with weights, as that of [the
    /// operator](crate::koopman::Koopman::learn_weighted_while).
    pub fn learn_weighted_while(
        &mut self,
        x: ArrayView2<'_, f64>,
        next: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        mut should_continue: impl FnMut(usize) -> bool,
    ) -> Result<usize> {
        self.check_pairs(x, next)?;
        self.operator.check_weights(x, weights)?;
        let learned = self.take_in(x, next, weights, &mut should_continue)?;
        if x.nrows() > 0 {
            self.tail = None;
        }
        Ok(learned)
    }

    /// Learns one pair.
    pub fn learn_one(&mut self, x: &[f64], next: &[f64]) -> Result<()> {
        if self.is_plain() {
            self.operator.learn_one(x, next)?;
            self.tail = None;
            return Ok(());
        }
        self.learn(one_row(x), one_row(next))
    }

    /// Learns pairs of states with their delays, in the user's units.
    pub(super) fn take_in(
        &mut self,
        x: ArrayView2<'_, f64>,
        next: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        should_continue: &mut dyn FnMut(usize) -> bool,
    ) -> Result<usize> {
        let before = self.snapshot(x);
        let earlier = self.warm_up.as_ref().map_or(0, WarmUp::len);
        let mut done = 0;
        while done < x.nrows() {
            let part = self.part_len(x.slice(s![done.., ..]));
            let rows = s![done..done + part, ..];
            let (x, next) = (x.slice(rows), next.slice(rows));
            let weights = weights.map(|weights| weights.slice_move(s![done..done + part]));
            let learned = self
                .learn_part(x, next, weights, &mut |row| should_continue(done + row))
                .map_err(|error| error.shifted(done))
                .and_then(|rows| {
                    let weights = weights.map(|weights| weights.slice_move(s![..rows]));
                    let (x, next) = (x.slice(s![..rows, ..]), next.slice(s![..rows, ..]));
                    self.keep(x, next, weights, earlier).map(|()| rows)
                });
            match learned {
                Ok(rows) => {
                    done += rows;
                    if rows < part {
                        break;
                    }
                }
                Err(error) => {
                    if let Some(before) = before {
                        *self = before;
                    }
                    return Err(error);
                }
            }
        }
        Ok(done)
    }

    /// Number of pairs in the next part of a call.
    fn part_len(&self, x: ArrayView2<'_, f64>) -> usize {
        match &self.warm_up {
            Some(warm_up) => x.nrows().min(warm_up.turn(self.last_turn(x)) - warm_up.len()),
            None => x.nrows(),
        }
    }

    fn last_turn(&self, x: ArrayView2<'_, f64>) -> usize {
        self.spec.last_turn(2 * x.ncols() - self.operator.n_controls())
    }

    /// A copy for rollback, if a call may be refused after some of its pairs were learned; the
    /// operator itself rolls back a part.
    fn snapshot(&self, x: ArrayView2<'_, f64>) -> Option<Self> {
        let several = self.part_len(x) < x.nrows();
        let turns = self.warm_up.as_ref().is_some_and(|warm_up| {
            warm_up.len() == 0 || warm_up.len() + x.nrows() >= warm_up.turn(self.last_turn(x))
        });
        (turns || several || !self.is_plain() && x.nrows() > 1).then(|| self.clone())
    }

    /// Learns pairs, without those that have an outlying state.
    fn learn_part(
        &mut self,
        x: ArrayView2<'_, f64>,
        next: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        should_continue: &mut dyn FnMut(usize) -> bool,
    ) -> Result<usize> {
        let Some(before) = &self.outliers else {
            return self.learn_all(x, next, weights, should_continue);
        };
        let mut after = before.clone();
        let learned = match after.meet(x, next) {
            None => self.learn_all(x, next, weights, should_continue)?,
            Some(rows) => {
                check_all(&self.operator, &self.units.after(x, next), x, next)?;
                let row = |i: usize| rows.get(i).copied().unwrap_or(x.nrows());
                let (x, next, weights) = selected(x, next, weights, &rows);
                let weights = weights.as_ref().map(|weights| weights.view());
                let learned = if rows.is_empty() {
                    0
                } else {
                    self.learn_all(x.view(), next.view(), weights, &mut |i| should_continue(row(i)))
                        .map_err(|error| at_row_of(error, &rows))?
                };
                row(learned)
            }
        };
        if learned == x.nrows() {
            self.outliers = Some(after);
        } else if let Some(outliers) = &mut self.outliers {
            outliers.meet(x.slice(s![..learned, ..]), next.slice(s![..learned, ..]));
        }
        Ok(learned)
    }

    fn learn_all(
        &mut self,
        x: ArrayView2<'_, f64>,
        next: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        should_continue: &mut dyn FnMut(usize) -> bool,
    ) -> Result<usize> {
        let units = self.units.after(x, next);
        let (here, there) = (units.scaled(x), units.scaled(next));
        let learned =
            self.operator.learn_weighted_while(here.view(), there.view(), weights, should_continue)?;
        if let Cow::Owned(units) = units {
            self.units = units;
        }
        Ok(learned)
    }

    /// Stores learned pairs of the warm-up, and relearns all at a refit. The first `earlier` are
    /// from previous calls.
    fn keep(
        &mut self,
        x: ArrayView2<'_, f64>,
        next: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        earlier: usize,
    ) -> Result<()> {
        let last = self.last_turn(x);
        let Some(warm_up) = &mut self.warm_up else { return Ok(()) };
        let turn = warm_up.turn(last);
        warm_up.keep(x, next, weights);
        let len = warm_up.len();
        if len == turn {
            self.learn_again().map_err(|mut error| match error.row_mut() {
                Some(row) if *row >= earlier => {
                    *row -= earlier;
                    error
                }
                Some(_) => Error::WarmUp { rows: turn, source: Box::new(error) },
                None => error,
            })?;
        }
        if len >= last {
            self.end_warm_up();
        }
        Ok(())
    }

    /// Selects scale and parameters by the stored pairs without outliers, and learns these.
    fn learn_again(&mut self) -> Result<()> {
        let Some(warm_up) = &self.warm_up else { return Ok(()) };
        let (x, next, weights) = warm_up.rows();
        let width = next.ncols() / self.spec.delays.blocks();
        let mut outliers = self.outliers.clone();
        let rows = outliers.as_mut().and_then(|outliers| outliers.restart(x, next, width));
        let chosen = rows.as_ref().map(|rows| selected(x, next, Some(weights), rows));
        let all = (x, next);
        let (x, next, weights) = match &chosen {
            Some((x, next, Some(weights))) => (x.view(), next.view(), weights.view()),
            _ => (x, next, weights),
        };
        let weights = weights.iter().any(|weight| weight.to_bits() != 1.0_f64.to_bits()).then_some(weights);
        let chosen = selection::choose(&self.spec, x, next)?;
        let mut operator = chosen.operator.build()?;
        let (units, reencoding) = (chosen.units, chosen.reencoding);
        if rows.is_some() {
            check_all(&operator, &units, all.0, all.1)?;
        }
        let (here, there) = (units.scaled(x), units.scaled(next));
        let learned = operator
            .learn_weighted_while(here.view(), there.view(), weights, |_| interrupt::check().is_ok())
            .map_err(|error| match &rows {
                Some(rows) => at_row_of(error, rows),
                None => error,
            })?;
        if learned < x.nrows() {
            return Err(Error::Interrupted);
        }
        if let Some(forecaster) = &mut self.forecaster {
            forecaster.readouts = Readouts::default();
            let embedding = DelayEmbedding { operator: &operator, units: &units, delays: &self.spec.delays };
            forecaster.learned.learn_again(
                &embedding,
                next.ncols() / self.spec.delays.blocks(),
                &self.spec.params,
            )?;
        }
        (self.operator, self.units, self.outliers) = (operator, units, outliers);
        self.reencoding = reencoding;
        if let Some(driven) = &mut self.driven {
            driven.forget();
            self.candidates.iter_mut().for_each(Candidates::renew_operator);
        }
        Ok(())
    }

    /// Ends the warm-up with the available pairs.
    pub(super) fn settle(&mut self) -> Result<()> {
        if self.warm_up.as_ref().is_some_and(|warm_up| warm_up.len() > 0) {
            self.learn_again()?;
            self.end_warm_up();
        }
        Ok(())
    }

    fn end_warm_up(&mut self) {
        self.warm_up = None;
        if let Some(forecaster) = &mut self.forecaster {
            forecaster.learned.settle();
        }
    }

    /// Ends the warm-up, and learns the pairs in the replay buffer. On an error the model is unchanged.
    pub fn flush(&mut self) -> Result<()> {
        self.flush_while(|| true).map(|_| ())
    }

    /// [`flush`](Self::flush) that can be stopped, as that of [the
    /// operator](crate::koopman::Koopman::flush_while).
    pub fn flush_while(&mut self, should_continue: impl FnMut() -> bool) -> Result<bool> {
        let before = self.warm_up.is_some().then(|| self.clone());
        let result = self.settle().and_then(|()| self.drain_while(should_continue));
        match &result {
            Ok(_) => self.unconfirmed = None,
            Err(_) => {
                if let Some(before) = before {
                    *self = before;
                }
            }
        }
        result
    }

    /// Learns the pairs in the replay buffer, without ending the warm-up.
    pub fn drain_while(&mut self, should_continue: impl FnMut() -> bool) -> Result<bool> {
        self.operator.flush_while(should_continue)
    }
}

/// Refuses pairs that cannot be learned, also where they would be left out.
fn check_all(
    operator: &Koopman,
    units: &Units,
    x: ArrayView2<'_, f64>,
    next: ArrayView2<'_, f64>,
) -> Result<()> {
    operator.check_pairs(units.scaled(x).view(), units.scaled(next).view())
}

/// These rows of pairs and of their weights.
fn selected(
    x: ArrayView2<'_, f64>,
    next: ArrayView2<'_, f64>,
    weights: Option<ArrayView1<'_, f64>>,
    rows: &[usize],
) -> (Array2<f64>, Array2<f64>, Option<Array1<f64>>) {
    let weights = weights.map(|weights| weights.select(Axis(0), rows));
    (x.select(Axis(0), rows), next.select(Axis(0), rows), weights)
}

/// An error in one of these rows, by its number among all.
fn at_row_of(mut error: Error, rows: &[usize]) -> Error {
    if let Some(row) = error.row_mut()
        && let Some(at) = rows.get(*row)
    {
        *row = *at;
    }
    error
}
