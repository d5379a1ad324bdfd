//! Locks in a forked process, which has the memory of its parent and one of its threads.

use std::any::Any;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use super::{Inner, POLL, this_thread};

/// Longest time that a fork waits for threads that use a model. Learning calls release theirs ten times a second.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Had by the thread that forks.
static FORKS: Mutex<()> = Mutex::new(());

/// Every lock of the process. A mutex of the standard library has no queue, which a fork could leave behind.
static LOCKS: Mutex<Vec<Weak<dyn AtFork>>> = Mutex::new(Vec::new());

/// Whether a thread is about to fork: no thread may begin to wait.
static IN_PROGRESS: AtomicBool = AtomicBool::new(false);

/// Threads that wait for a lock or turn. `parking_lot` must have none in its queues when the process forks.
static PARKED: AtomicUsize = AtomicUsize::new(0);

/// Forks between the first process and this one.
static GENERATION: AtomicU64 = AtomicU64::new(0);

pub(super) fn in_progress() -> bool {
    IN_PROGRESS.load(Ordering::SeqCst)
}

pub(super) fn parked() -> &'static AtomicUsize {
    &PARKED
}

pub(super) fn generation() -> u64 {
    GENERATION.load(Ordering::Relaxed)
}

fn locks() -> MutexGuard<'static, Vec<Weak<dyn AtFork>>> {
    LOCKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds a lock to those that a fork takes.
pub(super) fn register<M: Send + Sync + 'static>(lock: &Arc<Inner<M>>) {
    let mut locks = locks();
    if locks.len() == locks.capacity() {
        locks.retain(|lock| lock.strong_count() > 0);
        // As much again before the next look, so that a lock costs constant time.
        let living = locks.len();
        locks.reserve(living.max(16));
    }
    let lock: Weak<dyn AtFork> = Arc::downgrade(lock) as _;
    locks.push(lock);
}

type Guard = Box<dyn Any>;

trait AtFork: Send + Sync {
    /// Takes the lock, if it is free.
    fn hold(&self) -> Option<Guard>;

    /// Whether the forking thread itself uses the model, as in a callback of a call that learns.
    fn is_held_here(&self) -> bool;

    /// In the new process: whether a thread that is not there holds the lock.
    fn mark_orphaned(&self);
}

impl<M: Send + Sync + 'static> AtFork for Inner<M> {
    fn hold(&self) -> Option<Guard> {
        Some(Box::new(self.model.try_write_arc()?))
    }

    fn is_held_here(&self) -> bool {
        self.writer.load(Ordering::Relaxed) == this_thread() || self.is_read_here()
    }

    fn mark_orphaned(&self) {
        self.waiting.store(0, Ordering::Relaxed);
        self.orphaned.store(self.model.try_write().is_none(), Ordering::Relaxed);
    }
}

struct Held {
    guards: Vec<(Arc<dyn AtFork>, Option<Guard>)>,
    /// Nothing else may be in the middle of a change of the list.
    locks: Option<MutexGuard<'static, Vec<Weak<dyn AtFork>>>>,
    _alone: MutexGuard<'static, ()>,
}

thread_local! {
    static HELD: RefCell<Option<Held>> = const { RefCell::new(None) };
}

/// To be called by the thread that forks, before [`before_fork`]: takes every lock, and waits up to a second for those
/// that other threads use, so that the new process has whole models. A model in use for longer gives
/// [`Error::Forked`](crate::Error::Forked) in the new process.
pub fn prepare_fork() {
    let alone = FORKS.lock().unwrap_or_else(PoisonError::into_inner);
    IN_PROGRESS.store(true, Ordering::SeqCst);
    let mut guards: Vec<_> = locks()
        .iter()
        .filter_map(Weak::upgrade)
        .filter(|lock| !lock.is_held_here())
        .map(|lock| (lock, None))
        .collect();
    let begun = Instant::now();
    loop {
        let mut ready = PARKED.load(Ordering::SeqCst) == 0;
        for (lock, guard) in guards.iter_mut().filter(|(_, guard)| guard.is_none()) {
            *guard = lock.hold();
            ready &= guard.is_some();
        }
        if ready || begun.elapsed() > LONGEST_WAIT {
            break;
        }
        thread::sleep(POLL);
    }
    HELD.set(Some(Held { guards, locks: None, _alone: alone }));
}

/// To be called right before the process forks, by the same thread.
pub fn before_fork() {
    HELD.with_borrow_mut(|held| {
        if let Some(held) = held {
            held.locks = Some(locks());
        }
    });
}

/// To be called by the same thread right after, in the old process and in the new one (`child`).
pub fn after_fork(child: bool) {
    let Some(held) = HELD.take() else { return };
    if child {
        GENERATION.fetch_add(1, Ordering::Relaxed);
        PARKED.store(0, Ordering::SeqCst);
        let is_held = |lock: &Arc<dyn AtFork>| {
            held.guards.iter().any(|(held, guard)| guard.is_some() && Arc::ptr_eq(held, lock))
        };
        let all = held.locks.iter().flat_map(|locks| locks.iter());
        for lock in all.filter_map(Weak::upgrade).filter(|lock| !lock.is_held_here() && !is_held(lock)) {
            lock.mark_orphaned();
        }
    }
    IN_PROGRESS.store(false, Ordering::SeqCst);
}
