//! Altered model files; see `tests/fuzz/files.rs`.

#![no_main]

#[path = "../../tests/fuzz/alter.rs"]
mod alter;
#[path = "../../tests/fuzz/choices.rs"]
mod choices;
#[path = "../../tests/fuzz/files.rs"]
mod files;

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

static CORPUS: LazyLock<Vec<(String, alter::ModelFile)>> = LazyLock::new(files::corpus);

fuzz_target!(|data: &[u8]| {
    let (_, bytes) = files::altered(&CORPUS, &mut choices::Choices::from_bytes(data));
    files::load_and_use(&bytes);
});
