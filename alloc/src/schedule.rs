//! Paced wakes: when a park has to wake the scavenger, and when the scavenger comes by itself.
//!
//! While `mark` is set the scavenger has promised to look at everything within one period, so whoever has something for
//! it need not wake it. Nothing is lost, because both sides write first and read then:
//!
//! | owner | scavenger |
//! |---|---|
//! | publishes (`PARKED`, or pending bytes) | clears the mark, with a read-modify-write |
//! | reads the mark: clear → wake | looks at everything once more, then sleeps without a timeout |
//!
//! All four are sequentially consistent: either the owner finds the mark clear and wakes, or the scavenger finds what
//! the owner published. The wake word works the same way: the scavenger clears it before it looks, a waker sets it
//! after it has published, and the scavenger sleeps only while it is clear.
//!
//! | `mark` | `wake` | the scavenger |
//! |---|---|---|
//! | 1 | 0 | sleeps for a period at most, then takes a turn |
//! | 0 | 0 | sleeps until it is woken, or until what it keeps may go |
//! | any | 1 | will take a turn at once |

use crate::sync::{AtomicU32, Futex, Ordering, sequential};

const CLEAR: u32 = 0;
const SET: u32 = 1;

/// See the module's documentation.
pub struct Schedule {
    mark: AtomicU32,
    wake: Futex,
}

impl Schedule {
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self {
            mark: AtomicU32::new(CLEAR),
            wake: Futex::new(CLEAR),
        }
    }

    #[cfg(loom)]
    #[expect(clippy::new_without_default, reason = "the real one is const")]
    pub fn new() -> Self {
        Self {
            mark: AtomicU32::new(CLEAR),
            wake: Futex::new(CLEAR),
        }
    }

    /// Whether the scavenger comes by itself. Ask after what it is to find has been published.
    #[inline]
    pub fn is_marked(&self) -> bool {
        sequential();
        self.mark.load(Ordering::SeqCst) != CLEAR
    }

    /// Wakes the scavenger unless that was done already. True: this call did it.
    pub fn wake(&self) -> bool {
        let first = self.wake.word.swap(SET, Ordering::SeqCst) == CLEAR;
        if first {
            self.wake.wake_one();
        }
        first
    }

    /// The scavenger starts a turn: whoever publishes from now on has to wake it again, or finds the mark.
    pub fn begin_turn(&self) {
        self.wake.word.swap(CLEAR, Ordering::SeqCst);
    }

    /// The scavenger promises another turn, and sleeps until it is due.
    pub fn sleep_for(&self, period_ns: u64) {
        self.mark.store(SET, Ordering::SeqCst);
        self.wake.wait(CLEAR, Some(period_ns));
    }

    /// The scavenger takes its promise back. True: it had given one, and has to look at everything once more.
    pub fn leave(&self) -> bool {
        let was_marked = self.mark.swap(CLEAR, Ordering::SeqCst) != CLEAR;
        sequential();
        was_marked
    }

    /// The scavenger, which has given no promise, sleeps until it is woken, or for so long at most.
    pub fn sleep(&self, limit_ns: Option<u64>) {
        self.wake.wait(CLEAR, limit_ns);
    }

    /// Back to the beginning, in the child of a fork, where no scavenger runs.
    pub fn reset(&self) {
        self.mark.store(CLEAR, Ordering::SeqCst);
        self.wake.word.store(CLEAR, Ordering::SeqCst);
    }
}
