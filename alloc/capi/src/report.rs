//! What glibc's malloc has for tuning and reports, answered by an allocator that tunes itself.

use core::ffi::c_int;

/// Gives free memory back at once. 1: some went back.
#[unsafe(no_mangle)]
pub extern "C" fn malloc_trim(_keep_bytes: usize) -> c_int {
    c_int::from(sleepy_alloc::purge_now() > 0)
}

/// Takes any parameter, and does nothing with it: they are about how glibc's malloc works.
#[unsafe(no_mangle)]
pub extern "C" fn mallopt(_parameter: c_int, _value: c_int) -> c_int {
    1
}

/// The process's memory in glibc's terms: `arena` is what heaps hold, `uordblks` what is in use, `fordblks` the rest.
#[unsafe(no_mangle)]
pub extern "C" fn mallinfo2() -> libc::mallinfo2 {
    let stats = sleepy_alloc::stats();
    let held = stats.committed_bytes as usize;
    let used = stats.live_bytes as usize;
    libc::mallinfo2 {
        arena: held,
        ordblks: 1,
        smblks: 0,
        hblks: 0,
        hblkhd: 0,
        usmblks: 0,
        fsmblks: 0,
        uordblks: used,
        fordblks: held.saturating_sub(used),
        keepcost: 0,
    }
}

/// [`mallinfo2`] in the numbers of old; what is too large for them is the largest.
#[unsafe(no_mangle)]
pub extern "C" fn mallinfo() -> libc::mallinfo {
    let narrow = |bytes: usize| c_int::try_from(bytes).unwrap_or(c_int::MAX);
    let wide = mallinfo2();
    libc::mallinfo {
        arena: narrow(wide.arena),
        ordblks: narrow(wide.ordblks),
        smblks: 0,
        hblks: 0,
        hblkhd: 0,
        usmblks: 0,
        fsmblks: 0,
        uordblks: narrow(wide.uordblks),
        fordblks: narrow(wide.fordblks),
        keepcost: 0,
    }
}

/// Prints the allocator's figures to standard error.
#[unsafe(no_mangle)]
pub extern "C" fn malloc_stats() {
    sleepy_alloc::print_stats();
}
