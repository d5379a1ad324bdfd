//! Locks and threads of the standard library; in `races/` those of shuttle, which tries the orders of what happens.

#[cfg(shuttle)]
pub use shuttle::sync::{Condvar, Mutex, MutexGuard, atomic};
#[cfg(shuttle)]
pub use shuttle::{thread, thread_local};
#[cfg(not(shuttle))]
pub use std::sync::{Condvar, Mutex, MutexGuard, atomic};
#[cfg(not(shuttle))]
pub use std::{thread, thread_local};

/// The thread that asks, known once: [`thread::current`] counts a reference each time.
pub fn this_thread() -> thread::ThreadId {
    thread_local! {
        static ID: thread::ThreadId = thread::current().id();
    }
    ID.with(|id| *id)
}
