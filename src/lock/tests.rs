use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use super::*;

/// A fork concerns all locks of a process, those of the other tests too.
static FORKS: RwLock<()> = RwLock::new(());

fn always() -> bool {
    true
}

#[test]
fn a_reader_is_served_between_two_writes_of_one_thread() {
    let _shared = FORKS.read().unwrap();
    let model = Lock::new(0);
    thread::scope(|scope| {
        let mut writing = model.write(always).unwrap();
        let reader = scope.spawn(|| *model.read(always).unwrap());
        while !model.is_awaited() {
            thread::yield_now();
        }
        // The reader is served at the first release after it has parked, shortly after it is counted.
        for block in 1.. {
            thread::sleep(Duration::from_millis(5));
            *writing = block;
            writing.hand_over();
            writing = model.write(always).unwrap();
            if !model.is_awaited() {
                break;
            }
            assert!(block < 50, "the writer has passed a reader 50 times");
        }
        drop(writing);
        assert!(reader.join().unwrap() > 0);
    });
}

#[test]
fn readers_share_the_model_and_a_writer_has_it_alone() {
    let _shared = FORKS.read().unwrap();
    let model = Lock::new(0);
    let first = model.read(always).unwrap();
    thread::scope(|scope| {
        let other = scope.spawn(|| (*model.read(always).unwrap(), model.try_write().is_none()));
        assert_eq!(other.join().unwrap(), (0, true));
        let late = scope.spawn(|| model.write(|| false).map(|_| ()));
        assert!(matches!(late.join().unwrap(), Err(Error::Interrupted)), "it stopped waiting");
    });
    drop(first);
    assert_eq!(*model.write(always).unwrap(), 0);
}

#[test]
fn a_thread_never_waits_for_itself() {
    let _shared = FORKS.read().unwrap();
    let model = Lock::new(0);
    let reading = model.read(always).unwrap();
    assert!(matches!(model.write(always), Err(Error::Nested)));
    drop(reading);
    let writing = model.write(always).unwrap();
    assert!(matches!(model.read(always), Err(Error::Nested)));
    assert!(matches!(model.write(always), Err(Error::Nested)));
    drop(writing);

    let turn = Turn::default();
    let taken = turn.take(always).unwrap();
    assert!(turn.try_take().is_none());
    assert!(matches!(turn.take(always), Err(Error::Nested)));
    drop(taken);
    turn.take(always).unwrap().hand_over();
}

#[test]
fn a_reader_reads_again_while_a_writer_waits() {
    let _shared = FORKS.read().unwrap();
    let model = Lock::new(0);
    thread::scope(|scope| {
        let first = model.read(always).unwrap();
        scope.spawn(|| *model.write(always).unwrap() += 1);
        while model.try_read().is_some() {
            thread::yield_now();
        }
        let second = model.read(always).unwrap();
        assert_eq!(*first, *second);
    });
    assert_eq!(*model.read(always).unwrap(), 1);
}

#[test]
fn many_threads_lose_no_change_and_see_none_half_done() {
    let _shared = FORKS.read().unwrap();
    let model = Lock::new((0_u32, 0_u32));
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let pair = model.read(always).unwrap();
                    assert_eq!(pair.0, pair.1);
                }
            });
        }
        let write = || {
            for _ in 0..2000 {
                let mut pair = model.write(always).unwrap();
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
    assert_eq!(*model.read(always).unwrap(), (4000, 4000));
}

#[test]
fn one_thread_at_a_time_has_the_turn_though_another_one_ends_it() {
    let _shared = FORKS.read().unwrap();
    let (turn, inside) = (Turn::default(), AtomicBool::new(false));
    thread::scope(|scope| {
        for _ in 0..50 {
            scope.spawn(|| {
                let taken = turn.take(always).unwrap();
                assert!(!inside.swap(true, Ordering::SeqCst));
                thread::yield_now();
                inside.store(false, Ordering::SeqCst);
                scope.spawn(|| taken.hand_over());
            });
        }
    });
    assert!(turn.try_take().is_some());
}

/// Calls the hooks without a fork: what follows plays the new process.
fn fork_as_child() {
    prepare_fork();
    before_fork();
    after_fork(true);
}

#[test]
fn locks_held_by_vanished_threads_give_an_error() {
    let _alone = FORKS.write().unwrap();
    let (read, changed, free) = (Lock::new(1), Lock::new(1), Lock::new(1));
    let turn = Turn::default();
    thread::scope(|scope| {
        let vanished = scope.spawn(|| {
            std::mem::forget(read.read(always).unwrap());
            std::mem::forget(changed.write(always).unwrap());
            std::mem::forget(turn.take(always).unwrap());
        });
        vanished.join().unwrap();
    });
    fork_as_child();
    assert_eq!(*read.read(always).unwrap(), 1, "readers leave the model whole");
    assert!(matches!(read.write(always), Err(Error::Forked)));
    assert!(matches!(changed.read(always), Err(Error::Forked)));
    assert!(matches!(changed.write(always), Err(Error::Forked)));
    *free.write(always).unwrap() = 2;
    assert!(turn.try_take().is_some(), "a new process has turns of its own");
}

#[test]
fn a_fork_waits_for_a_change() {
    let _alone = FORKS.write().unwrap();
    let model = Lock::new(0);
    let (begin, begun) = channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut writing = model.write(always).unwrap();
            begin.send(()).unwrap();
            thread::sleep(Duration::from_millis(20));
            *writing = 1;
        });
        begun.recv().unwrap();
        fork_as_child();
        assert_eq!(*model.read(always).unwrap(), 1);
    });
}

#[test]
fn a_thread_that_forks_keeps_the_locks_it_holds() {
    let _alone = FORKS.write().unwrap();
    let model = Lock::new(0);
    let mut writing = model.write(always).unwrap();
    fork_as_child();
    *writing = 1;
    drop(writing);
    assert_eq!(*model.read(always).unwrap(), 1);
}
