//! Ctrl-C in the middle of work that Python does not see.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use kernelstream::{Result, interrupt};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::to_python;

/// How often long work lets other threads at the model, looks at Ctrl-C and tells its progress.
pub const BREATH: Duration = Duration::from_millis(100);

/// After how many further looks a test wants to interrupt; negative while none does.
static COUNTDOWN: AtomicI64 = AtomicI64::new(-1);

/// For tests: the look after `looks` others raises `KeyboardInterrupt`, as if Ctrl-C was pressed right before, and
/// all work looks as often as it can until then. None: no longer.
#[pyfunction]
#[pyo3(signature = (looks))]
pub fn interrupt_after(looks: Option<u32>) {
    COUNTDOWN.store(looks.map_or(-1, i64::from), Ordering::SeqCst);
}

/// Whether it is time to look, when the last look was then.
pub fn due(last: Instant) -> bool {
    COUNTDOWN.load(Ordering::Relaxed) >= 0 || last.elapsed() >= BREATH
}

/// Looks at Ctrl-C.
pub fn look(py: Python<'_>) -> PyResult<()> {
    if COUNTDOWN.load(Ordering::Relaxed) >= 0 && COUNTDOWN.fetch_sub(1, Ordering::SeqCst) == 0 {
        return Err(PyKeyboardInterrupt::new_err(()));
    }
    py.check_signals()
}

/// What a look raised.
#[derive(Clone, Default)]
struct Raised(Rc<RefCell<Option<PyErr>>>);

impl Raised {
    /// Looks, and says whether to continue: not after anything was raised.
    fn look(&self) -> bool {
        !self.is_raised() && Python::attach(look).map_err(|error| self.0.replace(Some(error))).is_ok()
    }

    fn is_raised(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// What long work asks instead, between its steps.
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

    /// What was raised, or else the outcome: work that was broken off may have come to an end with what it had.
    fn instead_of<T>(&self, outcome: Result<T>) -> PyResult<T> {
        self.0.take().map_or_else(|| outcome.map_err(to_python), Err)
    }
}

/// Runs `wait`, which asks now and then whether to continue, as do long computations in it, without the interpreter.
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

/// Runs `work`, whose long computations can be broken off, without the interpreter.
pub fn working<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    py.detach(|| {
        let raised = Raised::default();
        raised.instead_of(interrupt::watched(raised.now_and_then(), work))
    })
}
