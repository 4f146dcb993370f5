//! Sweeping on the scavenger's side while an arena is parked.

use std::mem::forget;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use sleepy_alloc::{purge_now, stats};
use sleepy_gc::collections::{GcStr, GcTail, GcVec};
use sleepy_gc::idle::{Collector, Policy, SendArena, Sleeper, Switches};
use sleepy_gc::metrics::Pacing;
use sleepy_gc::{Arena, Budget, Collect, CollectionPhase, Gc, GcWeak, Lock, Rootable, barrier};

/// The sweeps of one test are not to be done by another's `purge_now`.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sweeps whatever is parked, again and again, until it is dropped.
struct Sweeper {
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Sweeper {
    fn new() -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let is_done = Arc::clone(&done);
        let sweep = move || {
            while !is_done.load(Ordering::Relaxed) {
                purge_now();
                thread::yield_now();
            }
        };
        Self {
            done,
            thread: Some(thread::spawn(sweep)),
        }
    }
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// Counts the objects of its kind.
#[derive(Collect)]
#[collect(require_static)]
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Collect)]
#[collect(no_drop)]
struct Node<'gc> {
    number: u64,
    next: Lock<Option<Gc<'gc, Node<'gc>>>>,
    weak: Option<GcWeak<'gc, [u64; 3]>>,
}

#[derive(Collect)]
#[collect(no_drop)]
struct Tree<'gc> {
    list: Option<Gc<'gc, Node<'gc>>>,
    texts: GcVec<'gc, GcStr<'gc>>,
    counted: GcVec<'gc, Gc<'gc, Counted>>,
    large: GcVec<'gc, GcTail<'gc, u32, u64>>,
}

type TreeArena = Arena<Rootable![Tree<'_>]>;

/// Enough for a few dozen pages.
const NODES: u64 = 20_000;
/// Elements of a tail that is so large that nobody but the owner frees it.
const HUGE: usize = 700_000;

/// An arena with garbage of all kinds among what is alive.
fn tree(count: &Arc<AtomicUsize>) -> TreeArena {
    let mut arena = TreeArena::new(|_| Tree {
        list: None,
        texts: GcVec::new(),
        counted: GcVec::new(),
        large: GcVec::new(),
    });
    grow(&mut arena, NODES, count);
    arena
}

fn grow(arena: &mut TreeArena, nodes: u64, count: &Arc<AtomicUsize>) {
    arena.mutate_root(|mc, root| {
        let first = root.list.map_or(0, |node| node.number + 1);
        for number in first..first + nodes {
            // Pages with a few objects alive, and pages with none.
            let is_kept = number % 8 < 2 && !(number % NODES / 1000).is_multiple_of(3);
            let target = Gc::new(mc, [number; 3]);
            let node = Node {
                number,
                next: Lock::new(root.list),
                weak: (number % 64 == 0).then(|| Gc::downgrade(target)),
            };
            let node = Gc::new(mc, node);
            if is_kept {
                root.list = Some(node);
            }
            if number % 100 == 0 {
                let text = GcStr::new(mc, &"text".repeat(number as usize % 300));
                let counted = Gc::new(mc, Counted::new(count));
                if number % 400 == 0 {
                    root.texts.push(mc, text);
                    root.counted.push(mc, counted);
                }
            }
            if number % 1000 == 0 {
                let large = GcTail::new(mc, number as u32, 5000, |_| number);
                if number % 2000 == 0 {
                    root.large.push(mc, large);
                }
            }
        }
        GcTail::<u32, u64>::new(mc, 0, HUGE, |at| at as u64);
    });
}

/// Forgets a part of what is alive.
fn thin_out(arena: &mut TreeArena, random: &mut Random) {
    arena.mutate_root(|mc, root| {
        for _ in 0..random.below(2000) {
            root.list = root.list.and_then(|node| node.next.get());
        }
        // The middle of the list.
        if let Some(node) = root.list {
            let mut behind = node.next.get();
            for _ in 0..random.below(500) {
                behind = behind.and_then(|node| node.next.get());
            }
            barrier::unlock!(Gc::write(mc, node), Node, next).set(behind);
        }
        for _ in 0..random.below(10) {
            root.texts.pop();
            root.large.pop();
            root.counted.pop();
        }
    });
}

/// Whether all is as it was made.
fn check(arena: &mut TreeArena) {
    arena.verify().unwrap();
    arena.mutate(|mc, root| {
        let mut node = root.list;
        while let Some(at) = node {
            if let Some(numbers) = at.weak.and_then(|weak| weak.upgrade(mc)) {
                assert!(numbers.iter().all(|&number| number == at.number));
            }
            node = at.next.get();
            assert!(node.is_none_or(|next| next.number < at.number));
        }
        for text in root.texts.iter() {
            assert!(
                text.as_str()
                    .as_bytes()
                    .chunks(4)
                    .all(|part| part == b"text")
            );
        }
        for large in root.large.iter() {
            let number = u64::from(*large.header());
            assert!(large.tail().iter().all(|&element| element == number));
        }
    });
}

/// Marks to the end, decides, and begins to sweep.
fn begin_to_sweep(arena: &mut TreeArena) {
    arena.finish_marking().unwrap().start_sweeping();
    let progress = arena.step(Budget::Work(1));
    assert!(is_zealous() || progress.phase == CollectionPhase::Sweeping);
}

/// Under zeal a step goes as far as it likes: what is to be half-way is not.
fn is_zealous() -> bool {
    std::env::var_os("SLEEPY_ZEAL").is_some()
}

/// What does not depend on who sweeps, and in which order.
fn figures(arena: &TreeArena) -> [u64; 6] {
    let metrics = arena.metrics();
    [
        arena.heap_bytes() as u64,
        metrics.total_gc_count() as u64,
        metrics.freed_bytes(),
        metrics.freed_objects(),
        metrics.live_bytes() as u64,
        metrics.cycles(),
    ]
}

#[test]
fn a_parked_arena_is_swept_to_the_last_page_without_a_destructor() {
    if is_zealous() {
        return;
    }
    let _alone = alone();
    let (count, of_twin) = (Arc::default(), Arc::default());
    let (mut arena, mut twin) = (tree(&count), tree(&of_twin));
    begin_to_sweep(&mut arena);
    begin_to_sweep(&mut twin);
    let metrics = arena.metrics().clone();
    let (freed, counted) = (metrics.freed_bytes(), count.load(Ordering::Relaxed));
    let before = stats();

    let parked = arena.park();
    purge_now();
    // The counters are right while it is parked.
    let delegated = metrics.freed_bytes() - freed;
    assert!(delegated > 900_000, "{delegated} bytes were freed");
    assert_eq!(metrics.delegated_bytes(), delegated);
    assert_eq!(
        count.load(Ordering::Relaxed),
        counted,
        "a destructor has run"
    );
    drop(parked);

    assert!(stats().delegated_pieces - before.delegated_pieces > 20);
    assert!(metrics.delegated_pages() > 20);
    check(&mut arena);
    let progress = arena.step(Budget::Unlimited);
    assert!(progress.finished_cycle);
    assert_eq!(progress.delegated_bytes as u64, delegated);
    // The huge one is its owner's to free, as those with destructors are.
    assert!(progress.freed_bytes >= progress.delegated_bytes + HUGE * 8);
    assert_eq!(arena.step(Budget::Unlimited).delegated_bytes, 0);
    twin.finish_cycle();
    twin.finish_cycle();
    assert_eq!(figures(&arena), figures(&twin));
    assert_eq!(
        count.load(Ordering::Relaxed),
        of_twin.load(Ordering::Relaxed)
    );
    check(&mut arena);
}

#[test]
fn the_owner_goes_on_after_any_page() {
    if is_zealous() {
        return;
    }
    let _alone = alone();
    let _sweeper = Sweeper::new();
    for taken_after in 0..60_u64 {
        let (count, of_twin) = (Arc::default(), Arc::default());
        let (mut arena, mut twin) = (tree(&count), tree(&of_twin));
        begin_to_sweep(&mut arena);
        let metrics = arena.metrics().clone();
        let parked = arena.park();
        // A page frees 20 KB or more; a sweep that ends before has less to free.
        let end = Instant::now() + Duration::from_millis(20);
        while metrics.delegated_bytes() < taken_after * 20_000 && Instant::now() < end {
            std::hint::spin_loop();
        }
        drop(parked);
        check(&mut arena);
        grow(&mut arena, 500, &count);
        check(&mut arena);
        arena.finish_cycle();
        begin_to_sweep(&mut twin);
        grow(&mut twin, 500, &of_twin);
        twin.finish_cycle();
        assert_eq!(figures(&arena), figures(&twin), "after {taken_after}");
    }
}

/// Parks, uses and checks an arena at random, while others sweep.
fn storm(seed: u64, turns: u32) {
    let mut random = Random(seed);
    let count = Arc::default();
    let mut arena = tree(&count);
    for _ in 0..turns {
        match random.below(12) {
            0 => arena.start_cycle(),
            1 => arena.finish_cycle(),
            2 if arena.collection_phase() != CollectionPhase::Sweeping => {
                begin_to_sweep(&mut arena);
            }
            3 => grow(&mut arena, random.below(2000), &count),
            4 => thin_out(&mut arena, &mut random),
            5 | 6 => {
                arena.step(Budget::Work(random.below(100_000) as usize));
            }
            7 => forget(arena.park()),
            _ => {
                let parked = arena.park();
                if random.below(2) == 0 {
                    thread::sleep(Duration::from_micros(random.below(200)));
                }
                drop(parked);
            }
        }
        match random.below(8) {
            // Every way in takes the arena back.
            0 => check(&mut arena),
            1 => arena.verify().unwrap(),
            2 => assert!(arena.heap_bytes() <= arena.metrics().heap_bytes()),
            3 => assert!(arena.allocation_debt() == 0 || arena.debt_due()),
            4 => assert_eq!(
                arena.has_work(),
                arena.collection_phase() != CollectionPhase::Sleeping
            ),
            5 => arena = Box::new(arena).map_root(|_, root| root),
            _ => {}
        }
    }
    check(&mut arena);
    arena.finish_cycle();
    check(&mut arena);
    forget(arena.park());
    drop(arena);
    assert_eq!(count.load(Ordering::Relaxed), 0);
}

#[test]
fn arenas_stay_whole_in_a_storm_of_parks() {
    let _alone = alone();
    let _sweeper = Sweeper::new();
    let threads = [1, 2, 3].map(|seed| thread::spawn(move || storm(seed * 0x9e37_79b9, 250)));
    for thread in threads {
        thread.join().unwrap();
    }
    assert!(stats().delegated_sweeps > 0);
}

#[test]
fn an_arena_may_be_dropped_while_it_is_swept() {
    /// Looks at objects when it is dropped.
    #[derive(Collect)]
    #[collect(unsafe_drop)]
    struct Curious<'gc> {
        nodes: GcVec<'gc, Gc<'gc, [u64; 4]>>,
        weak: Option<GcWeak<'gc, [u64; 4]>>,
    }
    impl Drop for Curious<'_> {
        fn drop(&mut self) {
            assert!(self.weak.is_some_and(|weak| !weak.is_dropped()));
            assert!(self.nodes.iter().all(|node| node[0] % 10 == 0));
        }
    }
    let _alone = alone();
    let _sweeper = Sweeper::new();
    for round in 0..50 {
        let mut arena = Arena::<Rootable![Curious<'_>]>::new(|mc| {
            let nodes = GcVec::new();
            for number in 0..10_000 {
                let node = Gc::new(mc, [number; 4]);
                if number % 10 == 0 {
                    nodes.push(mc, node);
                }
            }
            let weak = nodes.get(0).map(Gc::downgrade);
            Curious { nodes, weak }
        });
        arena.finish_marking().unwrap().start_sweeping();
        arena.step(Budget::Work(1));
        forget(arena.park());
        if round % 2 == 0 {
            thread::sleep(Duration::from_micros(round * 10));
        }
        drop(arena);
    }
}

#[test]
fn what_one_thread_has_lent_is_taken_back_by_another() {
    let _alone = alone();
    let _sweeper = Sweeper::new();
    let mut arena = SendArena::<Rootable![GcVec<'_, Gc<'_, u64>>]>::new(|_| GcVec::new());
    for round in 0..100 {
        arena.mutate(|mc, root| {
            root.clear();
            for number in 0..20_000 {
                let boxed = Gc::new(mc, number);
                if number % 100 == 0 {
                    root.push(mc, boxed);
                }
            }
        });
        while arena.collection_phase() != CollectionPhase::Sweeping {
            Collector::start_cycle(&mut arena);
            arena.step(Budget::Work(20_000));
        }
        Collector::lend(&mut arena);
        arena = thread::spawn(move || {
            if round % 2 == 0 {
                thread::sleep(Duration::from_micros(100));
            }
            let sum: u64 = arena.mutate(|_, root| root.iter().map(|number| *number).sum());
            assert_eq!(sum, 100 * (199 * 200 / 2));
            arena.verify().unwrap();
            arena.finish_cycle();
            arena
        })
        .join()
        .unwrap();
    }
}

#[test]
fn a_park_without_a_sweep_leaves_nothing_and_costs_no_cycle() {
    if is_zealous() {
        return;
    }
    let _alone = alone();
    let count = Arc::default();
    let mut arena = tree(&count);
    let before = stats();
    drop(arena.park());
    arena.start_cycle();
    arena.step(Budget::Work(1000));
    drop(arena.park());
    purge_now();
    let parked = arena.park();
    purge_now();
    drop(parked);
    assert_eq!(stats().delegated_sweeps, before.delegated_sweeps);
    assert_eq!(arena.collection_phase(), CollectionPhase::Marking);
    assert_eq!(arena.metrics().delegated_pages(), 0);
}

#[test]
fn the_work_of_the_sweeper_pays_off_debt() {
    if is_zealous() {
        return;
    }
    let _alone = alone();
    let count = Arc::default();
    let mut arena = tree(&count);
    arena.metrics().set_pacing(Pacing {
        keep_factor: 0.1,
        free_factor: 0.1,
        ..Pacing::DEFAULT
    });
    begin_to_sweep(&mut arena);
    arena.metrics().adjust_debt(1e6);
    let before = arena.allocation_debt();
    let parked = arena.park();
    purge_now();
    drop(parked);
    assert!(arena.allocation_debt() < before);
}

/// A wait that leaves an arena half-way through its sweep to the scavenger, by this policy.
fn wait_and_leave(policy: Policy) {
    let count = Arc::default();
    let mut arena = tree(&count);
    let mut sleeper = Sleeper::new(policy);
    begin_to_sweep(&mut arena);
    while sleeper.stats().delegated_bytes == 0 {
        sleeper.sleep(&mut arena, Duration::from_millis(300));
        let progress = sleeper.forced_step(&mut arena, Budget::Unlimited);
        check(&mut arena);
        if progress.delegated_bytes > 0 {
            return;
        }
        // The scavenger was kept from coming for so long.
        grow(&mut arena, NODES, &count);
        begin_to_sweep(&mut arena);
    }
}

#[test]
fn a_wait_that_may_not_sweep_leaves_that_to_the_scavenger() {
    if is_zealous() {
        return;
    }
    let _alone = alone();
    wait_and_leave(Policy {
        switches: Switches {
            sweep: false,
            ..Switches::ON
        },
        ..Policy::default()
    });
}

#[test]
fn a_wait_leaves_the_sweep_to_the_scavenger_where_the_policy_says_so() {
    if is_zealous() {
        return;
    }
    let _alone = alone();
    wait_and_leave(Policy {
        delegate_sweep: true,
        ..Policy::default()
    });
}

#[test]
fn what_nobody_came_for_is_not_left_again() {
    if is_zealous() {
        return;
    }
    let _alone = alone();
    let count = Arc::default();
    let mut arena = tree(&count);
    begin_to_sweep(&mut arena);
    while arena.metrics().freed_bytes() == 0 || !Collector::can_delegate(&arena) {
        assert!(
            arena.has_work(),
            "it never got to pages without destructors"
        );
        arena.step(Budget::Work(1));
    }
    let pages = arena.metrics().delegated_pages();
    drop(arena.park());
    if arena.metrics().delegated_pages() == pages {
        assert!(!Collector::can_delegate(&arena));
    }
    let mut sleeper = Sleeper::new(Policy {
        delegate_sweep: true,
        ..Policy::default()
    });
    while arena.has_work() {
        sleeper.sleep(&mut arena, Duration::from_millis(1));
    }
    check(&mut arena);
}

#[test]
fn a_child_sweeps_what_its_parent_has_left_itself() {
    let _alone = alone();
    let count = Arc::default();
    let mut arena = tree(&count);
    begin_to_sweep(&mut arena);
    forget(arena.park());
    // SAFETY: the child uses what this thread has made, and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let pieces = stats().delegated_pieces;
        purge_now();
        let as_it_was = stats().delegated_pieces == pieces;
        check(&mut arena);
        arena.finish_cycle();
        check(&mut arena);
        // SAFETY: ends the child without running what the parent registered.
        unsafe { libc::_exit(i32::from(!as_it_was)) };
    }
    let mut status = 0;
    // SAFETY: the pointer is to a local.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
    check(&mut arena);
}
