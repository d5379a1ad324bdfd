//! Learn from a stream with kernels: one pass, constant memory, second order.
//!
//! Keep a small dictionary of points and the Cholesky factor `L` of its Gram matrix. Then
//! `z(x) = L^{-1} k(x)` are coordinates that only ever get appended to, and every method is a linear
//! learner on growing coordinates:
//!
//! ```text
//! point --kernel--> similarities --basis--> coordinates --learner--> prediction
//!                                     | grows               | appends a zero
//! target -----------------------------------------------------> update
//! ```
//!
//! The modules, each of which stands on those above it:
//!
//! - [`error`], [`interrupt`] (long calls broken off), [`memory`] (the most that a specification may ask for),
//!   [`persist`] (the model file), [`threads`] (how many work), [`lock`] (a model shared by threads);
//! - [`linalg`]: what grows underneath;
//! - [`kernel`]: similarity of points;
//! - [`basis`]: which points become coordinates;
//! - [`learner`]: linear learners in coordinates, and losses; knows no basis;
//! - [`model`]: what all models have in common, and how those learned in several places become one
//!   ([`Merge`]);
//! - [`budget`]: sums over stored points that can leave again;
//! - [`stream`]: basis and learner together, and the literature's algorithms by name
//!   ([`stream::presets`]);
//! - [`uncertainty`]: deviations, intervals and diagnostics;
//! - [`experts`]: models of different settings side by side, and one prediction made of theirs;
//! - [`table`]: columns and labels: what else it takes to learn raw rows;
//! - [`targets`]: several targets of which rows may lack some;
//! - [`any`]: the models there are, chosen when the program runs, and their files;
//! - [`explain`]: what each column contributes to a prediction;
//! - [`koopman`]: the operator of a dynamical system, whose targets are coordinates too;
//! - [`dynamics`]: forecasts of trajectories, mixed of operators, trends and seasons;
//! - [`control`]: actions chosen by value iteration on what the operator learned.
//!
//! A model that is put together when the program runs, from the specification that Python and the
//! command line write too:
//!
//! ```
//! use kernelstream::AnyModel;
//!
//! # fn main() -> kernelstream::Result<()> {
//! let mut model = AnyModel::from_json(
//!     r#"{"kernel": {"type": "gaussian", "bandwidth": 0.5},
//!         "basis": {"type": "ald", "tolerance": 1e-3, "max_size": 100},
//!         "learner": {"type": "ridge", "regularization": 1e-2, "forgetting": 0.999}}"#,
//! )?;
//! for t in 0..1000 {
//!     let x = [f64::from(t % 100) / 50.0 - 1.0];
//!     model.learn_one(&x, &[x[0].abs()])?;
//! }
//! assert!((model.predict_one(&[0.5])?[0] - 0.5).abs() < 0.02);
//! # Ok(())
//! # }
//! ```
//!
//! One that is put together when the program is compiled, of an own basis or learner perhaps, is a
//! [`Stream`](stream::Stream).
//!
//! The guide is `docs/rust.md`: tables, files shared with Python, many readers, a service.
//!
//! Arrays are [`ndarray`]'s, and matrices inside are [`faer`]'s. Both are part of the interface, and re-exported:
//! `kernelstream::ndarray` and `kernelstream::faer` are always of the version that this crate takes.
//!
//! Features, both on by default. A device or a browser goes without (`default-features = false`); whatever is
//! learned and predicted is the same to the bit.
//!
//! - `threads`: predictions for many rows, experts, and models of many points on several threads ([`threads`]), and models shared by
//!   them ([`lock`]);
//! - `files`: models saved to files and loaded from them; without it, to and from bytes ([`Persist`]).
//!
//! Sources, cited by authors and year:
//!
//! - Li and Liao, "Nearly optimal algorithms with sublinear computational complexity for online
//!   kernel regression", 2023;
//! - Hou, Sanjari, Dahlin, Koppel and Bose, "Nonparametric sparse online learning of the Koopman
//!   operator", 2024;
//! - Jezequel, Gaillard and Rudi, "Efficient online learning with kernels for adversarial large scale
//!   problems", 2019;
//! - Wen, Zhang, Wei, Hou, Li and Zhang, "Fast second-order online kernel learning through incremental
//!   matrix sketching and decomposition", 2024;
//! - Engel, Mannor and Meir, "The kernel recursive least-squares algorithm", 2004.

#![deny(missing_debug_implementations)]

pub mod any;
pub mod basis;
pub mod budget;
pub mod control;
pub mod dynamics;
pub mod error;
pub mod experts;
pub mod explain;
pub mod interrupt;
pub mod kernel;
pub mod koopman;
pub mod learner;
pub mod linalg;
#[cfg(feature = "threads")]
pub mod lock;
pub mod memory;
pub mod model;
pub mod persist;
pub mod stream;
pub mod table;
pub mod targets;
pub mod threads;
pub mod uncertainty;

mod online;
mod random;
mod scale;
mod trees;
mod validate;

pub use {faer, ndarray};

pub use any::AnyModel;
pub use error::{Error, Result};
pub use model::{CompleteModel, Introspection, Merge, Model, PartOrder, Uncertainty};
pub use persist::Persist;

// The examples of the front page and of the guide are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(all(doctest, feature = "files", feature = "threads"))]
#[doc = include_str!("../docs/rust.md")]
struct Guide;
