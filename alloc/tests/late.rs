//! A thread allocates and frees while it is being torn down: in destructors of thread locals and of pthread keys, before
//! and after its heap has gone.

mod common;

use common::block::{Block, blocks, free_all};
use sleepy_alloc::{idle_end, idle_start, stats};
use std::cell::RefCell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Runs `f` on a thread of its own; when that has ended, none of its blocks is left.
fn on_a_thread(f: impl FnOnce() + Send + 'static) {
    let before = stats();
    thread::spawn(f).join().unwrap();
    let after = stats();
    assert_eq!(after.live_bytes, before.live_bytes, "live bytes");
    assert_eq!(after.abandoned_pages, before.abandoned_pages, "pages");
}

/// Frees its blocks when its thread ends, and works with others then.
struct AtEnd(RefCell<Vec<Block>>);

impl AtEnd {
    const fn new() -> Self {
        Self(RefCell::new(Vec::new()))
    }

    fn keep(&self) {
        self.0
            .borrow_mut()
            .extend([24, 700, 40_000, 200_000].map(|size| Block::new(size, 3)));
    }
}

impl Drop for AtEnd {
    fn drop(&mut self) {
        work();
        free_all(self.0.take());
        work();
    }
}

fn work() {
    let mut made = blocks(200, 300);
    idle_start();
    made.extend(blocks(3, 100_000));
    for block in &mut made {
        block.resize(900);
    }
    idle_start();
    free_all(made);
    idle_end();
}

thread_local! {
    static FIRST: AtEnd = const { AtEnd::new() };
    static SECOND: AtEnd = const { AtEnd::new() };
}

#[test]
fn thread_locals_from_before_the_first_allocation() {
    let _alone = common::alone();
    on_a_thread(|| {
        FIRST.with(|_| ());
        work();
        FIRST.with(AtEnd::keep);
    });
}

#[test]
fn thread_locals_from_after_the_first_allocation() {
    let _alone = common::alone();
    on_a_thread(|| {
        work();
        FIRST.with(AtEnd::keep);
    });
}

#[test]
fn thread_locals_from_before_and_after() {
    let _alone = common::alone();
    on_a_thread(|| {
        FIRST.with(|_| ());
        work();
        SECOND.with(AtEnd::keep);
        FIRST.with(AtEnd::keep);
    });
}

#[test]
fn a_thread_that_first_allocates_in_a_destructor() {
    let _alone = common::alone();
    on_a_thread(|| FIRST.with(|_| ()));
}

/// Rounds of destructors that glibc makes at most.
const ROUNDS: usize = 4;

static RUNS: AtomicUsize = AtomicUsize::new(0);

/// What a key holds: blocks, and in how many rounds its destructor has run.
struct Kept {
    key: libc::pthread_key_t,
    rounds: usize,
    blocks: Vec<Block>,
}

/// Works, frees a part of its blocks, makes new ones and comes again in the next round.
extern "C" fn end(kept: *mut c_void) {
    // SAFETY: `keep_in` put a box there.
    let mut kept = unsafe { Box::from_raw(kept.cast::<Kept>()) };
    RUNS.fetch_add(1, Ordering::Relaxed);
    kept.rounds += 1;
    work();
    let half = kept.blocks.split_off(kept.blocks.len() / 2);
    free_all(half);
    if kept.rounds < ROUNDS {
        kept.blocks.extend(blocks(10, 50));
        let key = kept.key;
        set(key, kept);
    } else {
        free_all(std::mem::take(&mut kept.blocks));
    }
}

fn set(key: libc::pthread_key_t, kept: Box<Kept>) {
    // SAFETY: the key was created, and its destructor takes the box.
    let refused = unsafe { libc::pthread_setspecific(key, Box::into_raw(kept).cast()) };
    assert_eq!(refused, 0);
}

fn new_key() -> libc::pthread_key_t {
    let mut key = 0;
    // SAFETY: makes a key with a destructor that fits what is put there.
    let refused = unsafe { libc::pthread_key_create(&mut key, Some(end)) };
    assert_eq!(refused, 0);
    key
}

fn keep_in(key: libc::pthread_key_t) {
    let kept = Kept {
        key,
        rounds: 0,
        blocks: blocks(30, 500),
    };
    set(key, Box::new(kept));
}

#[test]
fn keys_made_before_and_after_the_allocators_own() {
    let _alone = common::alone();
    // Destructors run in the order of the keys; the allocator makes its own when it is first used in this process,
    // which is between these two unless another test came first.
    let early = new_key();
    free_all(blocks(1, 100));
    let late = new_key();
    RUNS.store(0, Ordering::Relaxed);
    on_a_thread(move || {
        keep_in(early);
        keep_in(late);
    });
    assert_eq!(RUNS.load(Ordering::Relaxed), 2 * ROUNDS);
    on_a_thread(move || {
        // The late stage is the first that allocates.
        for key in [early, late] {
            let kept = Kept {
                key,
                rounds: 0,
                blocks: Vec::new(),
            };
            set(key, Box::new(kept));
        }
    });
}

#[test]
fn many_threads_are_in_their_late_stage_at_once() {
    let _alone = common::alone();
    let key = new_key();
    let before = stats();
    for _ in 0..20 {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                thread::spawn(move || {
                    FIRST.with(AtEnd::keep);
                    keep_in(key);
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    }
    let after = stats();
    assert_eq!(after.live_bytes, before.live_bytes);
    assert_eq!(after.abandoned_pages, before.abandoned_pages);
}

#[test]
fn blocks_of_the_late_stage_live_on() {
    let _alone = common::alone();
    static LEFT: std::sync::Mutex<Vec<Block>> = std::sync::Mutex::new(Vec::new());
    extern "C" fn leave(_: *mut c_void) {
        LEFT.lock().unwrap().extend(blocks(100, 400));
    }
    let mut key = 0;
    // SAFETY: makes a key whose destructor does not look at its value.
    let refused = unsafe { libc::pthread_key_create(&mut key, Some(leave)) };
    assert_eq!(refused, 0);
    let before = stats();
    for _ in 0..3 {
        thread::spawn(move || {
            free_all(blocks(10, 100));
            // SAFETY: the key exists; the value is not looked at.
            unsafe { libc::pthread_setspecific(key, std::ptr::dangling::<u8>().cast()) };
        })
        .join()
        .unwrap();
    }
    let left = std::mem::take(&mut *LEFT.lock().unwrap());
    assert_eq!(left.len(), 300);
    free_all(left);
    assert_eq!(stats().live_bytes, before.live_bytes);
}
