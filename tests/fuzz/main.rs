//! Model files, specifications and calls that nobody would think of.
//!
//! A test here runs about a thousand cases, each from a seed, and names the seed of one that fails.
//! `make fuzz` runs the same cases for an hour (`FUZZ_SECONDS`), or `FUZZ_CASES` of them from
//! `FUZZ_SEED` on.

mod alter;
mod calls;
mod choices;
mod files;
mod known;
mod specs;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use choices::{Choices, record};

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap_or_else(|_| panic!("{name} is no number")))
}

/// What cases took at most.
#[derive(Default)]
struct Most {
    seconds: f64,
    slowest: String,
    bytes: u64,
    largest: String,
}

/// Runs `case` with random choices; returns how many. One that panics is named, and ends all.
fn run(few: u64, mut case: impl FnMut(&mut Choices<'_>, u64)) -> u64 {
    let end = setting("FUZZ_SECONDS").map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let cases = setting("FUZZ_CASES").unwrap_or(if end.is_some() { u64::MAX } else { few });
    let first = setting("FUZZ_SEED").unwrap_or(0);
    let mut done = 0;
    while done < cases && end.is_none_or(|end| Instant::now() < end) {
        let seed = first + done;
        if let Some(path) = std::env::var_os("FUZZ_NOTE") {
            std::fs::write(path, seed.to_string()).unwrap();
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| case(&mut Choices::from_seed(seed), seed)));
        assert!(outcome.is_ok(), "the case of FUZZ_SEED={seed} FUZZ_CASES=1 fails: see above");
        done += 1;
    }
    done
}

#[test]
fn altered_model_files_load_into_models_that_work_or_are_refused() {
    let corpus = files::corpus();
    let (mut loaded, mut most) = (0, Most::default());
    let cases = run(3000, |choices, seed| {
        let (name, bytes) = files::altered(&corpus, choices);
        record(&name);
        let begun = Instant::now();
        let memory = allocation_counter::measure(|| loaded += u64::from(files::load_and_use(&bytes)));
        let seconds = begun.elapsed().as_secs_f64();
        let allowed = 10 * bytes.len() as u64 + 100_000_000;
        assert!(memory.bytes_max <= allowed, "{name} takes {} bytes", memory.bytes_max);
        if seconds > most.seconds {
            (most.seconds, most.slowest) = (seconds, format!("{name}, seed {seed}"));
        }
        if memory.bytes_max > most.bytes {
            (most.bytes, most.largest) = (memory.bytes_max, format!("{name}, seed {seed}"));
        }
    });
    assert!(cases < 100 || loaded > cases / 20 && loaded < cases, "{loaded} of {cases} files loaded");
    eprintln!(
        "{cases} files, {loaded} loaded; slowest {:.3} s ({}); most memory {:.1} MB ({})",
        most.seconds,
        most.slowest,
        most.bytes as f64 / 1e6,
        most.largest
    );
}

#[test]
fn altered_specifications_build_models_that_work_or_are_refused() {
    let mut built = 0;
    let cases = run(1000, |choices, _| {
        let memory = allocation_counter::measure(|| built += u64::from(specs::build_and_use(choices)));
        assert!(memory.bytes_max < 1 << 32, "it takes {} bytes", memory.bytes_max);
    });
    assert!(
        cases < 100 || built > cases / 20 && built < cases,
        "{built} of {cases} specifications are sound"
    );
}

#[test]
fn calls_on_a_model_are_all_or_nothing_however_they_are_cut() {
    let cases = run(1000, |choices, _| calls::call(choices));
    eprintln!("{cases} sequences of calls");
}

#[test]
fn calls_on_dynamics_are_all_or_nothing_and_read_back_after_each() {
    let cases = run(500, |choices, _| calls::follow(choices));
    eprintln!("{cases} sequences of calls on dynamics");
}
