//! Threads for predictions of many rows, experts that learn side by side, parts to be merged, and
//! large matrix products.
//!
//! Results are bit-identical for any number of threads: rows are divided into blocks of a fixed
//! size, and products so that each number remains the same sum. Without the feature `threads`,
//! the calling thread does everything.

#[cfg(not(feature = "threads"))]
mod alone;
#[cfg(feature = "threads")]
mod background;
#[cfg(feature = "threads")]
mod pool;

#[cfg(not(feature = "threads"))]
use alone as workers;
#[cfg(feature = "threads")]
use pool as workers;

#[cfg(feature = "threads")]
pub use pool::{VARIABLE, num_threads, set_num_threads};

#[cfg(not(feature = "threads"))]
pub(crate) use alone::Background;
#[cfg(feature = "threads")]
pub(crate) use background::Background;

use crate::error::Result;

#[cfg(feature = "threads")]
thread_local! {
    static ALONE: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Does `work`, with no other threads.
#[cfg(feature = "threads")]
pub(crate) fn alone<T>(work: impl FnOnce() -> T) -> T {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            ALONE.set(self.0);
        }
    }
    let _before = Before(ALONE.replace(true));
    work()
}

/// Whether this is part of such work.
#[cfg(feature = "threads")]
fn is_alone() -> bool {
    ALONE.get()
}

/// [`for_each_block`] that can be [interrupted](crate::interrupt) between blocks.
pub(crate) fn ask_each_block<B: Send>(
    blocks: impl ExactSizeIterator<Item = B>,
    act: impl Fn(B) + Sync + Send,
) -> Result<()> {
    workers::ask_each_block(blocks, act)
}

/// Calls `act` with each of `blocks`, on several threads if there are several of both.
pub(crate) fn for_each_block<B: Send>(
    blocks: impl ExactSizeIterator<Item = B>,
    act: impl Fn(B) + Sync + Send,
) {
    workers::for_each_block(blocks, act);
}

/// [`for_each_block`] for fallible work: the first error, after all blocks.
pub(crate) fn try_for_each_block<B: Send>(
    blocks: impl ExactSizeIterator<Item = B>,
    act: impl Fn(B) -> Result<()> + Sync + Send,
) -> Result<()> {
    let mut results: Vec<Result<()>> = (0..blocks.len()).map(|_| Ok(())).collect();
    for_each_block(blocks.zip(&mut results), |(block, result)| *result = act(block));
    results.into_iter().collect()
}

/// Calls `act` with each of `parts`, with the first on the calling thread.
pub(crate) fn for_each_part<P: Send>(parts: impl ExactSizeIterator<Item = P>, act: impl Fn(P) + Sync) {
    workers::for_each_part(parts, act);
}

/// Number of threads for [`for_each_part`]: 1 within work that is divided already, and while the threads work for
/// another call, which this one would wait for.
pub(crate) fn idle() -> usize {
    workers::idle()
}

/// Maps `items` by `act`, on several threads if there are several of both.
pub(crate) fn map_each<I: Sync, R: Send>(items: &[I], act: impl Fn(&I) -> R + Sync + Send) -> Vec<R> {
    let mut results: Vec<Option<R>> = items.iter().map(|_| None).collect();
    for_each_block(items.iter().zip(&mut results), |(item, result)| *result = Some(act(item)));
    results.into_iter().flatten().collect()
}
