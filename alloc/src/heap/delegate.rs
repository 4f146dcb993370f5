//! Leaving work to the scavenger with a lent heap: for collectors, whose pages only they can sweep.

use super::inner::Inner;
use super::{Heap, Parked};
use crate::hook::{Hook, Outcome, Piece};
use crate::{fork, purge, scavenger, stats};
use core::cell::Cell;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

/// Pieces of what was left that an owner does itself at a park, where nobody else would: a few dozen microseconds.
const INLINE_PIECES: u32 = 64;

/// What the owner of a heap leaves to be done while the heap is lent: see [`Heap::park_with`].
#[derive(Clone, Copy)]
pub struct SweepHook {
    hook: Hook<Heap>,
    bytes: usize,
}

impl core::fmt::Debug for SweepHook {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("SweepHook")
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

impl SweepHook {
    /// A hook that calls `piece` with `data`, and the heap, until it answers that nothing more is left.
    ///
    /// `bytes` is about how much it may free: with less than 64 KiB it is not worth a lent heap by itself.
    ///
    /// `piece` runs on the scavenger's thread, or any other that gives memory back, as soon as one comes by; never in two places at a
    /// time. Whether the owner wants its heap back is asked before each call, so a call should take a microsecond or so.
    pub const fn new(
        piece: unsafe fn(NonNull<()>, &Heap) -> bool,
        data: NonNull<()>,
        bytes: usize,
    ) -> Self {
        let piece: Piece<Heap> = piece;
        Self {
            hook: Hook { piece, data },
            bytes,
        }
    }
}

impl Heap {
    /// As [`Self::park`], and leaves work to be done while the heap is lent: whoever sweeps it calls the hook first, piece by piece,
    /// and stops when the owner wants its heap back. It may not get round to it, or not be done with it: what is left over is the
    /// owner's again.
    ///
    /// Taking the heap back takes the hook away, whatever does that: the end of the guard, [`Self::take_back`], any use of the heap,
    /// and its drop. Nothing is left where the heap is lent already, nor in the child of a fork. Without a scavenger (see
    /// [`has_scavenger`](crate::has_scavenger)) a bounded part is done at once, at most once per interval, and the rest is not.
    ///
    /// # Safety
    /// From the park until the owner has the heap back, on any thread:
    /// - the hook's `data` is valid for its `piece`, and nobody else touches what `piece` touches;
    /// - `piece` allocates nothing, neither in the heap nor anywhere else, takes no lock, makes no system call and does not unwind;
    /// - `piece` frees blocks and runs of the heap, and releases units, through the reference that it is given, which it does not
    ///   keep, and which it neither parks nor takes back.
    ///
    /// # Example
    /// ```
    /// use sleepy_alloc::{Heap, SweepHook, purge_now};
    /// use std::cell::Cell;
    /// use std::ptr::NonNull;
    ///
    /// /// # Safety
    /// /// `data` is a `Cell<u32>` that nobody else uses.
    /// unsafe fn piece(data: NonNull<()>, _heap: &Heap) -> bool {
    ///     // SAFETY: the caller's contract.
    ///     let left: &Cell<u32> = unsafe { data.cast().as_ref() };
    ///     left.set(left.get() - 1);
    ///     left.get() > 0
    /// }
    ///
    /// let heap = Heap::new()?;
    /// let left = Cell::new(3);
    /// // SAFETY: `left` outlives the guard, and is not used before that is dropped.
    /// let parked = unsafe { heap.park_with(SweepHook::new(piece, NonNull::from(&left).cast(), 1 << 20)) };
    /// purge_now(); // or whenever the scavenger comes by
    /// drop(parked);
    /// assert_eq!(left.get(), 0);
    /// # Ok::<(), allocator_api2::alloc::AllocError>(())
    /// ```
    pub unsafe fn park_with(&self, hook: SweepHook) -> Parked<'_> {
        if let Some(heap) = self.in_use() {
            heap.hook.leave(hook.hook, hook.bytes, fork::generation());
            if !self.lend_if(hook.bytes >= purge::GATE_BYTES) {
                heap.hook.forget();
            }
        }
        Parked { heap: self }
    }

    /// Takes the heap back if it is lent, as the end of the guard does, also when that was forgotten.
    ///
    /// # Example
    /// ```
    /// let heap = sleepy_alloc::Heap::new()?;
    /// std::mem::forget(heap.park());
    /// // … a wait that no closure or guard can be put around …
    /// heap.take_back();
    /// # Ok::<(), allocator_api2::alloc::AllocError>(())
    /// ```
    #[inline]
    pub fn take_back(&self) {
        self.own();
    }

    /// Another handle of a heap that the caller has, for as long as it has it.
    fn view(heap: &'static Inner) -> ManuallyDrop<Self> {
        ManuallyDrop::new(Self {
            active: Cell::new(heap),
            home: Cell::new(heap),
        })
    }
}

impl Inner {
    /// Does what the owner has left, until `should_stop`; the caller has the heap. False: something is left.
    pub(crate) fn do_left(&'static self, should_stop: &dyn Fn() -> bool) -> bool {
        let outcome = self
            .hook
            .work(&Heap::view(self), fork::generation(), should_stop);
        let pieces = match outcome {
            Outcome::Nothing => return true,
            Outcome::Complete(pieces) | Outcome::Stopped(pieces) => pieces,
        };
        stats::DELEGATED_SWEEPS.add(1);
        stats::DELEGATED_PIECES.add(pieces.into());
        matches!(outcome, Outcome::Complete(_))
    }

    /// A bounded part of what the owner has left, by itself.
    pub(crate) fn do_left_slice(&'static self) {
        let looks = Cell::new(0);
        self.do_left(&|| {
            looks.set(looks.get() + 1);
            looks.get() > INLINE_PIECES
        });
    }

    /// Calls the scavenger if much lies free. Not in a sweep: whoever sweeps looks at what lies free next.
    #[inline]
    pub(super) fn nudge(&self) {
        if !self.park.is_swept() {
            scavenger::nudge();
        }
    }
}
