//! A model that several threads use at once.
//!
//! Many may read while nobody learns. Who waits comes in the order of arrival, readers next to each other
//! together: whoever learns lets go of the model now and then, and finds himself behind those who wait, so that a
//! reader waits for a block of rows, never for a call. Learning calls take turns by a [`Queue`] of their own, whole.
//!
//! **Forks.** A process that is forked off has the memory of the other one, not its threads. Nothing that a
//! vanished thread held can hang the new process, if the program calls [`prepare_fork`],
//! [`before_fork`] and [`after_fork`]: readers that vanished are forgotten, and a model that was being changed is
//! [lost](crate::Error::Forked) there. Forks wait a little, so that hardly any is.

mod fork;
mod queue;
mod sync;

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, PoisonError};

use fork::Changes;
pub use fork::{after_fork, before_fork, prepare_fork};
pub use queue::{Access, Place, Queue};
use sync::{Mutex, MutexGuard};

use crate::error::{Error, Result};

/// A model to be read by many or changed by one.
///
/// ```
/// use kernelstream::handover::Handover;
///
/// # fn main() -> kernelstream::Result<()> {
/// let model = Handover::new(vec![1, 2]);
/// std::thread::scope(|scope| {
///     scope.spawn(|| model.write(|| true).map(|mut model| model.push(3)));
/// });
/// assert_eq!(*model.read(|| true)?, [1, 2, 3]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Handover<M> {
    queue: Queue,
    /// Empty while one changes it. Readers that vanished in a fork leave a count that is too high, so that the
    /// next change makes a copy.
    model: Mutex<Option<Arc<M>>>,
}

impl<M: Clone> Handover<M> {
    /// Of this model.
    pub fn new(model: M) -> Self {
        Self { queue: Queue::default(), model: Mutex::new(Some(Arc::new(model))) }
    }

    /// The model, to be read, once it is free. While it is not, `go_on` is asked now and then whether to wait on.
    pub fn read(&self, go_on: impl FnMut() -> bool) -> Result<Reading<'_, M>> {
        let (place, model) = self.queue.enter(Access::Shared, go_on, |_| self.slot().clone())?;
        Ok(Reading { model: model.ok_or(Error::Forked)?, _place: place })
    }

    /// The model, to be read, if it is free.
    pub fn try_read(&self) -> Result<Option<Reading<'_, M>>> {
        let entered = self.queue.try_enter(Access::Shared, |_| self.slot().clone())?;
        entered
            .map(|(place, model)| Ok(Reading { model: model.ok_or(Error::Forked)?, _place: place }))
            .transpose()
    }

    /// The model, to be changed, once it is free. While it is not, `go_on` is asked now and then whether to wait on.
    pub fn write(&self, go_on: impl FnMut() -> bool) -> Result<Writing<'_, M>> {
        let (place, model) = self.queue.enter(Access::Alone, go_on, |changes| self.taken(changes))?;
        Ok(Writing { slot: &self.model, model: model.ok_or(Error::Forked)?, _place: place })
    }

    /// The model, to be changed, if it is free.
    pub fn try_write(&self) -> Result<Option<Writing<'_, M>>> {
        let entered = self.queue.try_enter(Access::Alone, |changes| self.taken(changes))?;
        let writing = |(place, model): (_, Option<_>)| {
            Ok(Writing { slot: &self.model, model: model.ok_or(Error::Forked)?, _place: place })
        };
        entered.map(writing).transpose()
    }

    /// Whether anybody waits for the model, so that one who changes it should let go of it.
    #[must_use]
    pub fn is_awaited(&self) -> bool {
        self.queue.is_awaited()
    }

    fn slot(&self) -> MutexGuard<'_, Option<Arc<M>>> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn taken(&self, changes: &mut Changes) -> Option<Arc<M>> {
        let model = self.slot().take();
        changes.being_made += usize::from(model.is_some());
        model
    }
}

/// A model that others may read too.
#[derive(Debug)]
pub struct Reading<'a, M> {
    // Dropped in this order: who enters next finds no trace of this reader.
    model: Arc<M>,
    _place: Place<'a>,
}

impl<M> Deref for Reading<'_, M> {
    type Target = M;

    fn deref(&self) -> &M {
        &self.model
    }
}

/// A model that nobody else sees until this is dropped.
#[derive(Debug)]
pub struct Writing<'a, M: Clone> {
    slot: &'a Mutex<Option<Arc<M>>>,
    // Dropped in this order, as for a reader.
    model: Arc<M>,
    _place: Place<'a>,
}

impl<M: Clone> Deref for Writing<'_, M> {
    type Target = M;

    fn deref(&self) -> &M {
        &self.model
    }
}

impl<M: Clone> DerefMut for Writing<'_, M> {
    fn deref_mut(&mut self) -> &mut M {
        Arc::make_mut(&mut self.model)
    }
}

impl<M: Clone> Drop for Writing<'_, M> {
    fn drop(&mut self) {
        let mut changes = fork::changes();
        *self.slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&self.model));
        changes.made();
    }
}

#[cfg(test)]
mod tests;
