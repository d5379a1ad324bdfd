//! The crate as its users see it. One binary: a dozen would take longer to link than to run. Tests that count
//! allocations or set the number of threads of the whole process are beside it.

mod budget;
mod control;
mod dynamics;
mod experts;
mod files;
mod generic;
mod koopman;
mod labels;
mod merge;
mod outputs;
mod presets;
mod shapes;
mod sketched;
mod specifications;
mod stream;
mod table;
#[cfg(feature = "files")]
mod written_by_python;
