//! Learning pairs, and the first of them again when more is known of the states.

use std::borrow::Cow;

use ndarray::{ArrayView2, s};

use super::learned::Lens;
use super::{Dynamics, choice};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::online::warm_up_pairs::WarmUp;
use crate::validate::one_row;

impl Dynamics {
    /// Learns pairs: row `i` of `next` (n, d) is the state that followed row `i` of `x` (n, d), or of `x` (n, d + k) with
    /// inputs. All rows are checked before the first is learned. On an error the model is as before.
    ///
    /// With delays it takes [trajectories](Self::follow) only.
    pub fn learn(&mut self, x: ArrayView2<'_, f64>, next: ArrayView2<'_, f64>) -> Result<()> {
        self.learn_while(x, next, |_| true).map(|_| ())
    }

    /// [`learn`](Self::learn) that can be watched and stopped, as that of
    /// [the operator](crate::koopman::Koopman::learn_while).
    pub fn learn_while(
        &mut self,
        x: ArrayView2<'_, f64>,
        next: ArrayView2<'_, f64>,
        mut go_on: impl FnMut(usize) -> bool,
    ) -> Result<usize> {
        self.check_pairs(x, next)?;
        let learned = self.take_in(x, next, &mut go_on)?;
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

    /// Learns pairs of states with their delays, in the units given.
    pub(super) fn take_in(
        &mut self,
        x: ArrayView2<'_, f64>,
        next: ArrayView2<'_, f64>,
        go_on: &mut dyn FnMut(usize) -> bool,
    ) -> Result<usize> {
        let before = self.snapshot(x);
        let earlier = self.warm_up.as_ref().map_or(0, WarmUp::len);
        let mut done = 0;
        while done < x.nrows() {
            let part = self.part_len(x.slice(s![done.., ..]));
            let rows = s![done..done + part, ..];
            let (x, next) = (x.slice(rows), next.slice(rows));
            let learned = self
                .learn_part(x, next, &mut |row| go_on(done + row))
                .map_err(|error| error.shifted(done))
                .and_then(|rows| {
                    self.keep(x.slice(s![..rows, ..]), next.slice(s![..rows, ..]), earlier).map(|()| rows)
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

    /// Pairs of which the next part of a call consists.
    fn part_len(&self, x: ArrayView2<'_, f64>) -> usize {
        match &self.warm_up {
            Some(warm_up) => x.nrows().min(warm_up.turn(self.last_turn(x)) - warm_up.len()),
            None => x.nrows(),
        }
    }

    fn last_turn(&self, x: ArrayView2<'_, f64>) -> usize {
        self.spec.last_turn(2 * x.ncols() - self.operator.n_controls())
    }

    /// A copy to go back to, for a call that something can refuse after pairs of it were learned: the operator
    /// undoes a part itself.
    fn snapshot(&self, x: ArrayView2<'_, f64>) -> Option<Self> {
        let several = self.part_len(x) < x.nrows();
        let turns = self.warm_up.as_ref().is_some_and(|warm_up| {
            warm_up.len() == 0 || warm_up.len() + x.nrows() >= warm_up.turn(self.last_turn(x))
        });
        (turns || several || !self.is_plain() && x.nrows() > 1).then(|| self.clone())
    }

    fn learn_part(
        &mut self,
        x: ArrayView2<'_, f64>,
        next: ArrayView2<'_, f64>,
        go_on: &mut dyn FnMut(usize) -> bool,
    ) -> Result<usize> {
        let units = self.units.after(x, next);
        let learned = self.operator.learn_while(units.scaled(x).view(), units.scaled(next).view(), go_on)?;
        if let Cow::Owned(units) = units {
            self.units = units;
        }
        Ok(learned)
    }

    /// Keeps pairs of the warm-up that were learned, and learns all again if it is their turn. The first
    /// `earlier` of all are from calls before this one.
    fn keep(&mut self, x: ArrayView2<'_, f64>, next: ArrayView2<'_, f64>, earlier: usize) -> Result<()> {
        let last = self.last_turn(x);
        let Some(warm_up) = &mut self.warm_up else { return Ok(()) };
        let turn = warm_up.turn(last);
        warm_up.keep(x, next);
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

    /// Makes scale and choice of the pairs kept so far, and learns these with them.
    fn learn_again(&mut self) -> Result<()> {
        let Some(warm_up) = &self.warm_up else { return Ok(()) };
        let (x, next) = warm_up.pairs();
        let chosen = choice::choose(&self.spec, x, next)?;
        let mut operator = chosen.operator.build()?;
        let units = chosen.units;
        let learned = operator
            .learn_while(units.scaled(x).view(), units.scaled(next).view(), |_| interrupt::check().is_ok())?;
        if learned < x.nrows() {
            return Err(Error::Interrupted);
        }
        if let Some(forecaster) = &mut self.forecaster {
            let lens = Lens { operator: &operator, units: &units, delays: &self.spec.delays };
            forecaster.learned.learn_again(&lens, next.ncols() / self.spec.delays.blocks())?;
        }
        (self.operator, self.units) = (operator, units);
        Ok(())
    }

    /// Ends the warm-up with the pairs there are.
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

    /// Ends the warm-up, and learns the pairs that wait in the replay buffer.
    pub fn flush(&mut self) -> Result<()> {
        self.flush_while(|| true).map(|_| ())
    }

    /// [`flush`](Self::flush) that can be stopped, as that of [the operator](crate::koopman::Koopman::flush_while).
    pub fn flush_while(&mut self, go_on: impl FnMut() -> bool) -> Result<bool> {
        self.settle()?;
        self.drain_while(go_on)
    }

    /// Learns the pairs that wait in the replay buffer, and leaves the warm-up as it is.
    pub fn drain_while(&mut self, go_on: impl FnMut() -> bool) -> Result<bool> {
        self.operator.flush_while(go_on)
    }
}
