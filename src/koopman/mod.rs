//! The Koopman operator of a dynamical system, learned from a stream of pairs of states.
//!
//! The operator maps a function `f` of states to the function `x -> E[f(x+) | x]`, where `x+` is
//! the next state after `x`. It is linear for any dynamics, and its eigenfunctions are the
//! quantities that decay, oscillate or persist. In nested coordinates it is a matrix, learned by
//! the linear learners of this crate: their targets are coordinates too.
//!
//! "Hou et al." is Hou, Sanjari, Dahlin, Koppel and Bose, "Nonparametric sparse online learning of the
//! Koopman operator", 2024.

mod admission;
mod blocks;
mod dictionaries;
mod eigenfunctions;
mod file;
mod forecast;
mod inputs;
mod learned;
mod merge;
mod model;
mod operator;
mod products;
mod reduced;
mod replay;
mod residual;
mod singular;
mod spec;
mod spectrum;
mod sums;
mod trajectory;
mod weights;

pub use admission::HilbertSchmidt;
pub(crate) use file::KIND;
pub use forecast::Truncation;
pub(crate) use forecast::finite;
pub(crate) use inputs::Transitions;
pub use learned::{Influences, Moments};
pub use model::Koopman;
pub use residual::Residual;
pub use spec::{AdmissionSpec, ControlSpec, DictionariesSpec, KoopmanSpec, RankSpec, ReplaySpec};
pub use spectrum::Spectrum;
