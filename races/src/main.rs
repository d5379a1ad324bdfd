//! The lock of `src/handover`, the very files, under shuttle: `make races`.
//!
//! Shuttle runs the threads of each case one step at a time, in orders drawn at random, and in orders chosen for few
//! but well-placed switches (PCT: Burckhardt, Kothari, Musuvathi and Nagarakatte, "A randomized scheduler with
//! probabilistic guarantees of finding bugs", 2010). Nothing times out there: whoever is not woken is a deadlock.

#[allow(dead_code, reason = "the crate's errors, of which the lock knows three")]
#[path = "../../src/error.rs"]
mod error;
#[allow(dead_code, unused_imports, reason = "forks are not played")]
#[path = "../../src/handover/mod.rs"]
mod handover;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use handover::{Access, Handover, Queue};
use shuttle::sync::Arc;
use shuttle::thread;

/// Switches of threads that PCT places.
const DEPTH: usize = 3;

fn patient() -> bool {
    true
}

/// No change is lost, and nobody sees one half done.
fn many_readers_and_writers() {
    let model = Arc::new(Handover::new((0, 0)));
    let threads = (0..4).map(|i| {
        let model = Arc::clone(&model);
        thread::spawn(move || {
            for _ in 0..2 {
                if i < 2 {
                    let mut pair = model.write(patient).unwrap();
                    pair.0 += 1;
                    thread::yield_now();
                    pair.1 += 1;
                } else {
                    let pair = model.read(patient).unwrap();
                    thread::yield_now();
                    assert_eq!(pair.0, pair.1);
                }
            }
        })
    });
    threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(*model.read(patient).unwrap(), (4, 4));
}

/// A reader who waits while a block is learned is answered right after this block, before any who come later.
fn who_waits_is_next() {
    let model = Arc::new(Handover::new(0));
    let reader = thread::spawn({
        let model = Arc::clone(&model);
        move || *model.read(patient).unwrap()
    });
    let (mut awaited, mut late) = (None, None);
    for _ in 0..3 {
        let mut blocks = model.write(patient).unwrap();
        *blocks += 1;
        if awaited.is_none() && model.is_awaited() {
            awaited = Some(*blocks);
            let model = Arc::clone(&model);
            late = Some(thread::spawn(move || *model.write(patient).unwrap() += 10));
            thread::yield_now();
        }
    }
    let seen = reader.join().unwrap();
    assert!(awaited.is_none_or(|block| seen == block), "{awaited:?} {seen}");
    late.map_or(Ok(()), thread::JoinHandle::join).unwrap();
}

/// Who reads may read again, though somebody waits to write.
fn a_reader_reads_again() {
    let model = Arc::new(Handover::new(0));
    let writer = thread::spawn({
        let model = Arc::clone(&model);
        move || *model.write(patient).unwrap() += 1
    });
    {
        let first = model.read(patient).unwrap();
        let second = model.read(patient).unwrap();
        assert_eq!(*first, *second);
    }
    writer.join().unwrap();
    assert_eq!(*model.read(patient).unwrap(), 1);
}

/// Who asks in vain leaves no trace, and who got in by asking counts.
fn asking_without_waiting() {
    let model = Arc::new(Handover::new(0));
    let threads = (0..3).map(|i| {
        let model = Arc::clone(&model);
        thread::spawn(move || {
            if i == 0 {
                *model.write(patient).unwrap() += 1;
                return 1;
            }
            let _ = model.try_read().unwrap().map(|seen| *seen);
            model.try_write().unwrap().map_or(0, |mut count| {
                *count += 1;
                1
            })
        })
    });
    let threads: Vec<_> = threads.collect();
    let changes: i32 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert_eq!(*model.read(patient).unwrap(), changes);
}

/// A turn that one thread takes and another gives up, as Python's calls do, is had by one at a time.
fn turns_that_are_kept() {
    let (turns, inside) = (Arc::new(Queue::default()), Arc::new(AtomicU64::new(0)));
    let threads = (0..3).map(|_| {
        let (turns, inside) = (Arc::clone(&turns), Arc::clone(&inside));
        thread::spawn(move || {
            let number = turns.wait(Access::Alone, patient).unwrap().keep();
            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
            thread::yield_now();
            inside.fetch_sub(1, Ordering::SeqCst);
            thread::spawn(move || turns.leave(number));
        })
    });
    threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
}

fn main() {
    let runs = std::env::args().nth(1).map_or(100_000, |runs| runs.parse().expect("how many runs"));
    let cases: [(&str, fn()); 5] = [
        ("many readers and writers", many_readers_and_writers),
        ("who waits is next", who_waits_is_next),
        ("a reader reads again", a_reader_reads_again),
        ("asking without waiting", asking_without_waiting),
        ("turns that are kept", turns_that_are_kept),
    ];
    for (name, case) in cases {
        let begun = Instant::now();
        shuttle::check_random(case, runs);
        shuttle::check_pct(case, runs, DEPTH);
        println!("{name}: {} orders in {:.0} s", 2 * runs, begun.elapsed().as_secs_f64());
    }
}
