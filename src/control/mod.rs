//! Control by a learned model: value iteration on the conditional mean embedding.
//!
//! The [operator](crate::koopman) of a system with inputs gives the expectation of any function of the
//! next state from its values at the stored next states. The value function is needed there only:
//! value iteration is a few small matrix products a sweep, and the resulting policy applies to any state.
//!
//! The method is section 6.2 of Hou et al. (see [`koopman`](crate::koopman)).

mod controller;
mod file;
mod iteration;
mod policy;
mod spec;

pub use controller::{Controller, Improved};
pub use iteration::Improvement;
pub use policy::Policy;
pub use spec::ControllerSpec;
