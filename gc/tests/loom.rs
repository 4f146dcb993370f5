//! The interpreter lock, in every order that the memory model allows.
//!
//! `RUSTFLAGS="--cfg loom" LOOM_MAX_PREEMPTIONS=2 cargo test -p sleepy-gc --release --test loom`
#![cfg(loom)]

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

/// The lock itself, built on the model below.
#[allow(dead_code)]
#[path = "../src/idle/gil/raw.rs"]
mod raw;

/// What `src/idle/gil/sync.rs` is to the real lock. Its figures are small, so that what they are about comes to pass.
mod sync {
    pub use loom::sync::atomic::{AtomicU32, Ordering};
    use loom::sync::{Condvar, Mutex};

    pub const SPINS: u32 = 1;
    pub const OVERTAKES: u32 = 1;

    pub fn may_spin() -> bool {
        true
    }

    pub fn pause() {}

    /// Nobody forks.
    pub struct Process;

    impl Process {
        pub fn new() -> Self {
            Self
        }

        pub fn once_in_each(&self, _take_over: impl FnOnce()) {}
    }

    /// Sleepers draw numbers; all below `woken` were woken. Loom reports whoever is not as a deadlock.
    pub struct Berth {
        numbers: Mutex<Numbers>,
        changed: Condvar,
    }

    #[derive(Default)]
    struct Numbers {
        drawn: u32,
        woken: u32,
    }

    impl Berth {
        pub fn new() -> Self {
            Self {
                numbers: Mutex::default(),
                changed: Condvar::new(),
            }
        }

        pub fn sleep_if(&self, wanted: impl FnOnce() -> bool) -> bool {
            let mut numbers = self.numbers.lock().unwrap();
            if !wanted() {
                return false;
            }
            let mine = numbers.drawn;
            numbers.drawn += 1;
            while numbers.woken <= mine {
                numbers = self.changed.wait(numbers).unwrap();
            }
            true
        }

        pub fn wake_one(&self, before: impl FnOnce(bool)) {
            let mut numbers = self.numbers.lock().unwrap();
            let is_there = numbers.woken < numbers.drawn;
            before(is_there);
            if is_there {
                numbers.woken += 1;
                self.changed.notify_all();
            }
        }
    }
}

/// A figure that only the holder may touch: loom finds every race on it.
struct Guarded {
    lock: raw::RawGil,
    figure: UnsafeCell<u32>,
}

// SAFETY: whoever touches the figure has the lock; loom checks that.
unsafe impl Sync for Guarded {}
// SAFETY: as above.
unsafe impl Send for Guarded {}

impl Guarded {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            lock: raw::RawGil::new(),
            figure: UnsafeCell::new(0),
        })
    }

    fn add(&self, fair: bool) {
        self.lock.lock();
        // SAFETY: the lock is held.
        self.figure.with_mut(|figure| unsafe { *figure += 1 });
        self.lock.unlock(fair);
    }

    fn is(&self, expected: u32) {
        assert!(!self.lock.contended());
        assert!(self.lock.try_lock(), "nobody has it any more");
        // SAFETY: the lock is held.
        self.figure
            .with(|figure| assert_eq!(unsafe { *figure }, expected));
        self.lock.unlock(false);
    }
}

fn threads(turns: [&'static [bool]; 2], own: &'static [bool]) {
    loom::model(move || {
        let guarded = Guarded::new();
        let others = turns.map(|turns| {
            let guarded = guarded.clone();
            thread::spawn(move || turns.iter().for_each(|&fair| guarded.add(fair)))
        });
        own.iter().for_each(|&fair| guarded.add(fair));
        for other in others {
            other.join().unwrap();
        }
        guarded.is((turns[0].len() + turns[1].len() + own.len()) as u32);
    });
}

#[test]
fn three_threads_share_it() {
    threads([&[false], &[false]], &[false]);
}

#[test]
fn it_is_handed_over() {
    threads([&[true], &[true]], &[true]);
}

/// The third turn of the first thread finds the heir overtaken often enough.
#[test]
fn an_heir_is_overtaken_and_then_served() {
    threads([&[false], &[]], &[false, false, false]);
}

#[test]
fn both_ways_mix() {
    threads([&[true], &[false]], &[false, true]);
}
