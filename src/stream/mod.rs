//! Streams: a basis and a learner together.

mod evidence;
mod file;
mod head;
mod heads;
mod merge;
mod model;
mod posterior;
pub mod presets;
mod rollback;
mod round;
mod schedule;
mod seen;
mod spec;

pub(crate) use file::KIND;
pub(crate) use heads::Heads;
pub use model::{AnyStream, Stream};
pub use spec::ModelSpec;
