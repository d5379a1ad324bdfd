//! Trajectories that arrive in pieces.

use ndarray::{ArrayView2, Axis, concatenate, s};

use super::model::{Koopman, Tail};
use crate::error::{Error, Result, in_range};

impl Koopman {
    /// Learns a trajectory `x` (n, d), or with [inputs](super::ControlSpec) of `k` numbers (n, d + k), in which each
    /// state is paired with the one `lag` states later. `continued`: it continues where the one of the call before
    /// ended, if anything was learned before. On an error the model is as before.
    ///
    /// ```
    /// use kernelstream::koopman::KoopmanSpec;
    /// use ndarray::{Array2, s};
    ///
    /// # fn main() -> kernelstream::Result<()> {
    /// let x = Array2::from_shape_fn((100, 1), |(i, _)| (i as f64 * 0.3).sin());
    /// let mut model = KoopmanSpec::default().build()?;
    /// model.follow(x.slice(s![..40, ..]), 2, false)?;
    /// model.follow(x.slice(s![40.., ..]), 2, true)?;
    /// assert_eq!(model.n_seen(), 98);
    /// # Ok(())
    /// # }
    /// ```
    pub fn follow(&mut self, x: ArrayView2<'_, f64>, lag: usize, continued: bool) -> Result<()> {
        self.check_trajectory(x, lag, continued)?;
        self.follow_while(x, lag, continued, |_| true).map(|_| ())
    }

    /// [`follow`](Self::follow) that can be watched and stopped; returns how many states were taken in, from
    /// the next of which the trajectory can be continued.
    pub fn follow_while(
        &mut self,
        x: ArrayView2<'_, f64>,
        lag: usize,
        continued: bool,
        mut should_continue: impl FnMut(usize) -> bool,
    ) -> Result<usize> {
        self.check_trajectory(x, lag, continued)?;
        let before = self.tail.take();
        let known = before.as_ref().filter(|_| continued).map(|tail| tail.states.view());
        let known = known.unwrap_or_else(|| x.slice(s![..0, ..]));
        // With another lag than that of the call before, some may be too early.
        let known = known.slice(s![known.nrows().saturating_sub(lag).., ..]).to_owned();
        let unpaired = lag - known.nrows();
        let (n, width) = (x.nrows().saturating_sub(unpaired), x.ncols() - self.n_controls());
        let state = |i: usize| if i < known.nrows() { known.row(i) } else { x.row(i - known.nrows()) };
        let learned = if n == 0 {
            Ok(0)
        } else {
            let pair = |i, pairs: &mut Vec<f64>| {
                pairs.extend(state(i));
                pairs.extend(x.slice(s![i + unpaired, ..width]));
            };
            self.take_in(n, width, pair, None, &mut should_continue)
        };
        let learned = match learned {
            Ok(learned) => learned,
            Err(error) => {
                self.tail = before;
                return Err(error.shifted(unpaired));
            }
        };
        let done = if learned == n { x.nrows() } else { learned + unpaired };
        let states = concatenate![Axis(0), known, x.slice(s![..done, ..])];
        let states = states.slice(s![states.nrows().saturating_sub(lag).., ..]).to_owned();
        self.tail = Some(Tail { states });
        Ok(done)
    }

    /// Refuses a trajectory that cannot be learned, naming the row. Changes nothing.
    pub fn check_trajectory(&self, x: ArrayView2<'_, f64>, lag: usize, continued: bool) -> Result<()> {
        in_range("lag", lag, lag > 0, "at least 1")?;
        self.check_joint("X", x)?;
        match &self.tail {
            Some(tail) if continued && tail.states.ncols() != x.ncols() => {
                Err(Error::WrongWidth { what: "X", expected: tail.states.ncols(), found: x.ncols() })
            }
            None if continued && self.n_seen > 0 => Err(Error::NoTrajectory),
            _ => Ok(()),
        }
    }

    /// The last states of the trajectory that the latest call learned, if it was one.
    pub(crate) fn trajectory_end(&self) -> Option<ArrayView2<'_, f64>> {
        self.tail.as_ref().map(|tail| tail.states.view())
    }

    /// Takes these states for the last of the trajectory learned: those that files of older versions hold beside
    /// the model.
    pub fn resume_trajectory(&mut self, states: ArrayView2<'_, f64>) -> Result<()> {
        self.check_joint("the last states of the trajectory", states)?;
        self.tail = Some(Tail { states: states.to_owned() });
        Ok(())
    }
}
