//! Locks and threads of the standard library; in `races/` those of shuttle, which tries the orders of what happens.

#[cfg(shuttle)]
pub use shuttle::sync::{Condvar, Mutex, MutexGuard, atomic};
#[cfg(shuttle)]
pub use shuttle::thread;
#[cfg(not(shuttle))]
pub use std::sync::{Condvar, Mutex, MutexGuard, atomic};
#[cfg(not(shuttle))]
pub use std::thread;
