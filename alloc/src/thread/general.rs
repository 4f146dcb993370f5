//! The calling thread's handle, by the compiler's own means: one instruction in a program, a call of `__tls_get_addr` in
//! a shared library.

use crate::Heap;
use core::mem::ManuallyDrop;

thread_local! {
    static HANDLE: ManuallyDrop<Heap> = const { ManuallyDrop::new(Heap::unmade()) };
}

/// Runs `f` with the handle of the calling thread's heap, whether there is one or not.
#[inline(always)]
pub(crate) fn with<R>(f: impl FnOnce(&Heap) -> R) -> R {
    HANDLE.with(|handle| f(handle))
}
