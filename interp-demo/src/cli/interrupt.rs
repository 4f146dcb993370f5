//! Ctrl-C.

use std::mem::MaybeUninit;

/// Makes the next Ctrl-C stop the running program at its next safe point or in its wait. The one after it ends the
/// process, unless this has been called again: a program that does not come to a safe point can still be ended.
pub fn stop_on_interrupt() {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a zeroed `sigaction` is a valid one: default action, no flags, an empty mask. The handler only stores to
    // an atomic, which is async-signal-safe. Waits are to be interrupted, so that system calls are not restarted.
    unsafe {
        (*action.as_mut_ptr()).sa_sigaction = on_interrupt as extern "C" fn(libc::c_int) as usize;
        (*action.as_mut_ptr()).sa_flags = libc::SA_RESETHAND;
        // Without a handler Ctrl-C still ends the process.
        libc::sigaction(libc::SIGINT, action.as_ptr(), std::ptr::null_mut());
    }
}

extern "C" fn on_interrupt(_: libc::c_int) {
    crate::runtime::interrupt();
}
