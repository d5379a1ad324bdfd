//! Learn from a stream with kernels: one pass, constant memory, second order.

pub mod basis;
pub mod error;
pub mod kernel;
pub mod learner;
pub mod linalg;
pub mod persist;
pub mod stream;

pub use error::{Error, Result};
