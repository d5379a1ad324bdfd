//! Interruptible long computations.
//!
//! The caller of one may decide whether to continue ([`watched`]). Predictions and forecasts for many rows, spectra and value
//! iteration then poll, between steps of at most about ten milliseconds; a factorization, which has
//! no such steps, is done on a thread of its own meanwhile (with the feature `threads`). Broken off, they return
//! [`Error::Interrupted`] and leave everything as it was.

use std::cell::RefCell;
use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::error::{Error, Result};

/// Polling interval of the callback while another thread works.
const SLICE: Duration = Duration::from_millis(20);

type GoOn = Box<dyn FnMut() -> bool>;

thread_local! {
    static WATCH: RefCell<Option<GoOn>> = const { RefCell::new(None) };
}

/// Runs `work`, whose long computations on this thread call `should_continue` periodically, and end with
/// [`Error::Interrupted`] once it returns false.
///
/// ```
/// use std::time::{Duration, Instant};
///
/// use kernelstream::interrupt::watched;
/// use kernelstream::{AnyModel, Error, Model as _};
/// use ndarray::Array2;
///
/// # fn main() -> kernelstream::Result<()> {
/// let mut model = AnyModel::from_json(r#"{"learner": {"type": "ridge"}}"#)?;
/// model.learn_one(&[0.5], &[1.0])?;
/// let x = Array2::zeros((1_000_000, 1));
/// let until = Instant::now() + Duration::from_millis(1);
/// let late = watched(move || Instant::now() < until, || model.predict(x.view()));
/// assert!(matches!(late, Err(Error::Interrupted)));
/// # Ok(())
/// # }
/// ```
pub fn watched<T>(should_continue: impl FnMut() -> bool + 'static, work: impl FnOnce() -> T) -> T {
    struct Outer(Option<GoOn>);
    impl Drop for Outer {
        fn drop(&mut self) {
            WATCH.set(self.0.take());
        }
    }
    let _outer = Outer(WATCH.replace(Some(Box::new(should_continue))));
    work()
}

/// Runs short `work` whose result has to be known, without polling.
pub(crate) fn unwatched<T>(work: impl FnOnce() -> T) -> T {
    watched(|| true, work)
}

/// Polls the callback; to be called where the state is consistent.
pub(crate) fn check() -> Result<()> {
    // Taken out, so that it may itself use what is watched.
    let Some(mut should_continue) = WATCH.take() else { return Ok(()) };
    let going = should_continue();
    WATCH.set(Some(should_continue));
    if going { Ok(()) } else { Err(Error::Interrupted) }
}

/// Runs long `work` without polling points, on another thread if there is a callback; after an
/// interrupt its result is discarded.
pub(crate) fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    if WATCH.with_borrow(Option::is_none) {
        return Ok(work());
    }
    check()?;
    if !cfg!(feature = "threads") {
        return Ok(work());
    }
    let work = Arc::new(Mutex::new(Some(work)));
    let take = |work: &Mutex<Option<_>>| work.lock().unwrap_or_else(PoisonError::into_inner).take();
    let (tell, hear) = channel();
    let theirs = Arc::clone(&work);
    let worker = thread::Builder::new().spawn(move || {
        if let Some(work) = take(&theirs) {
            // The receiver is gone after an interrupt.
            let _ = tell.send(work());
        }
    });
    let Ok(worker) = worker else {
        // No thread is available: run it here.
        return take(&work).map(|work| work()).ok_or(Error::Interrupted);
    };
    loop {
        match hear.recv_timeout(SLICE) {
            Ok(done) => return Ok(done),
            Err(RecvTimeoutError::Timeout) => check()?,
            Err(RecvTimeoutError::Disconnected) => match worker.join() {
                Err(panic) => resume_unwind(panic),
                Ok(()) => return Err(Error::Interrupted),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unwatched_work_is_done_here_and_asks_nobody() {
        let here = thread::current().id();
        assert_eq!(aside(move || thread::current().id()).unwrap(), here);
        assert!(check().is_ok());
    }

    #[test]
    fn the_watch_ends_with_the_work() {
        let mut left = 2;
        let outcome = watched(
            move || {
                left -= 1;
                left > 0
            },
            || (check().is_ok(), check().is_ok()),
        );
        assert_eq!(outcome, (true, false));
        assert!(check().is_ok(), "nobody watches any more");
    }

    #[test]
    #[cfg(feature = "threads")]
    fn who_is_called_away_does_not_wait_for_work_aside() {
        let (release, released) = channel::<()>();
        let mut looks = 0;
        let once = move || {
            looks += 1;
            looks == 1
        };
        let outcome = watched(once, || aside(move || released.recv().is_ok()));
        assert!(matches!(outcome, Err(Error::Interrupted)));
        // It was still running.
        assert!(release.send(()).is_ok());
        assert_eq!(watched(|| true, || aside(|| 7)).unwrap(), 7);
    }
}
