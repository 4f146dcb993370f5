//! Zeal: a step at every n-th opportunity, of a size that varies, and poison in freed cells.
//!
//! An opportunity is a callback: a step becomes due while it runs, so that an interpreter leaves it at its next safe
//! point. Turned on by `SLEEPY_ZEAL=n` in the environment when an arena is made, or by [`set_zeal`]. With the feature
//! `zeal` the verifier looks at the whole heap after each step, and panics at the first that leaves it wrong: that is how a
//! `Collect` or a store without a barrier is found near its place.

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// The state of an arena's zeal.
pub(super) struct Zeal {
    every: u32,
    count: Cell<u32>,
    /// A xorshift generator.
    random: Cell<u32>,
}

/// How much a zealous step does.
pub(super) enum Zealous {
    /// A cycle to its end.
    Whole,
    /// So many bytes of work.
    Piece(usize),
}

/// What freed cells are filled with: as a pointer it is not canonical, so that its use is a fault.
const POISON: u8 = 0xd5;

/// Overrides the environment, for programs that have an option for it; 0 for none. Relaxed: a number by itself.
static EVERY: AtomicU32 = AtomicU32::new(0);

/// Turns zeal on for arenas that are made from now on: a step at every `every`-th callback; 0 leaves it to the
/// environment.
pub fn set_zeal(every: u32) {
    EVERY.store(every, Ordering::Relaxed);
}

impl Zeal {
    pub(super) fn from_environment() -> Option<Self> {
        let every = match EVERY.load(Ordering::Relaxed) {
            0 => std::env::var("SLEEPY_ZEAL").ok()?.parse().ok()?,
            every => every,
        };
        (every > 0).then(|| Self {
            every,
            count: Cell::new(0),
            random: Cell::new(0x9e37_79b9),
        })
    }

    /// Counts an opportunity; whether it is to be taken.
    pub(super) fn is_due(&self) -> bool {
        self.count.set(self.count.get() + 1);
        if self.count.get() < self.every {
            return false;
        }
        self.count.set(0);
        true
    }

    pub(super) fn choose(&self) -> Zealous {
        let mut x = self.random.get();
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        self.random.set(x);
        if x.is_multiple_of(4) {
            Zealous::Whole
        } else {
            Zealous::Piece(1 + (x >> 8) as usize % 4096)
        }
    }
}

/// Fills a free cell.
///
/// # Safety
///
/// `cell` has so many bytes, which nobody reads any more.
pub(super) unsafe fn poison(cell: NonNull<u8>, bytes: usize) {
    // SAFETY: the caller's contract.
    unsafe { cell.write_bytes(POISON, bytes) };
}
