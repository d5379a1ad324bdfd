//! Work on a thread of its own, whose result is asked for later.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::error::Result;
use crate::interrupt::{check, watched};

/// Polling interval of the caller's [watch](crate::interrupt) while it waits.
const SLICE: Duration = Duration::from_millis(20);

/// Work that begins at once on a thread of its own, where several may be used; else it is done when its result is taken.
///
/// The result is the same either way. The thread uses no others, so that it never waits for one that waits for it. It stops
/// when the work is dropped.
pub(crate) struct Background<T> {
    shared: Arc<Shared<T>>,
    /// The process with the thread: another one, forked from it, has no such thread.
    process: u32,
}

struct Shared<T> {
    work: Box<dyn Fn() -> Result<T> + Send + Sync>,
    progress: Mutex<Progress<T>>,
    changed: Condvar,
}

enum Progress<T> {
    Working,
    Done(T),
    /// No thread does it.
    Nobody,
}

/// Wakes the waiting caller at the end of the work, also by a panic.
struct Ending<T>(Arc<Shared<T>>, Option<T>);

impl<T> Drop for Ending<T> {
    fn drop(&mut self) {
        let progress = self.1.take().map_or(Progress::Nobody, Progress::Done);
        *self.0.progress.lock().unwrap_or_else(PoisonError::into_inner) = progress;
        self.0.changed.notify_all();
    }
}

impl<T: Send + 'static> Background<T> {
    /// Begins this work.
    pub fn new(work: impl Fn() -> Result<T> + Send + Sync + 'static) -> Self {
        let shared = Arc::new(Shared {
            work: Box::new(work),
            progress: Mutex::new(Progress::Nobody),
            changed: Condvar::new(),
        });
        if super::num_threads().get() > 1 && !super::is_alone() {
            let begun = |progress| {
                *shared.progress.lock().unwrap_or_else(PoisonError::into_inner) = progress;
            };
            begun(Progress::Working);
            let theirs = Arc::clone(&shared);
            let run = move || {
                let mut ending = Ending(theirs, None);
                let wanted = Arc::clone(&ending.0);
                // Two of them are here.
                let is_wanted = move || Arc::strong_count(&wanted) > 2;
                ending.1 = watched(is_wanted, || super::alone(|| (ending.0.work)())).ok();
            };
            if std::thread::Builder::new().name("kernelstream".to_owned()).spawn(run).is_err() {
                begun(Progress::Nobody);
            }
        }
        Self { shared, process: std::process::id() }
    }

    /// Waits for at most this long.
    pub fn wait(&self, most: Duration) {
        if self.process == std::process::id() {
            let progress = self.shared.progress.lock().unwrap_or_else(PoisonError::into_inner);
            let is_working = |progress: &mut Progress<T>| matches!(progress, Progress::Working);
            drop(self.shared.changed.wait_timeout_while(progress, most, is_working));
        }
    }

    /// The result, once. Waits for it, or does the work where no thread does; an error of the work, or
    /// [`Error::Interrupted`](crate::Error::Interrupted), after which it can be asked for again.
    pub fn take(&self) -> Result<T> {
        // The lock may have been held by a thread that a forked process does not have.
        while self.process == std::process::id() {
            check()?;
            self.wait(SLICE);
            let mut progress = self.shared.progress.lock().unwrap_or_else(PoisonError::into_inner);
            match std::mem::replace(&mut *progress, Progress::Nobody) {
                Progress::Working => *progress = Progress::Working,
                Progress::Done(made) => return Ok(made),
                Progress::Nobody => break,
            }
        }
        (self.shared.work)()
    }
}

impl<T> std::fmt::Debug for Background<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Background").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::channel;
    use std::time::Instant;

    #[test]
    fn the_result_is_that_of_the_work() {
        let done = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&done);
        let work = Background::new(move || Ok(7 + count.fetch_add(1, Ordering::SeqCst)));
        assert_eq!(work.take().unwrap(), 7);
        assert_eq!(done.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn errors_and_panics_are_the_callers() {
        let work = Background::new(|| Err::<(), _>(Error::NothingLearned));
        assert!(matches!(work.take(), Err(Error::NothingLearned)));
        let work = Background::<()>::new(|| panic!("as it should"));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work.take())).is_err());
    }

    #[test]
    fn a_wait_ends_and_an_interrupted_one_can_be_repeated() {
        let (release, released) = channel::<()>();
        let released = Mutex::new(released);
        let work = Background::new(move || Ok(released.lock().unwrap().recv().is_ok()));
        let start = Instant::now();
        work.wait(Duration::from_millis(5));
        assert!(start.elapsed() < Duration::from_secs(60));
        assert!(matches!(watched(|| false, || work.take()), Err(Error::Interrupted)));
        release.send(()).unwrap();
        assert!(work.take().unwrap());
    }

    #[test]
    fn work_that_nobody_wants_ends() {
        let (tell, hear) = channel::<()>();
        let tell = Mutex::new(tell);
        let work = Background::new(move || -> Result<()> {
            // The channel closes when the work is dropped.
            let _tell = &tell;
            loop {
                check()?;
                std::thread::yield_now();
            }
        });
        drop(work);
        assert!(hear.recv().is_err());
    }
}
