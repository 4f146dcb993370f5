//! The calling thread's error number, which `free` must leave as it is: each system call here may be made by one.

#[cfg(any(target_os = "linux", target_os = "hurd", target_os = "dragonfly"))]
use libc::__errno_location as location;

#[cfg(any(target_os = "android", target_os = "netbsd", target_os = "openbsd"))]
use libc::__errno as location;

#[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
use libc::__error as location;

#[cfg(any(target_os = "solaris", target_os = "illumos"))]
use libc::___errno as location;

/// Makes a call that may set the error number, and puts back what it was.
pub(super) fn keeping<R>(call: impl FnOnce() -> R) -> R {
    // SAFETY: the C library returns a valid pointer to a number that only this thread uses.
    unsafe {
        let number = location();
        let before = *number;
        let result = call();
        *number = before;
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_call_leaves_the_number_alone() {
        let fail = |number| {
            // SAFETY: the number is this thread's.
            unsafe { *location() = number }
        };
        fail(libc::EXDEV);
        keeping(|| fail(libc::ENOMEM));
        let left = std::io::Error::last_os_error().raw_os_error();
        assert_eq!(left, Some(libc::EXDEV));
    }
}
