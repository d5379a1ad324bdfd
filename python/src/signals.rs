//! Ctrl-C during work outside the interpreter.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use kernelstream::{Result, interrupt};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::to_python;

/// Interval at which long work releases the model, checks for Ctrl-C and reports progress.
pub const BREATH: Duration = Duration::from_millis(100);

/// Number of checks until a test interrupts; negative without one.
static COUNTDOWN: AtomicI64 = AtomicI64::new(-1);

/// For tests: the check after `looks` others raises `KeyboardInterrupt`, as after Ctrl-C, and
/// all work checks as often as it can until then. None: off.
#[pyfunction]
#[pyo3(signature = (looks))]
pub fn interrupt_after(looks: Option<u32>) {
    COUNTDOWN.store(looks.map_or(-1, i64::from), Ordering::SeqCst);
}

/// Whether the next check is due, given the time of the last.
pub fn due(last: Instant) -> bool {
    COUNTDOWN.load(Ordering::Relaxed) >= 0 || last.elapsed() >= BREATH
}

/// Checks for Ctrl-C.
pub fn look(py: Python<'_>) -> PyResult<()> {
    if COUNTDOWN.load(Ordering::Relaxed) >= 0 && COUNTDOWN.fetch_sub(1, Ordering::SeqCst) == 0 {
        return Err(PyKeyboardInterrupt::new_err(()));
    }
    py.check_signals()
}

/// The exception of a check.
#[derive(Clone, Default)]
struct Raised(Rc<RefCell<Option<PyErr>>>);

impl Raised {
    /// Checks; false after an exception.
    fn look(&self) -> bool {
        !self.is_raised() && Python::attach(look).map_err(|error| self.0.replace(Some(error))).is_ok()
    }

    fn is_raised(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// The callback of long work between its steps.
    fn now_and_then(&self) -> impl FnMut() -> bool + 'static {
        let (raised, mut last) = (self.clone(), Instant::now());
        move || {
            if !raised.is_raised() && !due(last) {
                return true;
            }
            let going = raised.look();
            last = Instant::now();
            going
        }
    }

    /// The exception, or else the outcome: interrupted work may have completed.
    fn instead_of<T>(&self, outcome: Result<T>) -> PyResult<T> {
        self.0.take().map_or_else(|| outcome.map_err(to_python), Err)
    }
}

/// Runs `wait`, which calls back from time to time, as do long computations in it, without the interpreter.
pub fn waiting<T: Send>(
    py: Python<'_>,
    wait: impl FnOnce(&mut dyn FnMut() -> bool) -> Result<T> + Send,
) -> PyResult<T> {
    py.detach(|| {
        let raised = Raised::default();
        let waited = interrupt::watched(raised.now_and_then(), || wait(&mut || raised.look()));
        raised.instead_of(waited)
    })
}

/// Runs `work`, whose long computations can be interrupted, without the interpreter.
pub fn working<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    py.detach(|| {
        let raised = Raised::default();
        raised.instead_of(interrupt::watched(raised.now_and_then(), work))
    })
}
