//! Threads that end while they are parked, in every way that POSIX has: cancelled in `epoll_wait`, by `pthread_exit`.

#![cfg(target_os = "linux")]

mod common;

use common::block::{Block, blocks, free_all, thin_out};
use sleepy_alloc::{idle_start, purge_now, stats};
use std::ffi::c_void;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

// Cancellation unwinds through these, which the `libc` crate does not allow for.
unsafe extern "C-unwind" {
    fn epoll_wait(epoll: i32, events: *mut libc::epoll_event, count: i32, timeout_ms: i32) -> i32;
    fn pthread_exit(value: *mut c_void) -> !;
    fn pthread_create(
        thread: *mut libc::pthread_t,
        attributes: *const libc::pthread_attr_t,
        main: extern "C-unwind" fn(*mut c_void) -> *mut c_void,
        argument: *mut c_void,
    ) -> i32;
}

static WAITING: AtomicUsize = AtomicUsize::new(0);
static LEFT: Mutex<Vec<Block>> = Mutex::new(Vec::new());

/// Leaves blocks behind, makes its heap worth lending and lends it.
fn lend() {
    let kept = thin_out(blocks(400, 4000), 5);
    LEFT.lock().unwrap().extend(kept);
    idle_start();
    WAITING.fetch_add(1, Ordering::Release);
}

extern "C-unwind" fn waits(epoll: *mut c_void) -> *mut c_void {
    lend();
    let mut event = libc::epoll_event { events: 0, u64: 0 };
    loop {
        // SAFETY: an epoll of this test, and room for one event. Nothing in this frame has a destructor, so that it may
        // be unwound.
        unsafe { epoll_wait(epoll.addr() as i32, &mut event, 1, -1) };
    }
}

extern "C-unwind" fn exits(_: *mut c_void) -> *mut c_void {
    lend();
    // SAFETY: nothing in this frame has a destructor.
    unsafe { pthread_exit(ptr::null_mut()) }
}

fn start(
    main: extern "C-unwind" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
) -> libc::pthread_t {
    let mut thread = 0;
    // SAFETY: starts a thread with a function that takes this argument.
    let refused = unsafe { pthread_create(&mut thread, ptr::null(), main, argument) };
    assert_eq!(refused, 0);
    thread
}

fn join(thread: libc::pthread_t) {
    // SAFETY: a thread of this test that is joined once.
    assert_eq!(unsafe { libc::pthread_join(thread, ptr::null_mut()) }, 0);
}

fn take_left() -> Vec<Block> {
    std::mem::take(&mut *LEFT.lock().unwrap())
}

#[test]
fn a_thread_is_cancelled_while_parked() {
    let _alone = common::alone();
    // SAFETY: makes an epoll.
    let epoll = unsafe { libc::epoll_create1(0) };
    assert!(epoll >= 0);
    let before = stats();
    for round in 0..20 {
        WAITING.store(0, Ordering::Relaxed);
        let argument = ptr::without_provenance_mut(epoll as usize);
        let threads: Vec<_> = (0..4).map(|_| start(waits, argument)).collect();
        assert!(common::within(common::PATIENCE, || {
            WAITING.load(Ordering::Acquire) == threads.len()
        }));
        if round % 2 == 0 {
            purge_now();
        }
        for &thread in &threads {
            // SAFETY: a thread that lives until it is joined.
            assert_eq!(unsafe { libc::pthread_cancel(thread) }, 0);
        }
        if round % 3 == 0 {
            purge_now();
        }
        threads.into_iter().for_each(join);
        free_all(take_left());
    }
    // SAFETY: it is this test's own.
    unsafe { libc::close(epoll) };
    let after = stats();
    assert_eq!(after.live_bytes, before.live_bytes);
    assert_eq!(after.abandoned_pages, before.abandoned_pages);
}

#[test]
fn a_thread_exits_while_parked() {
    let _alone = common::alone();
    let before = stats();
    for _ in 0..50 {
        let threads: Vec<_> = (0..4).map(|_| start(exits, ptr::null_mut())).collect();
        purge_now();
        threads.into_iter().for_each(join);
        free_all(take_left());
    }
    let after = stats();
    assert_eq!(after.live_bytes, before.live_bytes);
    assert_eq!(after.abandoned_pages, before.abandoned_pages);
}
