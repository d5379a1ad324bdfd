//! A model that several threads of Python may use at once.

use std::ops::Range;
use std::time::{Duration, Instant};

use kernelstream::Result;
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use pyo3::prelude::*;
use pyo3::sync::RwLockExt as _;

use crate::to_python;

/// How often long work lets other threads at the model, looks at Ctrl-C and tells its progress.
const BREATH: Duration = Duration::from_millis(100);

/// Most rows learned between two such breaths.
const ROWS_PER_BREATH: usize = 8192;

/// Rows learned between two looks at the clock.
const ROWS_PER_LOOK: usize = 16;

/// A model behind a lock: many may ask while nobody learns. Waiting and working are done detached
/// from the interpreter, so that no thread holds up another that does not need the model. The lock knows no
/// poison: a model is never left half changed by the crate, so one whose user panicked is still sound.
pub struct Shared<M> {
    model: RwLock<M>,
}

impl<M: Clone + Send + Sync> Shared<M> {
    pub fn new(model: M) -> Self {
        Self { model: RwLock::new(model) }
    }

    pub fn read(&self, py: Python<'_>) -> RwLockReadGuard<'_, M> {
        self.model.read_py_attached(py)
    }

    pub fn write(&self, py: Python<'_>) -> RwLockWriteGuard<'_, M> {
        self.model.write_py_attached(py)
    }

    /// Runs `ask` on the model.
    pub fn ask<T: Send>(&self, py: Python<'_>, ask: impl FnOnce(&M) -> Result<T> + Send) -> PyResult<T> {
        let guard = self.read(py);
        let model = &*guard;
        py.detach(|| ask(model)).map_err(to_python)
    }

    /// Runs `change` on the model.
    pub fn change<T: Send>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut M) -> Result<T> + Send,
    ) -> PyResult<T> {
        let mut guard = self.write(py);
        let model = &mut *guard;
        py.detach(|| change(model)).map_err(to_python)
    }

    /// Learns `n` rows with `learn`, which is given some of them and a function to ask before each row
    /// whether to go on, and returns how many it did. `check` refuses bad rows beforehand and says
    /// whether a checked row may still be refused: then the model is put back as it was.
    ///
    /// The lock is held from one breath to the next only, and then handed over to those who wait: other
    /// threads may predict in between, and `progress` may ask this very model. On Ctrl-C the rows done stay
    /// learned.
    pub fn learn(
        &self,
        py: Python<'_>,
        n: usize,
        progress: Option<&Bound<'_, PyAny>>,
        check: impl FnOnce(&M) -> Result<bool> + Send,
        mut learn: impl FnMut(&mut M, Range<usize>, &mut dyn FnMut(usize) -> bool) -> Result<usize> + Send,
    ) -> PyResult<()> {
        // A call too short to be broken off puts itself back.
        let before = self.ask(py, |model| Ok((check(model)? && n > ROWS_PER_LOOK).then(|| model.clone())))?;
        let (mut done, mut told, mut last) = (0, 0, Instant::now());
        while done < n {
            let rows = done..n.min(done + ROWS_PER_BREATH);
            let mut guard = self.write(py);
            let model = &mut *guard;
            let learned = py.detach(|| {
                learn(model, rows, &mut |i| i == 0 || i % ROWS_PER_LOOK != 0 || last.elapsed() < BREATH)
            });
            match learned {
                Ok(rows) => done += rows,
                Err(error) => {
                    if let Some(before) = before {
                        *guard = before;
                    }
                    return Err(to_python(error.shifted(done)));
                }
            }
            // Dropped, it would be taken again before anybody who waits has woken up.
            RwLockWriteGuard::unlock_fair(guard);
            if last.elapsed() >= BREATH {
                tell(py, progress, done)?;
                (told, last) = (done, Instant::now());
            }
        }
        if told < done { tell(py, progress, done) } else { Ok(()) }
    }
}

/// Looks at Ctrl-C, and tells how many rows are done.
fn tell(py: Python<'_>, progress: Option<&Bound<'_, PyAny>>, done: usize) -> PyResult<()> {
    py.check_signals()?;
    match progress {
        Some(callable) => callable.call1((done,)).map(|_| ()),
        None => Ok(()),
    }
}
