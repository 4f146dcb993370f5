//! Many threads in one arena: all that they share is checked, and the heap is verified over and over.
//!
//! `SLEEPY_SOAK_SECONDS=n` lets it go on for so long.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use sleepy_gc::collections::GcVec;
use sleepy_gc::idle::c_waits::{sleepy_wait_end, sleepy_wait_start};
use sleepy_gc::idle::{Gil, GilGuard, Interest, Policy, Queue, RecvError, SendArena, Sleeper};
use sleepy_gc::{Budget, Collect, Gc, Rootable, SendRoot};

const THREADS: u64 = 200;
const SLOTS: usize = 64;

#[derive(Collect, SendRoot)]
#[collect(no_drop)]
struct Item<'gc> {
    number: u64,
    /// `!number`.
    cookie: u64,
    next: Option<Gc<'gc, Item<'gc>>>,
}

type Slots<'gc> = GcVec<'gc, Option<Gc<'gc, Item<'gc>>>>;
type Shared = SendArena<Rootable![Slots<'_>]>;

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Puts a list of items into a slot.
fn store(arena: &Shared, slot: usize, number: u64) {
    arena.mutate(|mc, slots| {
        let mut list = None;
        for n in number..number + 20 {
            list = Some(Gc::new(
                mc,
                Item {
                    number: n,
                    cookie: !n,
                    next: list,
                },
            ));
        }
        slots.set(mc, slot, list);
    });
}

/// Follows a slot's list.
fn check(arena: &Shared, slot: usize) {
    arena.mutate(|_, slots| {
        let mut next = slots.get(slot).unwrap();
        while let Some(item) = next {
            assert_eq!(item.number, !item.cookie);
            next = item.next;
        }
    });
}

/// What threads wait for.
struct Things {
    queue: Queue<u64>,
    count: Mutex<u64>,
    counted: Condvar,
}

fn one_turn<'g>(
    gil: &'g Gil<Shared>,
    mut arena: GilGuard<'g, Shared>,
    sleeper: &mut Sleeper,
    things: &Things,
    random: &mut Random,
) -> GilGuard<'g, Shared> {
    let time = Duration::from_micros(random.below(300));
    let slot = random.below(SLOTS as u64) as usize;
    match random.below(15) {
        0..=3 => store(&arena, slot, random.below(1 << 40)),
        4 => check(&arena, slot),
        5 => sleeper.sleep(&mut arena, time),
        6 => {
            let (ours, _theirs) = UnixStream::pair().unwrap();
            let ready = sleeper.wait_fd(&mut arena, ours.as_fd(), Interest::Readable, Some(time));
            assert!(!ready.unwrap());
        }
        7 => match sleeper.recv(&mut arena, &things.queue, Some(time)) {
            Ok(number) => store(&arena, slot, number),
            Err(error) => assert_eq!(error, RecvError::Timeout),
        },
        8 => things.queue.try_send(random.below(1 << 40)).unwrap(),
        9 => {
            Gil::bump(&mut arena);
        }
        10 => {
            Gil::unlock_fair(arena);
            arena = gil.lock();
        }
        11 => {
            *sleeper.lock(&mut arena, &things.count) += 1;
            things.counted.notify_one();
        }
        12 => {
            let mut count = sleeper.lock(&mut arena, &things.count);
            let before = *count;
            let (condvar, same) = (&things.counted, |count: &mut u64| *count == before);
            let is_over = sleeper.wait_while(&mut arena, condvar, &mut count, same, Some(time));
            assert!(!is_over || *count > before);
        }
        13 => sleeper.call_c(&mut arena, || {
            // SAFETY: there is nothing to call.
            unsafe { sleepy_wait_start(None, std::ptr::null_mut()) };
            thread::sleep(time);
            sleepy_wait_end();
        }),
        _ if random.below(20) == 0 => arena.verify().unwrap(),
        _ => {
            let debt = arena.allocation_debt();
            sleeper.forced_step(&mut arena, Budget::Work(debt));
        }
    }
    arena
}

#[test]
fn two_hundred_threads_share_an_arena() {
    let seconds: Option<u64> = std::env::var("SLEEPY_SOAK_SECONDS")
        .ok()
        .and_then(|text| text.parse().ok());
    let end = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let gil = Arc::new(Gil::new(Shared::new(|mc| {
        let slots = GcVec::new();
        for _ in 0..SLOTS {
            slots.push(mc, None);
        }
        slots
    })));
    let things = Arc::new(Things {
        queue: Queue::unbounded(),
        count: Mutex::new(0),
        counted: Condvar::new(),
    });
    let threads: Vec<_> = (1..=THREADS)
        .map(|seed| {
            let (gil, things) = (Arc::clone(&gil), Arc::clone(&things));
            thread::spawn(move || {
                let mut random = Random(seed * 0x9e37_79b9);
                let mut sleeper = Sleeper::new(Policy::default());
                let mut arena = gil.lock();
                let mut turn = 0;
                while end.map_or(turn < 60, |end| Instant::now() < end) {
                    arena = one_turn(&gil, arena, &mut sleeper, &things, &mut random);
                    turn += 1;
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert!(!gil.contended());
    let mut arena = gil.lock();
    (0..SLOTS).for_each(|slot| check(&arena, slot));
    arena.finish_cycle();
    arena.verify().unwrap();
}
