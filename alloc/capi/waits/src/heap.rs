//! Lending the calling thread's heap, if the allocator is there.

use core::ffi::{CStr, c_void};
use core::mem::transmute;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

/// `sleepy_idle_start` and `sleepy_idle_end`, or null. Relaxed: the code that they point at was loaded before anything of
/// this library ran, and a wait that comes before they are set is not lent for.
static START: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
static END: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Called by the dynamic linker.
#[used]
#[unsafe(link_section = ".init_array")]
static FIND: extern "C" fn() = find;

extern "C" fn find() {
    let [start, end] = [c"sleepy_idle_start", c"sleepy_idle_end"].map(named);
    if !start.is_null() && !end.is_null() {
        END.store(end, Ordering::Relaxed);
        START.store(start, Ordering::Relaxed);
    }
}

fn named(name: &CStr) -> *mut c_void {
    // SAFETY: looks a C string up among all loaded libraries.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}

/// Makes a wait, with the calling thread's heap lent.
///
/// Nothing has to be undone when the wait is cancelled: whatever uses the heap next takes it back.
#[inline(always)]
pub(crate) fn lent_for<R>(wait: impl FnOnce() -> R) -> R {
    let start = START.load(Ordering::Relaxed);
    if start.is_null() {
        return wait();
    }
    // SAFETY: the function has this type in `sleepy_malloc.h`, and stays loaded.
    let is_lent = unsafe { transmute::<*mut c_void, extern "C" fn() -> bool>(start)() };
    let result = wait();
    if is_lent {
        // SAFETY: as above.
        unsafe { transmute::<*mut c_void, extern "C" fn()>(END.load(Ordering::Relaxed))() };
    }
    result
}
