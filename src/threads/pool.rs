//! A thread pool that is created on first use.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::Result;
use crate::interrupt::check;

/// Environment variable for the number of threads, unless the program sets it.
pub const VARIABLE: &str = "KERNELSTREAM_NUM_THREADS";

/// Approximate number of polls of a query with many blocks, so that waiting for the slowest thread
/// costs little.
const BREATH: Duration = Duration::from_millis(20);

/// The threads, once there are any. A forked process has the pool's memory, not its threads, so the
/// owner is stored.
#[derive(Clone)]
struct Pool {
    process: u32,
    threads: NonZeroUsize,
    /// `None` for one thread, the caller's own.
    workers: Option<Arc<ThreadPool>>,
}

impl Pool {
    fn new(threads: NonZeroUsize) -> Self {
        let several = threads.get() > 1;
        // If no thread can be created, the caller's own does the work.
        let workers =
            several.then(|| ThreadPoolBuilder::new().num_threads(threads.get()).build().ok()).flatten();
        Self { process: std::process::id(), threads, workers: workers.map(Arc::new) }
    }
}

static POOL: RwLock<Option<Pool>> = RwLock::new(None);

/// Sets how many threads predictions and forecasts for many rows, [`experts`](crate::experts), and models of about 500
/// points or more may use from now on, 1 or more. `None` is as many as the environment says ([`VARIABLE`]), or else as
/// many as the process may run at once.
pub fn set_num_threads(threads: Option<NonZeroUsize>) {
    let new = Pool::new(threads.unwrap_or_else(default_threads));
    let old = POOL.write().unwrap_or_else(PoisonError::into_inner).replace(new);
    forget_if_foreign(old);
}

/// How many threads may be used.
#[must_use]
pub fn num_threads() -> NonZeroUsize {
    let known = POOL.read().unwrap_or_else(PoisonError::into_inner).as_ref().map(|pool| pool.threads);
    known.unwrap_or_else(default_threads)
}

/// Queried once: on Linux it reads files, which takes longer than predicting a row.
fn default_threads() -> NonZeroUsize {
    static DEFAULT: OnceLock<NonZeroUsize> = OnceLock::new();
    *DEFAULT.get_or_init(|| {
        let wanted = std::env::var(VARIABLE).ok().and_then(|value| value.trim().parse().ok());
        wanted.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
    })
}

/// The pool of this process; `None` for one thread.
fn pool() -> Option<Arc<ThreadPool>> {
    let process = std::process::id();
    let known = POOL.read().unwrap_or_else(PoisonError::into_inner).clone();
    if let Some(known) = &known
        && known.process == process
    {
        return known.workers.clone();
    }
    let new = Pool::new(known.as_ref().map_or_else(default_threads, |known| known.threads));
    forget_if_foreign(known);
    let old = POOL.write().unwrap_or_else(PoisonError::into_inner).replace(new.clone());
    forget_if_foreign(old);
    new.workers
}

/// Waiting for the threads of another process would take forever.
fn forget_if_foreign(pool: Option<Pool>) {
    if let Some(pool) = pool
        && pool.process != std::process::id()
    {
        std::mem::forget(pool);
    }
}

/// See [`super::ask_each_block`].
pub fn ask_each_block<B: Send>(
    mut blocks: impl ExactSizeIterator<Item = B>,
    act: impl Fn(B) + Sync + Send,
) -> Result<()> {
    let mut at_once = num_threads().get();
    loop {
        check()?;
        let begun = Instant::now();
        let some: Vec<B> = blocks.by_ref().take(at_once).collect();
        for_each_block(some.into_iter(), &act);
        if blocks.len() == 0 {
            return Ok(());
        }
        if begun.elapsed() < BREATH {
            at_once *= 2;
        }
    }
}

/// See [`super::for_each_block`].
pub fn for_each_block<B: Send>(blocks: impl ExactSizeIterator<Item = B>, act: impl Fn(B) + Sync + Send) {
    let pool = if blocks.len() > 1 && !super::is_alone() { pool() } else { None };
    match pool {
        Some(pool) => {
            let blocks: Vec<B> = blocks.collect();
            let _call = Call::begin();
            pool.install(|| blocks.into_par_iter().for_each(act));
        }
        None => blocks.for_each(act),
    }
}

/// Calls that the pool works for.
static CALLS: AtomicUsize = AtomicUsize::new(0);

/// One of them.
struct Call;

impl Call {
    fn begin() -> Self {
        CALLS.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        CALLS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// See [`super::for_each_part`].
pub fn for_each_part<P: Send>(parts: impl ExactSizeIterator<Item = P>, act: impl Fn(P) + Sync) {
    let pool = if parts.len() > 1 { pool() } else { None };
    let Some(pool) = pool else { return parts.for_each(act) };
    let act = &act;
    let _call = Call::begin();
    pool.in_place_scope(|scope| {
        let mut parts = parts;
        let own = parts.next();
        parts.for_each(|part| scope.spawn(move |_| act(part)));
        own.map(act);
    });
}

/// See [`super::idle`].
pub fn idle() -> usize {
    let is_part = super::is_alone() || rayon::current_thread_index().is_some();
    if is_part || CALLS.load(Ordering::Relaxed) > 0 { 1 } else { num_threads().get() }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn the_number_of_threads_is_honoured() {
        let own = std::thread::current().id();
        let used = |threads: usize| {
            set_num_threads(NonZeroUsize::new(threads));
            assert_eq!(num_threads().get(), threads);
            let seen = Mutex::new(HashSet::new());
            let mut done = vec![0; 64];
            for_each_block(done.iter_mut(), |value| {
                std::thread::sleep(std::time::Duration::from_millis(1));
                seen.lock().unwrap().insert(std::thread::current().id());
                *value += 1;
            });
            assert!(done.iter().all(|value| *value == 1), "each block is done once");
            seen.into_inner().unwrap()
        };
        assert_eq!(used(1), HashSet::from([own]), "one is the caller's own");
        let several = used(3);
        assert!(several.len() <= 3 && !several.contains(&own));
        set_num_threads(None);
    }
}
