//! Forks of a process with many heaps: the child uses the heap of the thread that forked, parked or not, frees what other
//! threads had allocated, and gives memory back with a scavenger of its own.

mod common;

use common::block::{Block, blocks, free_all, thin_out};
use common::child::{fork, wait};
use common::{rss_bytes, scavenger_sleeps, within};
use sleepy_alloc::{idle_end, idle_start, purge_now, stats};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

const MIB: usize = 1 << 20;

/// What is not as it has to be, a bit for each.
fn faults(good: &[bool]) -> i32 {
    good.iter()
        .enumerate()
        .map(|(nth, &good)| i32::from(!good) << nth)
        .sum()
}

/// A thread that makes blocks and then sleeps, parked, until it is told to end.
fn sleeper(is_parked: bool) -> (Vec<Block>, Sender<()>, JoinHandle<()>) {
    let (send, receive) = channel();
    let (end, ended) = channel::<()>();
    let thread = thread::spawn(move || {
        let made = thin_out(blocks(2000, 4000), 4);
        if is_parked {
            idle_start();
        }
        send.send(made).unwrap();
        let _ = ended.recv();
        idle_end();
    });
    (receive.recv().unwrap(), end, thread)
}

/// The child's work: its parent's blocks are whole and can be freed; new ones can be made; it parks and is swept.
fn child(mine: Vec<Block>, theirs: Vec<Block>) -> i32 {
    let was_alone = scavenger_sleeps().is_none();
    let mine_whole = mine.into_iter().all(Block::free_quietly);
    let theirs_whole = theirs.into_iter().all(Block::free_quietly);
    let grown = blocks(4000, 4000);
    let full = rss_bytes();
    let kept = thin_out(grown, 20);
    idle_start();
    let has_shrunk = within(common::PATIENCE, || rss_bytes() + 8 * MIB < full);
    let has_started = scavenger_sleeps().is_some();
    idle_end();
    let kept_whole = kept.into_iter().all(Block::free_quietly);
    faults(&[
        was_alone,
        mine_whole,
        theirs_whole,
        has_shrunk,
        has_started,
        kept_whole,
    ])
}

#[test]
fn a_parked_thread_forks_while_everything_is_swept() {
    let _alone = common::alone();
    static DONE: AtomicBool = AtomicBool::new(false);
    let purger = thread::spawn(|| {
        while !DONE.load(Ordering::Relaxed) {
            purge_now();
        }
    });
    let before = stats();
    for round in 0..6 {
        let (theirs, end, thread) = sleeper(round % 2 == 0);
        let mine = thin_out(blocks(3000, 4000), 3);
        let gone = thread::spawn(|| blocks(100, 900)).join().unwrap();
        if round % 3 != 0 {
            idle_start();
        }
        // The records are copied with the process; in the parent they are used again below.
        let pid = {
            let (mine, theirs) = (copies(&mine), copies(&theirs));
            fork(move || child(mine, theirs))
        };
        let result = wait(pid);
        assert_eq!(result, 0, "round {round}: {result:#b}");
        mine.iter().chain(&theirs).for_each(Block::check);
        idle_end();
        free_all(mine);
        free_all(theirs);
        free_all(gone);
        end.send(()).unwrap();
        thread.join().unwrap();
    }
    DONE.store(true, Ordering::Relaxed);
    purger.join().unwrap();
    assert_eq!(stats().live_bytes, before.live_bytes);
}

/// The same blocks, for a child to free.
fn copies(blocks: &[Block]) -> Vec<Block> {
    // SAFETY: after the fork each process has the blocks once: the parent drops these records, which frees nothing.
    blocks
        .iter()
        .map(|block| unsafe { std::ptr::read(block) })
        .collect()
}

#[test]
fn a_child_forks_again() {
    let _alone = common::alone();
    let mine = blocks(2000, 1000);
    let records = copies(&mine);
    let pid = fork(move || {
        idle_start();
        let again = copies(&records);
        let grandchild = wait(fork(move || child(again, Vec::new())));
        let whole = records.into_iter().all(Block::free_quietly);
        grandchild * 2 + i32::from(!whole)
    });
    assert_eq!(wait(pid), 0);
    free_all(mine);
}

#[test]
fn a_thread_forks_that_never_allocated() {
    let _alone = common::alone();
    let mine = blocks(500, 300);
    let records = copies(&mine);
    let code = thread::spawn(move || wait(fork(move || child(records, Vec::new()))))
        .join()
        .unwrap();
    assert_eq!(code, 0, "{code:#b}");
    free_all(mine);
}
