//! Work that the owner of a heap leaves to whoever sweeps it while it is lent.
//!
//! A slot stands beside each heap's park word, and is used by whoever has the heap:
//!
//! | park word | who may use the slot |
//! |---|---|
//! | `RUNNING` | the owner: [`Slot::leave`] before it lends, [`Slot::forget`] after it has taken back |
//! | `PARKED` | nobody, but for [`Slot::bytes`] |
//! | `SWEEPING` | the sweeper: [`Slot::work`], one piece after the other until the owner wants its heap back |
//!
//! So the release by which the owner lends publishes the hook, and all that the hook will touch, to the acquire of the claim; and
//! what the hook did is published by the sweeper's release to the acquire by which the owner takes back. The hook's data stays
//! valid meanwhile: an owner has its heap back before it uses or frees what the data points at.

use crate::sync::{AtomicUsize, Ordering, Plain};
use core::ptr::NonNull;

/// What a hook does: a bounded piece of the work; true while more is left. `H` is what it may use the heap through.
///
/// # Safety
/// See `Heap::park_with`.
pub type Piece<H> = unsafe fn(NonNull<()>, &H) -> bool;

/// A piece of work, with what it works on.
pub struct Hook<H: 'static> {
    pub piece: Piece<H>,
    pub data: NonNull<()>,
}

impl<H> Clone for Hook<H> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<H> Copy for Hook<H> {}

/// A hook, and the process that left it.
struct Left<H: 'static> {
    hook: Hook<H>,
    /// How many forks led to the process: see [`Slot::work`].
    generation: u32,
}

impl<H> Clone for Left<H> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<H> Copy for Left<H> {}

/// See the module's documentation.
pub struct Slot<H: 'static> {
    left: Plain<Option<Left<H>>>,
    /// What the hook may free, roughly; 0: there is none. Relaxed: it tells anybody whether a look is worth while, and publishes
    /// nothing.
    bytes: AtomicUsize,
}

/// What came of doing what was left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Nothing was left, or it was left by another process.
    Nothing,
    /// After so many pieces nothing more is left.
    Complete(u32),
    /// After so many pieces the owner wanted its heap back.
    Stopped(u32),
}

impl<H> Slot<H> {
    /// A slot without a hook.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self {
            left: Plain::new(None),
            bytes: AtomicUsize::new(0),
        }
    }

    /// A slot without a hook.
    #[cfg(loom)]
    #[expect(clippy::new_without_default, reason = "the real one is const")]
    pub fn new() -> Self {
        Self {
            left: Plain::new(None),
            bytes: AtomicUsize::new(0),
        }
    }

    /// About how much the hook that is left may free; 0: none is left. For anybody, at any time.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The owner leaves a hook, before it lends its heap.
    pub fn leave(&self, hook: Hook<H>, bytes: usize, generation: u32) {
        self.left.set(Some(Left { hook, generation }));
        self.bytes.store(bytes.max(1), Ordering::Relaxed);
    }

    /// Whoever has the heap takes the hook away: the work is done, or its owner is back.
    #[inline]
    pub fn forget(&self) {
        if self.bytes() != 0 {
            self.left.set(None);
            self.bytes.store(0, Ordering::Relaxed);
        }
    }

    /// Whoever has the heap does what was left, piece by piece, until nothing is left or `should_stop` says so, which is asked
    /// before each piece.
    ///
    /// What was left by the process of which this one is a fork is not done: the thread that left it may have been half-way through
    /// taking its heap back when the memory was copied, and is not there any more.
    pub fn work(&self, heap: &H, generation: u32, should_stop: &dyn Fn() -> bool) -> Outcome {
        let left = self
            .left
            .get()
            .filter(|left| left.generation == generation && self.bytes() != 0);
        let Some(Left { hook, .. }) = left else {
            self.forget();
            return Outcome::Nothing;
        };
        let mut pieces = 0;
        while !should_stop() {
            pieces += 1;
            // SAFETY: the hook's maker has promised that it may be called by whoever has the heap, until the owner has it back; the
            // caller has the heap, and the owner, which takes the hook away when it is back, is not.
            let more = unsafe { (hook.piece)(hook.data, heap) };
            if !more {
                self.forget();
                return Outcome::Complete(pieces);
            }
        }
        Outcome::Stopped(pieces)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use core::cell::Cell;

    type Count = Cell<u32>;

    /// # Safety
    /// `data` is a [`Count`] that nobody else uses.
    unsafe fn count_down(data: NonNull<()>, calls: &Count) -> bool {
        calls.set(calls.get() + 1);
        // SAFETY: the caller's contract.
        let left: &Count = unsafe { data.cast().as_ref() };
        left.set(left.get() - 1);
        left.get() != 0
    }

    fn hook(left: &Count) -> Hook<Count> {
        Hook {
            piece: count_down,
            data: NonNull::from(left).cast(),
        }
    }

    #[test]
    fn work_stops_before_any_piece_and_goes_on_there() {
        for stop_after in 0..=5 {
            let (slot, left, calls) = (Slot::new(), Count::new(5), Count::new(0));
            slot.leave(hook(&left), 100, 0);
            assert_eq!(slot.bytes(), 100);
            let first = slot.work(&calls, 0, &|| calls.get() == stop_after);
            let expected = match stop_after {
                5 => Outcome::Complete(5),
                pieces => Outcome::Stopped(pieces),
            };
            assert_eq!((first, left.get()), (expected, 5 - stop_after));
            let second = slot.work(&calls, 0, &|| false);
            let expected = match stop_after {
                5 => Outcome::Nothing,
                pieces => Outcome::Complete(5 - pieces),
            };
            assert_eq!((second, left.get(), slot.bytes()), (expected, 0, 0));
        }
    }

    #[test]
    fn what_is_taken_away_or_left_by_another_process_is_not_done() {
        let (slot, left, calls) = (Slot::new(), Count::new(5), Count::new(0));
        slot.leave(hook(&left), 0, 0);
        assert_ne!(slot.bytes(), 0, "a hook that promises nothing is one, too");
        slot.forget();
        assert_eq!(slot.work(&calls, 0, &|| false), Outcome::Nothing);
        slot.leave(hook(&left), 1, 0);
        assert_eq!(slot.work(&calls, 1, &|| false), Outcome::Nothing);
        assert_eq!(slot.work(&calls, 0, &|| false), Outcome::Nothing);
        assert_eq!((left.get(), calls.get(), slot.bytes()), (5, 0, 0));
    }
}
