//! Whole calls, one after the other.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use parking_lot::{ArcMutexGuard, RawMutex};

use super::{SLICE, fork, this_thread, wait};
use crate::error::{Error, Result};

/// A mutex around whole learning calls. A forked process gets a free one, since it guards no data: a call of a
/// thread that did not survive the fork has ended there.
///
/// A call that changes the model under a single hold of its [`Lock`](super::Lock) needs no turn if, while it holds the
/// lock, no thread [has](Self::is_taken) it: a call that takes the turn later begins after that change.
#[derive(Debug, Default)]
pub struct Turn {
    place: Mutex<Place>,
    /// Number of the thread that has the turn, 0 without one.
    owner: Arc<AtomicU64>,
}

#[derive(Debug, Default)]
struct Place {
    /// Forks between the first process and the one that made this place.
    generation: u64,
    mutex: Arc<parking_lot::Mutex<()>>,
}

impl Turn {
    /// Waits for the turn. About every 50 ms `should_continue` is called; the wait ends with
    /// [`Error::Interrupted`] once it returns false. A thread that has the turn gets [`Error::Nested`].
    pub fn take(&self, should_continue: impl FnMut() -> bool) -> Result<Taken> {
        wait(None, should_continue, || {
            let mutex = self.mutex();
            if self.owner.load(Ordering::Relaxed) == this_thread() {
                return Err(Error::Nested);
            }
            Ok(mutex.try_lock_arc_for(SLICE).map(|guard| Taken::new(&self.owner, guard)))
        })
    }

    /// The turn, if no thread has it.
    #[must_use]
    pub fn try_take(&self) -> Option<Taken> {
        let guard = self.mutex().try_lock_arc()?;
        Some(Taken::new(&self.owner, guard))
    }

    /// Whether a thread has the turn.
    #[must_use]
    pub fn is_taken(&self) -> bool {
        self.owner.load(Ordering::Relaxed) != 0
    }

    fn mutex(&self) -> Arc<parking_lot::Mutex<()>> {
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        if place.generation != fork::generation() {
            *place = Place { generation: fork::generation(), ..Place::default() };
            self.owner.store(0, Ordering::Relaxed);
        }
        Arc::clone(&place.mutex)
    }
}

/// The turn, until this is dropped, by any thread.
#[must_use]
pub struct Taken {
    owner: Owner,
    guard: ArcMutexGuard<RawMutex, ()>,
}

impl std::fmt::Debug for Taken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Taken").field("thread", &self.owner.thread).finish_non_exhaustive()
    }
}

impl Taken {
    fn new(owner: &Arc<AtomicU64>, guard: ArcMutexGuard<RawMutex, ()>) -> Self {
        owner.store(this_thread(), Ordering::Relaxed);
        Self { owner: Owner { owner: Arc::clone(owner), thread: this_thread() }, guard }
    }

    /// Gives the turn to the thread that has waited longest.
    pub fn hand_over(self) {
        drop(self.owner);
        ArcMutexGuard::unlock_fair(self.guard);
    }
}

#[derive(Debug)]
struct Owner {
    owner: Arc<AtomicU64>,
    thread: u64,
}

impl Drop for Owner {
    fn drop(&mut self) {
        // In a forked process another thread may have the new turn meanwhile.
        let _ = self.owner.compare_exchange(self.thread, 0, Ordering::Relaxed, Ordering::Relaxed);
    }
}
