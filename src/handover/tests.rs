use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use super::*;

/// A fork concerns all queues of a process, those of the other tests too.
static FORKS: RwLock<()> = RwLock::new(());

fn patient() -> bool {
    true
}

#[test]
fn a_reader_comes_in_between_two_writes_of_one_thread() {
    let _alone = FORKS.read().unwrap();
    let model = Handover::new(0);
    let (begin, begun) = channel();
    thread::scope(|scope| {
        let mut writing = model.write(patient).unwrap();
        scope.spawn(|| {
            begin.send(()).unwrap();
            assert_eq!(*model.read(patient).unwrap(), 1);
        });
        begun.recv().unwrap();
        while !model.is_awaited() {
            thread::yield_now();
        }
        *writing = 1;
        drop(writing);
        *model.write(patient).unwrap() = 2;
    });
    assert_eq!(*model.read(patient).unwrap(), 2);
}

#[test]
fn readers_are_inside_together_and_a_writer_alone() {
    let _alone = FORKS.read().unwrap();
    let model = Handover::new(0);
    let first = model.read(patient).unwrap();
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            let read = *model.read(patient).unwrap();
            (read, model.try_write().unwrap().is_none())
        });
        assert_eq!(other.join().unwrap(), (0, true));
        let late = scope.spawn(|| model.write(|| false).map(|_| ()));
        assert!(matches!(late.join().unwrap(), Err(Error::Interrupted)), "it gave up waiting");
    });
    drop(first);
    assert_eq!(*model.write(patient).unwrap(), 0);
}

#[test]
fn nobody_waits_for_himself() {
    let _alone = FORKS.read().unwrap();
    let model = Handover::new(0);
    let reading = model.read(patient).unwrap();
    assert_eq!(*model.read(patient).unwrap(), 0);
    assert!(matches!(model.write(patient), Err(Error::Nested)));
    drop(reading);
    let _writing = model.write(patient).unwrap();
    assert!(matches!(model.read(patient), Err(Error::Nested)));
}

#[test]
fn many_threads_lose_no_change_and_see_none_half_done() {
    let _alone = FORKS.read().unwrap();
    let model = Handover::new((0_u32, 0_u32));
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let pair = model.read(patient).unwrap();
                    assert_eq!(pair.0, pair.1);
                }
            });
        }
        let write = || {
            for _ in 0..2000 {
                let mut pair = model.write(patient).unwrap();
                pair.0 += 1;
                pair.1 += 1;
            }
        };
        let writers = [scope.spawn(write), scope.spawn(write)];
        for writer in writers {
            writer.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(*model.read(patient).unwrap(), (4000, 4000));
}

#[test]
fn a_change_does_not_copy_the_model() {
    let _alone = FORKS.read().unwrap();
    let model = Handover::new(vec![1, 2, 3]);
    let at = model.read(patient).unwrap().as_ptr();
    model.write(patient).unwrap()[0] = 4;
    assert_eq!(model.read(patient).unwrap().as_ptr(), at);
}

/// Forks are told of, not made: the new process is played by what comes after.
#[test]
fn what_vanished_threads_held_hangs_nobody() {
    let _alone = FORKS.write().unwrap();
    let (read, changed) = (Handover::new(1), Handover::new(1));
    thread::scope(|scope| {
        let vanished = scope.spawn(|| {
            std::mem::forget(read.read(patient).unwrap());
            std::mem::forget(changed.write(patient).unwrap());
        });
        vanished.join().unwrap();
    });
    assert!(read.try_write().unwrap().is_none());
    before_fork();
    after_fork(true);
    *read.write(patient).unwrap() = 2;
    assert_eq!(*read.read(patient).unwrap(), 2, "readers had not touched it");
    assert!(matches!(changed.read(patient), Err(Error::Forked)));
    assert!(matches!(changed.write(patient), Err(Error::Forked)));
}

#[test]
fn a_fork_waits_for_a_change() {
    let _alone = FORKS.write().unwrap();
    let model = Handover::new(0);
    let (begin, begun) = channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut writing = model.write(patient).unwrap();
            begin.send(()).unwrap();
            thread::sleep(Duration::from_millis(20));
            *writing = 1;
        });
        begun.recv().unwrap();
        prepare_fork();
        before_fork();
        let whole = model.slot().is_some();
        after_fork(false);
        assert!(whole);
    });
}
