//! Who is inside, and who waits, in the order of arrival.

use std::collections::VecDeque;
use std::mem::ManuallyDrop;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use super::fork::{self, Changes, changes};
use super::sync::atomic::{AtomicUsize, Ordering};
use super::sync::thread::ThreadId;
use super::sync::{Condvar, Mutex, MutexGuard, this_thread};
use crate::error::{Error, Result};

/// How often one who waits is asked whether to wait on.
const SLICE: Duration = Duration::from_millis(50);

/// How to be inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// With others who are inside that way.
    Shared,
    /// With nobody else.
    Alone,
}

/// A place with a queue before it.
#[derive(Debug, Default)]
pub struct Queue {
    /// Only used while [`Changes`] are held, so never waited for.
    state: Mutex<State>,
    moved: Condvar,
    /// How many wait.
    length: AtomicUsize,
}

#[derive(Debug, Default)]
struct State {
    generation: u64,
    /// Tickets handed out.
    issued: u64,
    inside: Vec<Ticket>,
    waiting: VecDeque<Ticket>,
}

#[derive(Clone, Copy, Debug)]
struct Ticket {
    number: u64,
    thread: ThreadId,
    access: Access,
}

/// To be inside, until this is dropped.
#[derive(Debug)]
#[must_use]
pub struct Place<'a>(pub(super) &'a Queue, u64);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.leave(self.1);
    }
}

impl Place<'_> {
    /// Stays inside, until the place of this number is [left](Queue::leave).
    #[must_use]
    pub fn keep(self) -> u64 {
        ManuallyDrop::new(self).1
    }
}

impl Queue {
    /// Waits for a place, and asks `go_on` now and then whether to wait on. A thread that is inside cannot
    /// wait until it is not: that is an error, unless it reads and wants to read.
    pub fn wait(&self, access: Access, go_on: impl FnMut() -> bool) -> Result<Place<'_>> {
        self.enter(access, go_on, |_| ()).map(|(place, ())| place)
    }

    /// A place if there is one at once.
    pub fn try_wait(&self, access: Access) -> Result<Option<Place<'_>>> {
        Ok(self.try_enter(access, |_| ())?.map(|(place, ())| place))
    }

    /// Gives up a place that was [kept](Place::keep).
    pub fn leave(&self, number: u64) {
        let changes = changes();
        let mut state = self.state(&changes);
        state.forget(number);
        self.admit(&mut state);
    }

    /// Waits for a place, and does `then` before anybody else can enter or leave.
    pub(super) fn enter<T>(
        &self,
        access: Access,
        mut go_on: impl FnMut() -> bool,
        then: impl FnOnce(&mut Changes) -> T,
    ) -> Result<(Place<'_>, T)> {
        // The clock is looked at by those who wait.
        let (mut changes, mut asked) = (changes(), None);
        let number = self.stand_in_line(access, &changes)?;
        loop {
            // A waiting fork may have kept somebody out who now can go.
            let mut state = self.state(&changes);
            self.admit(&mut state);
            if state.is_inside(number) {
                drop(state);
                return Ok((Place(self, number), then(&mut changes)));
            }
            drop(state);
            let begun = *asked.get_or_insert_with(Instant::now);
            changes = self.moved.wait_timeout(changes, SLICE).unwrap_or_else(PoisonError::into_inner).0;
            if begun.elapsed() >= SLICE {
                drop(changes);
                if !go_on() {
                    self.leave(number);
                    return Err(Error::Interrupted);
                }
                (changes, asked) = (fork::changes(), None);
            }
        }
    }

    /// A place if there is one at once, and `then` before anybody else can enter or leave.
    pub(super) fn try_enter<T>(
        &self,
        access: Access,
        then: impl FnOnce(&mut Changes) -> T,
    ) -> Result<Option<(Place<'_>, T)>> {
        let mut changes = changes();
        let number = self.stand_in_line(access, &changes)?;
        let mut state = self.state(&changes);
        self.admit(&mut state);
        if state.is_inside(number) {
            drop(state);
            return Ok(Some((Place(self, number), then(&mut changes))));
        }
        state.forget(number);
        self.admit(&mut state);
        Ok(None)
    }

    /// Whether anybody waits, or a fork.
    pub(super) fn is_awaited(&self) -> bool {
        self.length.load(Ordering::Relaxed) > 0 || fork::waiting()
    }

    fn state(&self, changes: &Changes) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.generation != changes.generation {
            // Of the threads of another process one is in this one.
            state.generation = changes.generation;
            state.inside.retain(|ticket| Some(ticket.thread) == changes.survivor);
            state.waiting.retain(|ticket| Some(ticket.thread) == changes.survivor);
        }
        state
    }

    fn stand_in_line(&self, access: Access, changes: &Changes) -> Result<u64> {
        let thread = this_thread();
        let mut state = self.state(changes);
        state.issued += 1;
        let ticket = Ticket { number: state.issued, thread, access };
        match state.inside.iter().find(|other| other.thread == thread) {
            None => state.waiting.push_back(ticket),
            // Others who wait must not keep a reader from what it is reading.
            Some(own) if (own.access, access) == (Access::Shared, Access::Shared) => {
                state.inside.push(ticket);
            }
            Some(_) => return Err(Error::Nested),
        }
        Ok(ticket.number)
    }

    /// Lets in who is next, and all readers that follow a reader.
    fn admit(&self, state: &mut State) {
        let mut woken = false;
        while let Some(next) = state.waiting.front().copied() {
            let fits = match next.access {
                Access::Alone => state.inside.is_empty() && !fork::waiting(),
                Access::Shared => state.inside.iter().all(|ticket| ticket.access == Access::Shared),
            };
            if !fits {
                break;
            }
            state.waiting.pop_front();
            state.inside.push(next);
            woken |= next.thread != this_thread();
        }
        self.length.store(state.waiting.len(), Ordering::Relaxed);
        if woken {
            self.moved.notify_all();
        }
    }
}

impl State {
    fn is_inside(&self, number: u64) -> bool {
        self.inside.iter().any(|ticket| ticket.number == number)
    }

    fn forget(&mut self, number: u64) {
        self.inside.retain(|ticket| ticket.number != number);
        self.waiting.retain(|ticket| ticket.number != number);
    }
}
