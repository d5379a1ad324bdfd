//! Random calls on random models; see `tests/fuzz/calls.rs`.

#![no_main]

#[path = "../../tests/fuzz/alter.rs"]
mod alter;
#[path = "../../tests/fuzz/calls.rs"]
mod calls;
#[path = "../../tests/fuzz/choices.rs"]
mod choices;
#[path = "../../tests/fuzz/files.rs"]
mod files;
#[path = "../../tests/fuzz/specs.rs"]
mod specs;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut choices = choices::Choices::from_bytes(data);
    if choices.once_in(3) { calls::follow(&mut choices) } else { calls::call(&mut choices) }
});
