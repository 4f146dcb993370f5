//! The park word: who owns a heap, in one atomic word.
//!
//! ```text
//!            owner                scavenger
//! RUNNING ──lend──▶ PARKED ──claim──▶ SWEEPING
//!    ▲                │ ▲                │
//!    └───take_back────┘ └────give_up─────┘
//! ```
//!
//! | value | who owns the heap | what may follow |
//! |---|---|---|
//! | `RUNNING` | the owner | `PARKED` (owner) |
//! | `PARKED` | nobody | `RUNNING` (owner), `SWEEPING` (scavenger) |
//! | `SWEEPING` | the scavenger | `PARKED` (scavenger, never `RUNNING`), with `RECLAIM` (owner) |
//! | `SWEEPING + RECLAIM` | the scavenger, which is to stop | `PARKED + RECLAIM` (scavenger), with `WAITING` (owner) |
//! | `SWEEPING + RECLAIM + WAITING` | the same; the owner sleeps on the word | `PARKED + RECLAIM + WAITING` (scavenger, which wakes it) |
//! | `PARKED + RECLAIM (+ WAITING)` | nobody; the scavenger may not claim | `RUNNING` (owner) |
//!
//! Every change of owner is a release by the one that gives up and an acquire by the one that takes: all that the old
//! owner wrote to the heap is seen by the new one.

use crate::sync::{Futex, Ordering, pause, sequential};

const RUNNING: u32 = 0;
const PARKED: u32 = 1;
const SWEEPING: u32 = 2;
const STATE: u32 = 3;
/// The owner wants its heap back.
const RECLAIM: u32 = 4;
/// The owner sleeps on the word.
const WAITING: u32 = 8;

/// Rounds that an owner spins for its heap before it sleeps.
#[cfg(not(loom))]
const SPINS: u32 = 256;
#[cfg(loom)]
const SPINS: u32 = 1;

/// See the module's documentation.
pub struct ParkWord {
    futex: Futex,
}

impl ParkWord {
    /// The word of a heap that its owner has.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self {
            futex: Futex::new(RUNNING),
        }
    }

    /// The word of a heap that its owner has.
    #[cfg(loom)]
    #[expect(clippy::new_without_default, reason = "the real one is const")]
    pub fn new() -> Self {
        Self {
            futex: Futex::new(RUNNING),
        }
    }

    /// The owner gives the heap up.
    ///
    /// Only the owner leaves `RUNNING`, so a store is enough. Release publishes the heap to the claim; sequentially
    /// consistent because the owner reads the schedule next, see [`crate::schedule`].
    #[inline]
    pub fn lend(&self) {
        debug_assert_eq!(self.futex.word.load(Ordering::Relaxed), RUNNING);
        self.futex.word.store(PARKED, Ordering::SeqCst);
        sequential();
    }

    /// Whether a claim would succeed at this moment. Sequentially consistent: the scavenger asks this after it has
    /// left its schedule, see [`crate::schedule`].
    pub fn is_parked(&self) -> bool {
        sequential();
        self.futex.word.load(Ordering::SeqCst) == PARKED
    }

    /// The scavenger takes a parked heap whose owner does not want it back.
    pub fn claim(&self) -> bool {
        self.futex
            .word
            .compare_exchange(PARKED, SWEEPING, Ordering::SeqCst, Ordering::Relaxed)
            .is_ok()
    }

    /// Whether the owner wants back what the scavenger has. Relaxed: it decides how soon, not what is seen.
    #[inline]
    pub fn is_reclaimed(&self) -> bool {
        self.futex.word.load(Ordering::Relaxed) & RECLAIM != 0
    }

    /// Whether the heap is being swept. Asked by whoever has it, who knows then that it is the sweeper: nobody else changes the
    /// state meanwhile. Relaxed for that reason.
    #[inline]
    pub fn is_swept(&self) -> bool {
        self.futex.word.load(Ordering::Relaxed) & STATE == SWEEPING
    }

    /// The scavenger gives the heap up. Release publishes what it did to the owner's acquire.
    pub fn give_up(&self) {
        // One exclusive-or turns SWEEPING into PARKED and leaves the owner's flags alone.
        let before = self
            .futex
            .word
            .fetch_xor(SWEEPING ^ PARKED, Ordering::Release);
        debug_assert_eq!(before & STATE, SWEEPING);
        if before & WAITING != 0 {
            self.futex.wake_one();
        }
    }

    /// The owner takes its heap back, unless it is being swept: true if it has it.
    #[inline]
    pub fn try_take_back(&self) -> bool {
        match self.futex.word.compare_exchange(
            PARKED,
            RUNNING,
            Ordering::Acquire,
            Ordering::Relaxed,
        ) {
            Ok(_) | Err(RUNNING) => true,
            Err(_) => false,
        }
    }

    /// The owner takes its heap back, and waits for it if it is being swept.
    pub fn take_back(&self) {
        if self.try_take_back() {
            return;
        }
        // Relaxed: the flag asks; the acquire is in the exchange below.
        self.futex.word.fetch_or(RECLAIM, Ordering::Relaxed);
        let mut spins = 0;
        loop {
            let now = self.futex.word.load(Ordering::Relaxed);
            if now & STATE == PARKED {
                if self
                    .futex
                    .word
                    .compare_exchange(now, RUNNING, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
                {
                    return;
                }
            } else if spins < SPINS {
                spins += 1;
                pause();
            } else if now & WAITING == 0 {
                self.futex.word.fetch_or(WAITING, Ordering::Relaxed);
            } else {
                self.futex.wait(now, None);
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_heap_goes_round() {
        let park = ParkWord::new();
        assert!(!park.claim());
        park.lend();
        assert!(park.is_parked());
        assert!(park.claim());
        assert!(!park.claim());
        assert!(!park.is_reclaimed());
        park.give_up();
        assert!(park.claim());
        park.give_up();
        assert!(park.try_take_back());
        assert!(!park.claim());
    }

    #[test]
    fn an_end_too_many_is_harmless() {
        let park = ParkWord::new();
        assert!(park.try_take_back());
        park.lend();
        assert!(park.try_take_back());
        assert!(park.try_take_back());
    }

    #[test]
    fn an_owner_that_waits_is_woken() {
        let park = std::sync::Arc::new(ParkWord::new());
        park.lend();
        assert!(park.claim());
        let sweeper = {
            let park = park.clone();
            std::thread::spawn(move || {
                while !park.is_reclaimed() {
                    std::thread::yield_now();
                }
                // Long enough for the owner to give up spinning.
                std::thread::sleep(std::time::Duration::from_millis(5));
                park.give_up();
            })
        };
        park.take_back();
        sweeper.join().unwrap();
    }
}
