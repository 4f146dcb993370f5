//! The park word, what is left with it, the schedule, the lock, the remote word and the lazy pointer, in every order that the memory model
//! allows.
//!
//! `RUSTFLAGS="--cfg loom" LOOM_MAX_PREEMPTIONS=3 cargo test -p sleepy-alloc --release --test loom`
#![cfg(loom)]

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use loom::thread;
use sleepy_alloc::hook::{Hook, Outcome, Slot};
use sleepy_alloc::lazy::Lazy;
use sleepy_alloc::lock::Mutex;
use sleepy_alloc::park::ParkWord;
use sleepy_alloc::remote::{List, RemoteWord};
use sleepy_alloc::schedule::Schedule;
use std::ptr::NonNull;

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

/// A heap with what its owner leaves to be done: to make the figure that many larger.
struct Delegating {
    heap: Arc<Lent>,
    slot: Slot<Lent>,
}

// SAFETY: whoever touches the slot has the heap, as the park word says; loom checks that.
unsafe impl Sync for Delegating {}
// SAFETY: as above.
unsafe impl Send for Delegating {}

/// # Safety
/// `data` is a counter that is the caller's to touch.
unsafe fn touch_once_more(data: NonNull<()>, heap: &Lent) -> bool {
    heap.touch();
    // SAFETY: the caller's contract; loom checks it.
    let left: &UnsafeCell<u32> = unsafe { data.cast().as_ref() };
    left.with_mut(|left| {
        // SAFETY: as above.
        unsafe {
            *left -= 1;
            *left != 0
        }
    })
}

impl Delegating {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            heap: Lent::new(),
            slot: Slot::new(),
        })
    }

    fn sweep(&self) -> u32 {
        if self.slot.bytes() == 0 || !self.heap.park.claim() {
            return 0;
        }
        let outcome = self
            .slot
            .work(&self.heap, 0, &|| self.heap.park.is_reclaimed());
        self.heap.park.give_up();
        match outcome {
            Outcome::Nothing => 0,
            Outcome::Complete(pieces) | Outcome::Stopped(pieces) => pieces,
        }
    }
}

#[test]
fn what_is_left_is_touched_by_one_at_a_time() {
    loom::model(|| {
        let shared = Delegating::new();
        let scavenger = {
            let shared = shared.clone();
            thread::spawn(move || shared.sweep() + shared.sweep())
        };
        let mut done = 0;
        for _ in 0..2 {
            // It is gone when the owner has its heap back: nothing may touch it then.
            let left = Box::new(UnsafeCell::new(2u32));
            let data = NonNull::from(&*left).cast();
            let hook = Hook {
                piece: touch_once_more,
                data,
            };
            shared.slot.leave(hook, 1, 0);
            shared.heap.park.lend();
            shared.heap.park.take_back();
            shared.slot.forget();
            // SAFETY: the owner has the heap.
            done += 2 - left.with(|left| unsafe { *left });
        }
        assert_eq!(shared.slot.bytes(), 0);
        let swept = scavenger.join().unwrap();
        assert_eq!((swept, shared.heap.count()), (done, done));
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
            schedule.sleep(None);
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

/// Blocks of a page, 8 bytes each, as many as the models need.
const BLOCKS: usize = 3;

/// A page as far as the models go: cells for its owner, and the words for everybody.
struct Page {
    remote: RemoteWord,
    left: AtomicU32,
    mapped: AtomicBool,
    used: UnsafeCell<u32>,
    links: [UnsafeCell<usize>; BLOCKS],
    retired: UnsafeCell<u32>,
}

// SAFETY: the cells belong to the owner, a link to whoever has the block; loom checks that.
unsafe impl Sync for Page {}
// SAFETY: as above.
unsafe impl Send for Page {}

impl Page {
    fn with_used(used: u32) -> Arc<Self> {
        Arc::new(Self {
            remote: RemoteWord::new(),
            left: AtomicU32::new(0),
            mapped: AtomicBool::new(false),
            used: UnsafeCell::new(used),
            links: std::array::from_fn(|_| UnsafeCell::new(usize::MAX)),
            retired: UnsafeCell::new(0),
        })
    }

    /// The owner counts the blocks of a list as free, following every link.
    fn fold(&self, list: List) {
        let mut block = list.head;
        for _ in 0..list.count {
            // SAFETY: the list's blocks are the owner's.
            block = self.links[block / 8 - 1].with(|link| unsafe { *link });
        }
        assert_eq!(block, 0, "the list is as long as it says");
        // SAFETY: the caller is the owner.
        self.used.with_mut(|used| unsafe { *used -= list.count });
    }

    /// See `unowned::let_go`.
    fn let_go(&self) {
        loop {
            if let Some(list) = self.remote.take() {
                self.fold(list);
            }
            // SAFETY: the caller is the owner.
            let used = self.used.with(|used| unsafe { *used });
            if used == 0 {
                // SAFETY: as above.
                self.retired.with_mut(|retired| unsafe { *retired += 1 });
                return;
            }
            self.left.store(used, Ordering::Relaxed);
            if self.remote.give_away(true) {
                self.mapped.swap(true, Ordering::Release);
                return;
            }
        }
    }

    /// See `unowned::claim`.
    fn claim(&self) -> bool {
        let Some(claimed) = self.remote.claim() else {
            return false;
        };
        if claimed.mapped {
            self.mapped.swap(false, Ordering::Acquire);
        }
        self.fold(claimed.list);
        true
    }

    /// See `unowned::push`.
    fn push(&self, block: usize) {
        // SAFETY: the block is the caller's until it is pushed.
        let pushed = self.remote.push(block * 8, |next| {
            self.links[block - 1].with_mut(|link| unsafe { *link = next });
        });
        if pushed.unowned && pushed.count == self.left.load(Ordering::Relaxed) && self.claim() {
            self.let_go();
        }
    }

    /// How often the page's slices were given back, when nobody is left who could.
    fn times_retired(&self) -> u32 {
        // SAFETY: all other threads have been joined.
        self.retired.with(|retired| unsafe { *retired })
    }
}

#[test]
fn the_last_free_gives_an_unowned_page_back_once() {
    loom::model(|| {
        let page = Page::with_used(2);
        page.let_go();
        let other = {
            let page = page.clone();
            thread::spawn(move || page.push(1))
        };
        page.push(2);
        other.join().unwrap();
        assert_eq!(page.times_retired(), 1);
    });
}

#[test]
fn no_free_is_overlooked_while_a_page_is_given_away() {
    loom::model(|| {
        let page = Page::with_used(2);
        let others = [1, 2].map(|block| {
            let page = page.clone();
            thread::spawn(move || page.push(block))
        });
        page.let_go();
        for other in others {
            other.join().unwrap();
        }
        assert_eq!(page.times_retired(), 1);
    });
}

#[test]
fn a_sweep_and_a_free_of_the_last_block_meet() {
    loom::model(|| {
        let page = Page::with_used(1);
        page.let_go();
        let scavenger = {
            let page = page.clone();
            thread::spawn(move || {
                if page.claim() {
                    page.let_go();
                }
            })
        };
        page.push(1);
        scavenger.join().unwrap();
        assert_eq!(page.times_retired(), 1);
    });
}

#[test]
fn a_page_with_room_is_claimed_once_or_can_still_be_found() {
    loom::model(|| {
        let page = Page::with_used(1);
        let finder = {
            let page = page.clone();
            thread::spawn(move || {
                page.mapped.swap(false, Ordering::Acquire) && page.remote.claim().is_some()
            })
        };
        page.let_go();
        let found = finder.join().unwrap();
        assert_eq!(found, !page.mapped.swap(false, Ordering::Relaxed));
        assert_eq!(found, !page.remote.is_unowned());
    });
}

#[test]
fn a_lazy_value_is_published_once_and_whole() {
    loom::model(|| {
        let lazy = Arc::new(Lazy::<UnsafeCell<u32>>::new());
        let discarded = Arc::new(AtomicU32::new(0));
        let get = |lazy: &Lazy<UnsafeCell<u32>>, discarded: &AtomicU32| {
            // SAFETY: the values are leaked, and discarded ones freed once.
            let made = unsafe {
                lazy.get_or_make(
                    || Some(Box::leak(Box::new(UnsafeCell::new(7))).into()),
                    |late| {
                        discarded.fetch_add(1, Ordering::Relaxed);
                        drop(Box::from_raw(late.as_ptr()));
                    },
                )
            };
            // SAFETY: nobody writes it.
            assert_eq!(made.unwrap().with(|value| unsafe { *value }), 7);
            std::ptr::from_ref(made.unwrap()).addr()
        };
        let other = {
            let (lazy, discarded) = (lazy.clone(), discarded.clone());
            thread::spawn(move || get(&lazy, &discarded))
        };
        let mine = get(&lazy, &discarded);
        assert_eq!(mine, other.join().unwrap());
        assert!(discarded.load(Ordering::Relaxed) <= 1);
    });
}
