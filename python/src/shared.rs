//! A model that several threads of Python may use at once.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use kernelstream::Result;
use kernelstream::lock::{self, Lock, Reading, Taken, Writing};
use pyo3::prelude::*;

use crate::signals::{due, look, waiting, working};
use crate::to_python;

/// Most rows learned before the lock is released. They are checked together.
const ROWS_PER_PART: usize = 8192;

/// Shortest time for which a call learns between two releases of the lock.
const SLICE: Duration = Duration::from_millis(5);

/// Steps of learning, rows or blocks of them, between two checks of the clock.
const STEPS_PER_LOOK: u32 = 16;

/// A model that several threads may query while none learns. Learning calls run one after another; within one the lock is
/// released at least ten times a second. Threads wait and work detached from the interpreter, so that they block no
/// thread that does not need the model, and Ctrl-C ends both.
pub struct Shared<M> {
    model: Lock<M>,
    turn: lock::Turn,
}

/// Most rows of a call that is not interrupted.
const SHORT: usize = 16;

/// How a model is restored if it refuses a row after the checks.
#[derive(Clone, Copy, PartialEq)]
pub enum Undo {
    /// It refuses none.
    Nothing,
    /// The model restores itself: the call is short, and not interrupted.
    Model,
    /// A copy.
    Copy,
}

impl Undo {
    /// For a call of `n` rows.
    pub fn of(can_refuse: bool, n: usize) -> Self {
        if !can_refuse {
            Self::Nothing
        } else if n <= SHORT {
            Self::Model
        } else {
            Self::Copy
        }
    }
}

/// Progress of a part of a call: its rows, and whether they need more work.
pub struct Learned {
    pub rows: usize,
    pub busy: bool,
}

impl From<usize> for Learned {
    fn from(rows: usize) -> Self {
        Self { rows, busy: false }
    }
}

impl<M: Clone + Send + Sync + 'static> Shared<M> {
    pub fn new(model: M) -> Self {
        Self { model: Lock::new(model), turn: lock::Turn::default() }
    }

    /// The model, for queries.
    pub fn read(&self, py: Python<'_>) -> PyResult<Reading<'_, M>> {
        match self.model.try_read() {
            Some(model) => Ok(model),
            None => waiting(py, |should_continue| self.model.read(should_continue)),
        }
    }

    /// The model, for queries that use its scratch.
    pub fn scratch(&self, py: Python<'_>) -> PyResult<Writing<'_, M>> {
        match self.model.try_write() {
            Some(model) => Ok(model),
            None => waiting(py, |should_continue| self.model.write(should_continue)),
        }
    }

    fn turn(&self, py: Python<'_>) -> PyResult<Taken> {
        turn(py, &self.turn)
    }

    /// Runs `ask` on the model.
    pub fn ask<T: Send>(&self, py: Python<'_>, ask: impl FnOnce(&M) -> Result<T> + Send) -> PyResult<T> {
        let model = self.read(py)?;
        working(py, || ask(&model))
    }

    /// Runs `change` on the model, which takes little time.
    pub fn change<T: Send>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut M) -> Result<T> + Send,
    ) -> PyResult<T> {
        let _turn = self.turn(py)?;
        let mut model = self.scratch(py)?;
        py.detach(|| change(&mut model)).map_err(to_python)
    }

    /// Runs `find` on the model, which allows other queries meanwhile, and then `put` with the result.
    pub fn revise<T: Send, R>(
        &self,
        py: Python<'_>,
        find: impl FnOnce(&M) -> Result<T> + Send,
        put: impl FnOnce(&mut M, T) -> R,
    ) -> PyResult<R> {
        let _turn = self.turn(py)?;
        let found = self.ask(py, find)?;
        Ok(put(&mut *self.scratch(py)?, found))
    }

    /// Runs `learn` on the model, which takes a few microseconds, attached to the interpreter.
    pub fn learn_one(&self, py: Python<'_>, learn: impl FnOnce(&mut M) -> Result<()>) -> PyResult<()> {
        if let Some(mut model) = self.model.try_write()
            && !self.turn.is_taken()
        {
            let learned = learn(&mut model);
            model.hand_over();
            return learned.map_err(to_python);
        }
        let _turn = self.turn(py)?;
        learn(&mut *self.scratch(py)?).map_err(to_python)
    }

    /// Learns `n` rows with `learn`, which gets some of them and a callback that decides whether to
    /// continue, and returns the number learned. The model does not depend on where it is interrupted, nor on the
    /// parts, which follow from the number of rows alone. `check` refuses bad rows beforehand and returns how to
    /// restore the model if a checked row is refused.
    ///
    /// Other threads may query the model between parts, and so may `progress`. On Ctrl-C the rows done stay
    /// learned.
    pub fn learn<L: Into<Learned>>(
        &self,
        py: Python<'_>,
        n: usize,
        progress: Option<&Bound<'_, PyAny>>,
        check: impl FnOnce(&M) -> Result<Undo> + Send,
        mut learn: impl FnMut(&mut M, Range<usize>, &mut dyn FnMut(usize) -> bool) -> Result<L> + Send,
    ) -> PyResult<()> {
        let _turn = self.turn(py)?;
        let (undo, mut before) = self.ask(py, |model| {
            let undo = check(model)?;
            Ok((undo, (undo == Undo::Copy).then(|| model.clone())))
        })?;
        let (mut done, mut busy, mut prequential, mut last) = (0, n == 0, 0, Instant::now());
        while done < n || busy {
            (done, busy) = waiting(py, |should_continue| {
                loop {
                    let mut model = self.model.write(&mut *should_continue)?;
                    let mut pace = Pace::new(last, || self.model.is_awaited());
                    let rows = done..n.min((done / ROWS_PER_PART + 1) * ROWS_PER_PART);
                    let learned =
                        learn(&mut model, rows, &mut |done| undo == Undo::Model || !pace.is_over(done));
                    let learned = learned.map(Into::into).map_err(|error| {
                        // Rows done stay learned if it was interrupted.
                        if let Some(before) = before.take()
                            && !matches!(error, kernelstream::Error::Interrupted)
                        {
                            *model = before;
                        }
                        error.shifted(done)
                    })?;
                    (done, busy) = (done + learned.rows, learned.busy);
                    model.hand_over();
                    if due(last) || !(done < n || busy) {
                        return Ok((done, busy));
                    }
                }
            })?;
            if due(last) {
                record(py, progress, done)?;
                (prequential, last) = (done, Instant::now());
            }
        }
        if prequential < done { record(py, progress, done) } else { Ok(()) }
    }
}

/// Releases the model when a check for Ctrl-C is due, or when another thread waits and a slice of time is
/// over. The clock is read every few rows, or after each block of them.
struct Pace<A> {
    awaited: A,
    last_breath: Instant,
    begun: Instant,
    looked: Instant,
    asked: u32,
    next: u32,
    done: usize,
}

impl<A: Fn() -> bool> Pace<A> {
    fn new(last_breath: Instant, awaited: A) -> Self {
        let now = Instant::now();
        // The first step is always made, so that every part advances.
        Self { awaited, last_breath, begun: now, looked: now, asked: 0, next: 1, done: 0 }
    }

    /// Whether to stop before a step, after this many rows.
    fn is_over(&mut self, done: usize) -> bool {
        self.asked += 1;
        let is_block = done > self.done + 1;
        self.done = done;
        if self.asked <= self.next && !is_block {
            return false;
        }
        let now = Instant::now();
        let is_slow = now - self.looked > SLICE / STEPS_PER_LOOK;
        self.next = self.asked + if is_slow { 0 } else { STEPS_PER_LOOK - 1 };
        self.looked = now;
        due(self.last_breath) || (now - self.begun > SLICE && (self.awaited)())
    }
}

/// Checks for Ctrl-C, and reports the number of rows done.
fn record(py: Python<'_>, progress: Option<&Bound<'_, PyAny>>, done: usize) -> PyResult<()> {
    look(py)?;
    match progress {
        Some(callable) => callable.call1((done,)).map(|_| ()),
        None => Ok(()),
    }
}

fn turn(py: Python<'_>, turn: &lock::Turn) -> PyResult<Taken> {
    match turn.try_take() {
        Some(taken) => Ok(taken),
        None => waiting(py, |should_continue| turn.take(should_continue)),
    }
}

/// A turn of Python threads, as a context manager. Ctrl-C ends the wait; a thread that has the turn gets an error.
#[pyclass(frozen, module = "kernelstream._core")]
#[derive(Default)]
pub struct Turn {
    turn: lock::Turn,
    taken: Mutex<Option<Taken>>,
}

#[pymethods]
impl Turn {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn __enter__(&self, py: Python<'_>) -> PyResult<()> {
        let taken = turn(py, &self.turn)?;
        *self.taken.lock().unwrap_or_else(PoisonError::into_inner) = Some(taken);
        Ok(())
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, _error: &Bound<'_, pyo3::types::PyTuple>) {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner).take();
        taken.into_iter().for_each(Taken::hand_over);
    }
}
