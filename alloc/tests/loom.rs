//! The park word, the schedule and the lock, in every order that the memory model allows.
//!
//! `RUSTFLAGS="--cfg loom" LOOM_MAX_PREEMPTIONS=3 cargo test -p sleepy-alloc --release --test loom`
#![cfg(loom)]

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use sleepy_alloc::lock::Mutex;
use sleepy_alloc::park::ParkWord;
use sleepy_alloc::schedule::Schedule;

/// A heap as far as the models go: a figure that only the one who has the heap may touch. Loom finds every race on it.
struct Lent {
    park: ParkWord,
    figure: UnsafeCell<u32>,
}

// SAFETY: whoever touches the figure has the heap, as the park word says; loom checks that.
unsafe impl Sync for Lent {}
// SAFETY: as above.
unsafe impl Send for Lent {}

impl Lent {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            park: ParkWord::new(),
            figure: UnsafeCell::new(0),
        })
    }

    fn touch(&self) {
        // SAFETY: the caller has the heap.
        self.figure.with_mut(|figure| unsafe { *figure += 1 });
    }

    fn count(&self) -> u32 {
        // SAFETY: the caller has the heap.
        self.figure.with(|figure| unsafe { *figure })
    }

    /// Sweeps if the heap is parked; stops half way if it is wanted back.
    fn sweep(&self) -> bool {
        let claimed = self.park.claim();
        if claimed {
            self.touch();
            if !self.park.is_reclaimed() {
                self.touch();
            }
            self.park.give_up();
        }
        claimed
    }
}

#[test]
fn a_heap_has_one_owner_at_a_time() {
    loom::model(|| {
        let heap = Lent::new();
        let scavenger = {
            let heap = heap.clone();
            thread::spawn(move || u32::from(heap.sweep()) + u32::from(heap.sweep()))
        };
        for _ in 0..2 {
            heap.touch();
            heap.park.lend();
            heap.park.take_back();
            heap.touch();
        }
        let sweeps = scavenger.join().unwrap();
        assert!((4 + sweeps..=4 + 2 * sweeps).contains(&heap.count()));
    });
}

#[test]
fn two_sweepers_share_a_parked_heap() {
    loom::model(|| {
        let heap = Lent::new();
        heap.park.lend();
        let sweepers = [0, 1].map(|_| {
            let heap = heap.clone();
            thread::spawn(move || heap.sweep())
        });
        heap.park.take_back();
        heap.touch();
        for sweeper in sweepers {
            sweeper.join().unwrap();
        }
        heap.touch();
    });
}

#[test]
fn an_owner_that_sleeps_for_its_heap_is_woken() {
    loom::model(|| {
        let heap = Lent::new();
        heap.park.lend();
        assert!(heap.park.claim());
        let owner = {
            let heap = heap.clone();
            thread::spawn(move || {
                heap.park.take_back();
                heap.touch();
            })
        };
        heap.touch();
        heap.park.give_up();
        owner.join().unwrap();
        assert_eq!(heap.count(), 2);
    });
}

/// Turns until the heap is found parked: one on the schedule, then asleep without a timeout until somebody wakes it.
fn scavenge(heap: &Lent, schedule: &Schedule) {
    let mut promised = false;
    loop {
        schedule.begin_turn();
        if heap.park.is_parked() && heap.sweep() {
            return;
        }
        if !promised {
            promised = true;
            schedule.sleep_for(1);
        } else if !schedule.leave() {
            schedule.sleep();
        }
    }
}

#[test]
fn no_park_is_missed() {
    loom::model(|| {
        let heap = Lent::new();
        let schedule = Arc::new(Schedule::new());
        let scavenger = {
            let (heap, schedule) = (heap.clone(), schedule.clone());
            thread::spawn(move || scavenge(&heap, &schedule))
        };
        heap.touch();
        heap.park.lend();
        if !schedule.is_marked() {
            schedule.wake();
        }
        // It ends only when it has found the park; a lost wake would be a deadlock.
        scavenger.join().unwrap();
        heap.park.take_back();
        heap.touch();
    });
}

#[test]
fn a_lock_lets_one_in_at_a_time_and_wakes_who_sleeps() {
    loom::model(|| {
        let count = Arc::new(Mutex::new(0));
        let others = [0, 1].map(|_| {
            let count = count.clone();
            thread::spawn(move || *count.lock() += 1)
        });
        *count.lock() += 1;
        for other in others {
            other.join().unwrap();
        }
        assert_eq!(*count.lock(), 3);
    });
}
