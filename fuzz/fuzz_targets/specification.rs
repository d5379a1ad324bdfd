//! Altered specifications; see `tests/fuzz/specs.rs`.

#![no_main]

#[path = "../../tests/fuzz/alter.rs"]
mod alter;
#[path = "../../tests/fuzz/choices.rs"]
mod choices;
#[path = "../../tests/fuzz/files.rs"]
mod files;
#[path = "../../tests/fuzz/specs.rs"]
mod specs;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    specs::build_and_use(&mut choices::Choices::from_bytes(data));
});
