//! For tests: what a fork's child can do.

/// Forks, and has the child do something that must not take for ever.
pub(super) fn in_child(f: impl FnOnce()) {
    // SAFETY: a child of one thread, in which glibc lets memory be allocated and threads be started; it leaves without
    // running what the parent has at its exit.
    unsafe {
        let child = libc::fork();
        assert!(child >= 0);
        if child == 0 {
            // Ends a child that hangs.
            libc::alarm(30);
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f));
            libc::_exit(i32::from(done.is_err()));
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0);
    }
}
