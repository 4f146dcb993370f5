//! A pointer to something that is made when it is first needed, without a lock.
//!
//! | value | meaning |
//! |---|---|
//! | null | nobody has needed it yet: reads as empty |
//! | other | published for good |
//!
//! Who needs it first makes one and publishes it with a compare-and-swap; a loser gives its own back and uses the
//! winner's. The release of the swap publishes what lies behind the pointer to the acquire of every reader.

use crate::sync::{AtomicPtr, Ordering};
use core::ptr::{self, NonNull};

/// See the module's documentation. Zeroed memory is a valid empty one.
#[repr(transparent)]
pub struct Lazy<T>(AtomicPtr<T>);

impl<T> Lazy<T> {
    /// Nothing made yet.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// Nothing made yet.
    #[cfg(loom)]
    #[expect(clippy::new_without_default, reason = "the real one is const")]
    pub fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// What was made, if it was.
    #[inline]
    pub fn get(&self) -> Option<&'static T> {
        // SAFETY: null, or published below: initialised and never freed.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    /// What was made, or what `make` makes now; `discard` gets what came too late. `None`: it cannot be made.
    ///
    /// # Safety
    /// `make` gives an initialised value that is never moved or freed, unless by `discard`.
    pub unsafe fn get_or_make(
        &self,
        make: impl FnOnce() -> Option<NonNull<T>>,
        discard: impl FnOnce(NonNull<T>),
    ) -> Option<&'static T> {
        if let Some(made) = self.get() {
            return Some(made);
        }
        let fresh = make()?;
        match self.0.compare_exchange(
            ptr::null_mut(),
            fresh.as_ptr(),
            Ordering::AcqRel,
            Ordering::Acquire,
        ) {
            // SAFETY: the caller's promise.
            Ok(_) => Some(unsafe { fresh.as_ref() }),
            Err(winner) => {
                discard(fresh);
                // SAFETY: published by somebody else, under the same promise.
                unsafe { winner.as_ref() }
            }
        }
    }
}
