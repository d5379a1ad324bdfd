//! A model shared by threads: the fair readers-writer lock of `parking_lot`.
//!
//! Threads that wait park in slices of 50 ms, between which a callback decides whether to wait on. A learning call
//! releases the lock between blocks of rows ([`Writing::hand_over`]), so that a reader waits for at most one block.
//! Whole learning calls take turns by a [`Turn`].
//!
//! A thread that holds the lock and asks for it again gets [`Error::Nested`] instead of a deadlock; a reader may read
//! again. A forked process has the locks of its parent but not the threads that held them: see [`prepare_fork`].

mod fork;
mod turn;

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

pub use fork::{after_fork, before_fork, prepare_fork};
pub use turn::{Taken, Turn};

use crate::error::{Error, Result};

/// Interval between two calls of `should_continue` while a thread waits.
const SLICE: Duration = Duration::from_millis(50);

/// Interval between two looks at a fork in progress.
const POLL: Duration = Duration::from_millis(1);

/// A model that many threads read or one thread changes.
///
/// ```
/// use kernelstream::lock::Lock;
///
/// # fn main() -> kernelstream::Result<()> {
/// let model = Lock::new(vec![1, 2]);
/// std::thread::scope(|scope| {
///     scope.spawn(|| model.write(|| true).map(|mut model| model.push(3)));
/// });
/// assert_eq!(*model.read(|| true)?, [1, 2, 3]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Lock<M> {
    inner: Arc<Inner<M>>,
}

#[derive(Debug)]
struct Inner<M> {
    model: Arc<RwLock<M>>,
    /// Number of the thread that writes, 0 without one.
    writer: AtomicU64,
    waiting: AtomicUsize,
    /// Whether a thread that did not survive a fork holds the lock.
    orphaned: AtomicBool,
}

impl<M: Send + Sync + 'static> Lock<M> {
    /// A free lock around this model.
    pub fn new(model: M) -> Self {
        let inner = Arc::new(Inner {
            model: Arc::new(RwLock::new(model)),
            writer: AtomicU64::new(0),
            waiting: AtomicUsize::new(0),
            orphaned: AtomicBool::new(false),
        });
        fork::register(&inner);
        Self { inner }
    }

    /// Waits until no thread writes. About every 50 ms `should_continue` is called; the wait ends with
    /// [`Error::Interrupted`] once it returns false.
    pub fn read(&self, should_continue: impl FnMut() -> bool) -> Result<Reading<'_, M>> {
        if let Some(reading) = self.try_read() {
            return Ok(reading);
        }
        let inner = &*self.inner;
        inner.check_not_writing()?;
        // A reader that waited behind a writer which waits for this same thread would never be served.
        let again = inner.is_read_here();
        let guard = wait(Some(&inner.waiting), should_continue, || {
            let guard = if again {
                inner.model.try_read_recursive_for(SLICE)
            } else {
                inner.model.try_read_for(SLICE)
            };
            inner.or_orphaned(guard)
        })?;
        Ok(Reading::new(guard, inner))
    }

    /// The model to be read, if no thread writes or waits to write, and none is about to fork.
    #[must_use]
    pub fn try_read(&self) -> Option<Reading<'_, M>> {
        if fork::in_progress() {
            return None;
        }
        Some(Reading::new(self.inner.model.try_read()?, &self.inner))
    }

    /// Waits until no other thread uses the model. About every 50 ms `should_continue` is called; the wait ends with
    /// [`Error::Interrupted`] once it returns false.
    pub fn write(&self, should_continue: impl FnMut() -> bool) -> Result<Writing<'_, M>> {
        if let Some(writing) = self.try_write() {
            return Ok(writing);
        }
        let inner = &*self.inner;
        inner.check_not_writing()?;
        if inner.is_read_here() {
            return Err(Error::Nested);
        }
        let guard = wait(Some(&inner.waiting), should_continue, || {
            let guard = inner.model.try_write_for(SLICE);
            inner.or_orphaned(guard)
        })?;
        Ok(Writing::new(guard, inner))
    }

    /// The model to be changed, if no thread uses it and none is about to fork.
    #[must_use]
    pub fn try_write(&self) -> Option<Writing<'_, M>> {
        if fork::in_progress() {
            return None;
        }
        Some(Writing::new(self.inner.model.try_write()?, &self.inner))
    }

    /// Whether a thread or a fork waits for the model, so that a long change should release it.
    #[must_use]
    pub fn is_awaited(&self) -> bool {
        self.inner.waiting.load(Ordering::Relaxed) > 0 || fork::in_progress()
    }
}

impl<M> Inner<M> {
    fn check_not_writing(&self) -> Result<()> {
        if self.writer.load(Ordering::Relaxed) == this_thread() { Err(Error::Nested) } else { Ok(()) }
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    fn is_read_here(&self) -> bool {
        READING.with_borrow(|reading| reading.contains(&self.address()))
    }

    fn or_orphaned<G>(&self, guard: Option<G>) -> Result<Option<G>> {
        if guard.is_none() && self.orphaned.load(Ordering::Relaxed) { Err(Error::Forked) } else { Ok(guard) }
    }
}

thread_local! {
    /// Addresses of the locks that this thread reads.
    static READING: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Number of this thread, from 1, used by no other thread of the process or its parents.
fn this_thread() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    thread_local! {
        static NUMBER: u64 = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    }
    NUMBER.with(|number| *number)
}

/// Calls `attempt`, which may take a slice of time, until it gives something.
fn wait<G>(
    waiting: Option<&AtomicUsize>,
    mut should_continue: impl FnMut() -> bool,
    mut attempt: impl FnMut() -> Result<Option<G>>,
) -> Result<G> {
    let mut asked = Instant::now();
    loop {
        {
            let _counted = (waiting.map(Counted::new), Counted::new(fork::parked()));
            if !fork::in_progress()
                && let Some(guard) = attempt()?
            {
                return Ok(guard);
            }
        }
        if fork::in_progress() {
            thread::sleep(POLL);
        }
        if asked.elapsed() >= SLICE {
            if !should_continue() {
                return Err(Error::Interrupted);
            }
            asked = Instant::now();
        }
    }
}

/// One more in a counter, until this is dropped.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn new(counter: &'a AtomicUsize) -> Self {
        counter.fetch_add(1, Ordering::SeqCst);
        Self(counter)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A model that other threads may read too. It should be dropped by the thread that made it, which otherwise counts as a
/// reader forever and gets [`Error::Nested`] where it would wait to write.
#[derive(Debug)]
pub struct Reading<'a, M> {
    // Dropped in this order: the mark goes while the lock is still held.
    _mark: ReadMark,
    guard: RwLockReadGuard<'a, M>,
}

impl<'a, M> Reading<'a, M> {
    fn new(guard: RwLockReadGuard<'a, M>, inner: &Inner<M>) -> Self {
        let address = inner.address();
        READING.with_borrow_mut(|reading| reading.push(address));
        Self { _mark: ReadMark(address), guard }
    }
}

impl<M> Deref for Reading<'_, M> {
    type Target = M;

    fn deref(&self) -> &M {
        &self.guard
    }
}

#[derive(Debug)]
struct ReadMark(usize);

impl Drop for ReadMark {
    fn drop(&mut self) {
        READING.with_borrow_mut(|reading| {
            if let Some(i) = reading.iter().rposition(|address| *address == self.0) {
                reading.swap_remove(i);
            }
        });
    }
}

/// A model that no other thread sees until this is dropped.
#[derive(Debug)]
pub struct Writing<'a, M> {
    // Dropped in this order: the mark goes while the lock is still held.
    mark: WriteMark<'a>,
    guard: RwLockWriteGuard<'a, M>,
}

impl<'a, M> Writing<'a, M> {
    fn new(guard: RwLockWriteGuard<'a, M>, inner: &'a Inner<M>) -> Self {
        inner.writer.store(this_thread(), Ordering::Relaxed);
        Self { mark: WriteMark(&inner.writer), guard }
    }

    /// Releases the lock to the threads that wait, in the order of their arrival.
    pub fn hand_over(self) {
        drop(self.mark);
        RwLockWriteGuard::unlock_fair(self.guard);
    }
}

impl<M> Deref for Writing<'_, M> {
    type Target = M;

    fn deref(&self) -> &M {
        &self.guard
    }
}

impl<M> DerefMut for Writing<'_, M> {
    fn deref_mut(&mut self) -> &mut M {
        &mut self.guard
    }
}

#[derive(Debug)]
struct WriteMark<'a>(&'a AtomicU64);

impl Drop for WriteMark<'_> {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
