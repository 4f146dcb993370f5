//! Storms of signals that interrupt every system call: waits go on waiting, and nothing is lost.

mod common;

use common::block::{Block, blocks, free_all};
use common::random::Random;
use sleepy_alloc::lock::Mutex;
use sleepy_alloc::{Options, idle_end, idle_start, purge_now, stats};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

static SIGNALS: AtomicU64 = AtomicU64::new(0);

extern "C" fn count(_: libc::c_int) {
    SIGNALS.fetch_add(1, Ordering::Relaxed);
}

/// Has a timer interrupt whatever thread the kernel picks, a thousand times a second.
fn interrupt_all(timer: libc::c_int, signal: libc::c_int) {
    let every = libc::timeval {
        tv_sec: 0,
        tv_usec: 1000,
    };
    let times = libc::itimerval {
        it_interval: every,
        it_value: every,
    };
    // SAFETY: the handler only counts; without SA_RESTART system calls end early.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = count as extern "C" fn(libc::c_int) as usize;
        assert_eq!(libc::sigaction(signal, &action, std::ptr::null_mut()), 0);
        assert_eq!(libc::setitimer(timer, &times, std::ptr::null_mut()), 0);
    }
}

/// Blocks that all threads free.
static SHARED: Mutex<Vec<Block>> = Mutex::new(Vec::new());

fn work(seed: u64, end: Instant) {
    let mut random = Random(seed);
    let mut held: Vec<Block> = Vec::new();
    while Instant::now() < end || SIGNALS.load(Ordering::Relaxed) < 500 {
        let size = random.size();
        held.extend(blocks(random.below(100), size));
        idle_start();
        // A sleep that a signal may end, in which the heap is swept.
        let nap = libc::timespec {
            tv_sec: 0,
            tv_nsec: 200_000,
        };
        // SAFETY: sleeps.
        unsafe { libc::nanosleep(&nap, std::ptr::null_mut()) };
        if random.one_in(2) {
            idle_end();
        }
        let mut shared = SHARED.lock();
        shared.append(&mut held.split_off(held.len() / 2));
        let at = shared.len() / 2;
        let theirs = shared.split_off(at);
        drop(shared);
        free_all(theirs);
        if random.one_in(4) {
            free_all(held.drain(..));
        }
    }
    free_all(held);
}

#[test]
fn a_storm_of_signals_harms_nobody() {
    let quick = Options {
        purge_delay: Duration::from_millis(1),
        min_interval: Duration::from_millis(1),
        ..Options::default()
    };
    quick.install().unwrap();
    interrupt_all(libc::ITIMER_REAL, libc::SIGALRM);
    interrupt_all(libc::ITIMER_PROF, libc::SIGPROF);
    let before = stats();
    let end = Instant::now() + Duration::from_millis(1500);
    let mut threads: Vec<_> = (1..5)
        .map(|seed| thread::spawn(move || work(seed, end)))
        .collect();
    threads.push(thread::spawn(move || {
        while Instant::now() < end {
            purge_now();
        }
    }));
    for thread in threads {
        thread.join().unwrap();
    }
    free_all(std::mem::take(&mut *SHARED.lock()));
    let after = stats();
    assert_eq!(after.live_bytes, before.live_bytes);
    assert_eq!(after.abandoned_pages, before.abandoned_pages);
    assert!(after.parked_sweeps > 0);
}
