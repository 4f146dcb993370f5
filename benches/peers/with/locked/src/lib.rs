//! Installs a plain allocator behind one lock: what the workloads take then is the lock's doing.
//!
//! The environment chooses the lock: `BENCH_LOCK` is `sleepy`, `yield`, `spin-yield`, `parking-lot` or `std`. A thread that
//! allocates while it holds or waits for the lock, as some locks do, is served by the system's allocator.

mod free_lists;

use free_lists::{FreeLists, owns};
use loops::lock::{Contender, OneSpinnerYield, YieldAtOnce};
use peers_common::peer::Peer;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::CStr;
use std::ptr;
use std::sync::atomic::{AtomicU8, Ordering};

#[global_allocator]
static ALLOCATOR: Locked = Locked;

/// What this allocator is.
pub static PEER: Peer = Peer {
    name: "locked",
    version: || {
        format!(
            "behind the lock '{}'",
            names()[usize::from(kind())].to_string_lossy()
        )
    },
    idle_start: None,
    idle_end: None,
    stats: None,
};

/// The free lists behind each lock; a process uses one of them.
static SLEEPY: sleepy_alloc::lock::Mutex<FreeLists> =
    sleepy_alloc::lock::Mutex::new(FreeLists::new());
static YIELD: YieldAtOnce<FreeLists> = YieldAtOnce::new(FreeLists::new());
static SPIN_YIELD: OneSpinnerYield<FreeLists> = OneSpinnerYield::new(FreeLists::new());
static PARKING_LOT: parking_lot::Mutex<FreeLists> = parking_lot::Mutex::new(FreeLists::new());
static STD: std::sync::Mutex<FreeLists> = std::sync::Mutex::new(FreeLists::new());

const fn names() -> [&'static CStr; 5] {
    [c"sleepy", c"yield", c"spin-yield", c"parking-lot", c"std"]
}

/// No lock has been chosen yet.
const UNKNOWN: u8 = u8::MAX;

/// Number of the lock in [`names`]. Relaxed: every thread that looks finds the same.
static KIND: AtomicU8 = AtomicU8::new(UNKNOWN);

fn kind() -> u8 {
    match KIND.load(Ordering::Relaxed) {
        UNKNOWN => choose(),
        kind => kind,
    }
}

/// Looks at the environment, without allocating. What it does not know is the first.
#[cold]
fn choose() -> u8 {
    // SAFETY: nobody changes the environment of this process.
    let value = unsafe { libc::getenv(c"BENCH_LOCK".as_ptr()) };
    let found = names().iter().position(|name| {
        // SAFETY: two C strings; `getenv` returned one of them, or null, which is asked first.
        !value.is_null() && unsafe { libc::strcmp(name.as_ptr(), value) } == 0
    });
    let kind = found.unwrap_or(0) as u8;
    KIND.store(kind, Ordering::Relaxed);
    kind
}

thread_local! {
    /// Whether this thread holds the lock or waits for it.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `section` with the lock held; `None` if this thread is at the lock already.
fn locked<R>(section: impl FnOnce(&mut FreeLists) -> R) -> Option<R> {
    if INSIDE.replace(true) {
        return None;
    }
    let result = match kind() {
        0 => SLEEPY.with(section),
        1 => YIELD.with(section),
        2 => SPIN_YIELD.with(section),
        3 => PARKING_LOT.with(section),
        _ => STD.with(section),
    };
    INSIDE.set(false);
    Some(result)
}

struct Locked;

// SAFETY: a block is handed out once until it is freed, by the free lists under their lock or by the system; the address
// tells which, so a block goes back where it came from. Nothing here panics: no section does.
unsafe impl GlobalAlloc for Locked {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let block = match FreeLists::class(layout) {
            Some(class) => locked(|lists| lists.take(class)).unwrap_or(ptr::null_mut()),
            None => ptr::null_mut(),
        };
        if !block.is_null() {
            return block;
        }
        // SAFETY: passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if !owns(block) {
            // SAFETY: not of the lists, so of the system, with the same layout.
            unsafe { System.dealloc(block, layout) };
            return;
        }
        // What a lock frees at its own lock stays unused; none does.
        if let Some(class) = FreeLists::class(layout) {
            // SAFETY: the block came from `take` with this class, and its owner has given it up.
            locked(|lists| unsafe { lists.put(block, class) });
        }
    }
}
