//! The scavenger: one thread that sweeps parked heaps and gives memory back, and sleeps without a timeout when there is
//! nothing to do.
//!
//! It starts when a park has something to give or when much memory lies free, never before. It owns no heap and
//! allocates nothing; every signal but those of faults is blocked on it. After a fork the child starts its own when it
//! needs one.
//!
//! A turn: look at every heap (do what owners of parked ones have left, sweep those that are due and parked), then give back every unit that is due (see
//! [`crate::flight`]) and not kept (see [`crate::demand`]), then ask the policy when to come back. When a turn finds nothing it leaves the schedule, looks
//! once more, and sleeps until it is woken, or until what is kept may go; see [`crate::schedule`].
//!
//! | `STATE` | meaning |
//! |---|---|
//! | `ABSENT` | no thread; the next that needs one starts it |
//! | `STARTING` | somebody is starting it |
//! | `PRESENT` | it runs |
//! | `REFUSED` | the OS gives no thread: parks do a bounded part of the work themselves |

use crate::demand::Demand;
use crate::heap::inner::{self, Inner};
use crate::pace::Pace;
use crate::purge::{self, Due, HeapPlan, Turn};
use crate::schedule::Schedule;
use crate::{arena, flight, fork, late, options, os, stats, thread, unowned};
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

const ABSENT: u32 = 0;
const STARTING: u32 = 1;
const PRESENT: u32 = 2;
const REFUSED: u32 = 3;

/// See the module's documentation. Relaxed: it only decides who starts the thread; what the thread is to find is
/// published through the schedule.
static STATE: AtomicU32 = AtomicU32::new(ABSENT);
static SCHEDULE: Schedule = Schedule::new();
/// When a park last did work itself because there is no scavenger. Relaxed: pacing only.
static INLINE_AT_NS: AtomicU64 = AtomicU64::new(0);
/// That of the pages that belong to no heap.
static UNOWNED: Pace = Pace::new();
/// Dirt in lent heaps that was not worth a wake in any of them, since the last turn. Sequentially consistent: added to after the heap was
/// lent, set to 0 before the turn looks at heaps.
static SCATTERED_BYTES: AtomicUsize = AtomicUsize::new(0);
/// Unowned pages that a park sweeps itself at most.
const INLINE_PAGES: usize = 16;
/// Bytes that a park gives back itself at most.
const INLINE_BYTES: usize = 8 << 20;

/// Whether there is a scavenger, or can be one.
fn is_available() -> bool {
    options::scavenger() && STATE.load(Ordering::Relaxed) != REFUSED
}

/// Whether parked heaps are swept by another thread. False where an option says so, or where the system gives no thread: then each
/// park does a bounded part of the work itself, at most once per interval, and lends nothing.
///
/// # Example
/// ```
/// if !sleepy_alloc::has_scavenger() {
///     // Nobody will do what this thread leaves undone.
/// }
/// ```
#[must_use]
pub fn has_scavenger() -> bool {
    is_available()
}

/// Sees to it that the scavenger looks at what was published just now. True: that took a wake.
pub(crate) fn call() -> bool {
    if SCHEDULE.is_marked() {
        return false;
    }
    let woken = SCHEDULE.wake();
    if STATE.load(Ordering::Relaxed) != PRESENT {
        start();
    }
    woken
}

/// Bytes that lie free where no heap has to be swept for them.
#[inline]
pub(crate) fn purgeable_bytes() -> usize {
    arena::purgeable_bytes() + unowned::dirt_bytes()
}

/// Calls the scavenger if more memory lies free than is worth waiting for a park.
#[inline]
pub(crate) fn nudge() {
    if purgeable_bytes() > options::start_bytes() && is_available() {
        call();
    }
}

/// Tells the scavenger of a heap with much free memory, whose owner may never park: it will ask the owner to sweep.
pub(crate) fn tell(heap: &Inner) {
    let is_much = heap.dirt() > options::start_bytes();
    if is_much && !heap.sweep_wanted.load(Ordering::Relaxed) && is_available() {
        call();
    }
}

/// Tells the scavenger that others have freed much in a heap: if its owner waits, nobody else will notice.
#[cold]
pub(crate) fn tell_of_frees(heap: &Inner) {
    if heap.park.is_parked() && heap.dirt() >= purge::GATE_BYTES && is_available() {
        call();
    }
}

#[cold]
fn start() {
    if late::is_in_use() {
        return;
    }
    options::start();
    options::fix();
    // What was read or installed just now may say that there is to be none.
    if !options::scavenger() {
        return;
    }
    if STATE
        .compare_exchange(ABSENT, STARTING, Ordering::Relaxed, Ordering::Relaxed)
        .is_ok()
    {
        let state = if os::spawn(main) { PRESENT } else { REFUSED };
        stats::SCAVENGER_STARTS.add(u64::from(state == PRESENT));
        STATE.store(state, Ordering::Relaxed);
    }
}

/// In the child of a fork, which has no scavenger.
pub(crate) fn reset() {
    arena::set_kept_bytes(0);
    STATE.store(ABSENT, Ordering::Relaxed);
    SCHEDULE.reset();
}

extern "C" fn main(_: *mut libc::c_void) -> *mut libc::c_void {
    os::name_thread(c"sleepy-scavenge");
    let mut in_a_row = 0;
    let (mut watch, mut demand) = (arena::Watch::new(), Demand::new());
    loop {
        SCHEDULE.begin_turn();
        let (turn, held_bytes) = turn(&mut watch, &mut demand);
        let turn = Turn { in_a_row, ..turn };
        let period_ns =
            purge::next_turn_ns(turn, options::purge_delay_ns(), options::min_interval_ns());
        in_a_row = in_a_row.saturating_add(1);
        match period_ns {
            Some(period_ns) => {
                stats::SCAVENGER_SLEEPS.add(1);
                SCHEDULE.sleep_for(period_ns);
            }
            None if SCHEDULE.leave() => {}
            None => {
                // Parks that came before this took more for kept, and have called nobody: where it will not come back by itself it looks
                // once more. Both write first and read then, as with the schedule's mark.
                let unreported_bytes = demand.unreported_bytes(held_bytes);
                let before_bytes = arena::set_kept_bytes(unreported_bytes);
                if held_bytes == 0 && before_bytes > unreported_bytes {
                    continue;
                }
                stats::SCAVENGER_SLEEPS.add(1);
                SCHEDULE.sleep(demand.look_again_ns(os::now_ns(), held_bytes));
                in_a_row = 0;
            }
        }
    }
}

/// Looks at everything once. What it did, and how much it has kept.
fn turn(watch: &mut arena::Watch, demand: &mut Demand) -> (Turn, usize) {
    let now_ns = os::now_ns();
    let keep_bytes = demand.begin_turn(now_ns, watch.begin_turn());
    let tick = arena::advance_tick(now_ns, options::purge_delay_ns());
    stats::SCAVENGER_TURNS.add(1);
    let mut turn = Turn::default();
    SCATTERED_BYTES.store(0, Ordering::SeqCst);
    for heap in inner::heaps() {
        look_at(heap, now_ns, &mut turn);
    }
    look_at_unowned(now_ns, &mut turn);
    let mut due =
        Due::by_age(tick, options::purge_delay_ns(), os::page_bytes()).keeping(keep_bytes);
    let before_bytes = arena::pending_bytes();
    turn.gave_bytes = flight::pass(&mut due, usize::MAX);
    let came_bytes = (arena::pending_bytes() + turn.gave_bytes).saturating_sub(before_bytes);
    turn.pending_bytes = due.left_bytes() + came_bytes;
    turn.busy |= due.saw_young();
    arena::set_stuck_bytes(due.stuck_bytes());
    demand.end_turn(turn.gave_bytes);
    watch.end_turn();
    turn.work_ns = os::now_ns() - now_ns;
    (turn, due.held_bytes())
}

fn look_at(heap: &'static Inner, now_ns: u64, turn: &mut Turn) {
    // At once, and not when the heap has been dirty for a while: what dead objects hold can age only when it has been found. A look
    // costs a turn, so the scavenger stays on its schedule after it: parks that leave work do not wake it more often than that.
    if heap.hook.bytes() != 0 && heap.park.is_parked() {
        sweep_claimed(heap, |stop| heap.do_left(stop));
        turn.heap_later = true;
    }
    match heap
        .pace
        .plan(heap.park.is_parked(), heap.dirt(), now_ns, turn)
    {
        HeapPlan::Nothing | HeapPlan::Later => {}
        HeapPlan::Ask => heap.sweep_wanted.store(true, Ordering::Relaxed),
        HeapPlan::Sweep => {
            if sweep_parked(heap, now_ns) != Some(true) {
                // Its owner took it back: let it do a slice at its next park, and look again.
                heap.sweep_wanted.store(true, Ordering::Relaxed);
                turn.heap_later = true;
            }
        }
    }
}

/// Sweeps the pages that belong to no heap as if they were a parked one.
fn look_at_unowned(now_ns: u64, turn: &mut Turn) {
    if UNOWNED.plan(true, unowned::dirt_bytes(), now_ns, turn) == HeapPlan::Sweep {
        UNOWNED.reset();
        UNOWNED.swept(now_ns);
        unowned::sweep(usize::MAX);
        // A fork may have stopped it.
        turn.heap_later |= unowned::dirt_bytes() >= purge::GATE_BYTES;
    }
}

/// Claims and sweeps a heap. `None`: it is not parked; false: its owner wanted it back.
fn sweep_parked(heap: &'static Inner, now_ns: u64) -> Option<bool> {
    sweep_claimed(heap, |stop| {
        let complete = heap.do_left(stop) && heap.sweep(stop);
        if complete {
            heap.pace.swept(now_ns);
            heap.sweep_wanted.store(false, Ordering::Relaxed);
        }
        complete
    })
}

/// Claims a heap, and has `sweep` work on it until its owner wants it back. `None`: it is not parked; false: it was wanted back.
fn sweep_claimed(
    heap: &'static Inner,
    sweep: impl FnOnce(&dyn Fn() -> bool) -> bool,
) -> Option<bool> {
    let _working = fork::work();
    if !heap.park.claim() {
        return None;
    }
    let complete = sweep(&|| heap.park.is_reclaimed() || fork::is_wanted());
    heap.park.give_up();
    stats::PARKED_SWEEPS.add(1);
    stats::ABORTED_SWEEPS.add(u64::from(!complete));
    Some(complete)
}

/// Does a bounded part of the scavenger's work on the calling thread, which owns `heap`: at most once per interval.
#[cold]
pub(crate) fn work_inline(heap: &'static Inner) {
    let now_ns = os::now_ns();
    let last_ns = INLINE_AT_NS.load(Ordering::Relaxed);
    let due = now_ns.saturating_sub(last_ns) >= options::min_interval_ns();
    if !due
        || INLINE_AT_NS
            .compare_exchange(last_ns, now_ns, Ordering::Relaxed, Ordering::Relaxed)
            .is_err()
    {
        return;
    }
    heap.do_left_slice();
    heap.sweep_slice();
    unowned::sweep(INLINE_PAGES);
    let tick = arena::advance_tick(now_ns, options::purge_delay_ns());
    flight::pass(
        &mut Due::by_age(tick, options::purge_delay_ns(), os::page_bytes()),
        INLINE_BYTES,
    );
}

/// Lends what a park has to give; true if the heap was lent.
///
/// The owner calls this with its heap in hand. `let_go` is called right before the heap is lent; from then on the owner
/// does not touch it until it has taken it back.
#[cold]
pub(crate) fn lend(heap: &'static Inner, let_go: impl FnOnce()) -> bool {
    if !is_available() {
        work_inline(heap);
        return false;
    }
    if heap.sweep_wanted.load(Ordering::Relaxed) {
        heap.sweep_slice();
    }
    let (dirt_bytes, left_bytes) = (heap.dirt(), heap.hook.bytes());
    let is_dirty = dirt_bytes + left_bytes >= purge::GATE_BYTES;
    let is_worth_a_wake = dirt_bytes >= purge::DIRT_WAKE_BYTES
        || left_bytes >= purge::GATE_BYTES
        || purgeable_bytes() >= purge::PENDING_GATE_BYTES;
    let untold_bytes = purge::untold_bytes(dirt_bytes, heap.told.get());
    if is_dirty {
        heap.told.add(untold_bytes);
        let_go();
        heap.park.lend();
    }
    // After the heap is lent: see `schedule`.
    let is_much_together = untold_bytes != 0
        && SCATTERED_BYTES.fetch_add(untold_bytes, Ordering::SeqCst) + untold_bytes
            >= purge::SCATTERED_WAKE_BYTES;
    if (is_worth_a_wake || is_much_together) && call() {
        stats::PARK_WAKES.add(1);
    }
    is_dirty
}

/// Gives everything back that can be given back now, however young; returns the number of bytes that went to the OS.
///
/// Sweeps the calling thread's default heap and every parked heap; heaps in use on other threads give what lies free in
/// whole slices. Meant for tests, and for programs that know better than the allocator that they will be idle for long.
pub fn purge_now() -> usize {
    thread::with(|heap| {
        if heap.made().is_some() {
            heap.own().sweep(&|| false);
        }
    });
    for heap in inner::heaps() {
        sweep_parked(heap, os::now_ns());
    }
    unowned::sweep(usize::MAX);
    flight::pass(&mut Due::everything(os::page_bytes()), usize::MAX)
}
