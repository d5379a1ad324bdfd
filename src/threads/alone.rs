//! Single-threaded fallback for devices and browsers.

use std::time::Duration;

use crate::error::Result;
use crate::interrupt::check;

/// See [`super::ask_each_block`].
pub fn ask_each_block<B>(mut blocks: impl Iterator<Item = B>, act: impl Fn(B)) -> Result<()> {
    blocks.try_for_each(|block| check().map(|()| act(block)))
}

/// See [`super::for_each_block`].
pub fn for_each_block<B>(blocks: impl Iterator<Item = B>, act: impl Fn(B)) {
    blocks.for_each(act);
}

/// See [`super::for_each_part`].
pub fn for_each_part<P>(parts: impl Iterator<Item = P>, act: impl Fn(P)) {
    parts.for_each(act);
}

/// See [`super::idle`].
pub fn idle() -> usize {
    1
}

/// See the one with threads: the work is done when its result is taken.
pub(crate) struct Background<T> {
    work: Box<dyn Fn() -> Result<T> + Send + Sync>,
}

impl<T> Background<T> {
    /// Remembers this work.
    pub fn new(work: impl Fn() -> Result<T> + Send + Sync + 'static) -> Self {
        Self { work: Box::new(work) }
    }

    /// There is nothing to wait for.
    #[expect(clippy::unused_self, reason = "as with threads")]
    pub fn wait(&self, _most: Duration) {}

    /// The result.
    pub fn take(&self) -> Result<T> {
        (self.work)()
    }
}

impl<T> std::fmt::Debug for Background<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Background").finish_non_exhaustive()
    }
}
