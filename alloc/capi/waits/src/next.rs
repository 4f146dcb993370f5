//! The function of a name that comes after ours.

use core::ffi::{CStr, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

/// The version of those functions that changed what their arguments mean, on machines where they once meant something
/// else. Elsewhere there is no such version, and the plain name is the only one.
const CHANGED: &CStr = c"GLIBC_2.3.2";

/// A function of the next library, found when it is first needed.
pub(crate) struct Next {
    name: &'static CStr,
    /// The function, or null. Relaxed: its code is there since before ours ran, and every thread finds the same.
    found: AtomicPtr<c_void>,
}

impl Next {
    pub(crate) const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            found: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// The function's address. A C library without it ends the process: somebody calls it.
    #[inline(always)]
    pub(crate) fn get(&self) -> *mut c_void {
        let found = self.found.load(Ordering::Relaxed);
        if found.is_null() { self.find() } else { found }
    }

    #[cold]
    fn find(&self) -> *mut c_void {
        // SAFETY: looks C strings up among the libraries that come after this one.
        let found = unsafe {
            let changed = libc::dlvsym(libc::RTLD_NEXT, self.name.as_ptr(), CHANGED.as_ptr());
            if changed.is_null() {
                libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr())
            } else {
                changed
            }
        };
        if found.is_null() {
            // SAFETY: writes constants, and ends the process.
            unsafe {
                let text = b"sleepy-waits: there is no function of this name: ";
                libc::write(2, text.as_ptr().cast(), text.len());
                libc::write(2, self.name.as_ptr().cast(), self.name.count_bytes());
                libc::write(2, c"\n".as_ptr().cast(), 1);
                libc::abort();
            }
        }
        self.found.store(found, Ordering::Relaxed);
        found
    }
}
