//! What all queues share, so that a fork finds none of them half changed.

use std::cell::RefCell;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use super::sync::atomic::{AtomicUsize, Ordering};
use super::sync::thread::{self, ThreadId};
use super::sync::{Condvar, Mutex, MutexGuard};

/// How long a fork waits for models that are being changed. Learning calls let go of them ten times a second.
const PATIENCE: Duration = Duration::from_secs(1);

/// Held while anybody enters or leaves any queue, for some ten nanoseconds.
static CHANGES: Mutex<Changes> = Mutex::new(Changes { generation: 0, survivor: None, being_made: 0 });

/// Forks that wait until no model is being changed; until then nobody may begin another change.
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// That fewer models are being changed.
static FEWER: Condvar = Condvar::new();

#[derive(Debug)]
pub(super) struct Changes {
    /// How many forks lie between this process and the first one.
    pub generation: u64,
    /// The one thread that came through the latest of them.
    pub survivor: Option<ThreadId>,
    /// Models that are being changed.
    pub being_made: usize,
}

impl Changes {
    /// A model is whole again.
    pub fn made(&mut self) {
        self.being_made = self.being_made.saturating_sub(1);
        if waiting() {
            FEWER.notify_all();
        }
    }
}

/// Whether a fork waits.
pub(super) fn waiting() -> bool {
    WAITING.load(Ordering::Relaxed) > 0
}

pub(super) fn changes() -> MutexGuard<'static, Changes> {
    CHANGES.lock().unwrap_or_else(PoisonError::into_inner)
}

thread_local! {
    static HELD: RefCell<Option<MutexGuard<'static, Changes>>> = const { RefCell::new(None) };
}

/// To be called before a fork, and before [`before_fork`]: waits up to a second until no model is being changed, and
/// lets nobody begin to change one.
pub fn prepare_fork() {
    let begun = Instant::now();
    let mut changes = changes();
    WAITING.fetch_add(1, Ordering::Relaxed);
    while changes.being_made > 0 {
        let Some(left) = PATIENCE.checked_sub(begun.elapsed()) else { break };
        changes = FEWER.wait_timeout(changes, left).unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// To be called right before the process is forked, by the thread that forks: stops everybody who would enter or
/// leave a queue.
pub fn before_fork() {
    let changes = changes();
    if waiting() {
        WAITING.fetch_sub(1, Ordering::Relaxed);
    }
    HELD.set(Some(changes));
}

/// To be called right after, by the same thread, in the old process and in the new one (`child`).
pub fn after_fork(child: bool) {
    let Some(mut changes) = HELD.take() else { return };
    if child {
        changes.generation += 1;
        changes.survivor = Some(thread::current().id());
        changes.being_made = 0;
        WAITING.store(0, Ordering::Relaxed);
    }
}
