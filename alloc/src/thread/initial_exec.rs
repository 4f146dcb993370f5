//! The calling thread's handle, in a program or in a shared library that is loaded with it.
//!
//! The compiler takes a library's thread-local data for data that may come at any time, and calls `__tls_get_addr` for
//! each access: in a shared library that takes as long as a `malloc`, and newer C libraries may allocate in it; in a
//! program the linker removes the call, but not the registers saved around it. Here the access is written out for data that is there from the start of every thread (the *initial-exec*
//! model of [ELF Handling For Thread-Local Storage](https://www.akkadia.org/drepper/tls.pdf)): its distance from the
//! thread pointer is a word that the dynamic linker fills in. A library that is loaded later needs room among the few
//! bytes that the C library keeps for such data; there are 16 of ours.

use crate::Heap;
use crate::heap::inner;
use core::arch::{asm, global_asm};

// What `Heap::unmade` makes.
global_asm!(
    ".pushsection .tdata.sleepy_alloc_handle, \"awT\", @progbits",
    ".globl sleepy_alloc_handle",
    ".hidden sleepy_alloc_handle",
    ".type sleepy_alloc_handle, @object",
    ".size sleepy_alloc_handle, 16",
    ".p2align 4",
    "sleepy_alloc_handle:",
    ".quad {lent}", // active
    ".quad 0",      // home
    ".popsection",
    lent = sym inner::LENT,
);

/// Runs `f` with the handle of the calling thread's heap, whether there is one or not.
#[inline(always)]
pub(crate) fn with<R>(f: impl FnOnce(&Heap) -> R) -> R {
    let handle: *const Heap;
    // SAFETY: adds the distance that the linker knows to the thread pointer; neither changes while the thread lives.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!(
            "mov {handle}, qword ptr fs:[0]",
            "add {handle}, qword ptr [rip + sleepy_alloc_handle@GOTTPOFF]",
            handle = out(reg) handle,
            options(pure, readonly, nostack),
        );
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        asm!(
            "adrp {distance}, :gottprel:sleepy_alloc_handle",
            "ldr {distance}, [{distance}, :gottprel_lo12:sleepy_alloc_handle]",
            "mrs {handle}, tpidr_el0",
            "add {handle}, {handle}, {distance}",
            distance = out(reg) _,
            handle = out(reg) handle,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    // SAFETY: the thread's copy of a handle that is laid out as `Heap` says; only this thread uses it.
    f(unsafe { &*handle })
}
