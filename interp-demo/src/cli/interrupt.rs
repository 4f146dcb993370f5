//! Ctrl-C, and SIGTERM.

use std::mem::MaybeUninit;

/// Makes the next Ctrl-C, or SIGTERM, stop the running program at its next safe point or in its wait. The one after it ends the
/// process, unless this has been called again: a program that does not come to a safe point can still be ended.
pub fn stop_on_interrupt() {
    handle(libc::SIGINT, on_interrupt);
    handle(libc::SIGTERM, on_terminate);
}

fn handle(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a zeroed `sigaction` is a valid one: default action, no flags, an empty mask. The handlers only store to
    // atomics, which is async-signal-safe. Waits are to be interrupted, so that system calls are not restarted.
    unsafe {
        (*action.as_mut_ptr()).sa_sigaction = handler as usize;
        (*action.as_mut_ptr()).sa_flags = libc::SA_RESETHAND;
        // Without a handler the signal still ends the process.
        libc::sigaction(signal, action.as_ptr(), std::ptr::null_mut());
    }
}

/// Ends the process by SIGTERM if that is what has stopped the program: whoever has sent it is told so.
pub fn end_if_terminated() {
    if crate::runtime::was_terminated() {
        // SAFETY: neither call has preconditions; the default action ends the process.
        unsafe {
            libc::signal(libc::SIGTERM, libc::SIG_DFL);
            libc::raise(libc::SIGTERM);
        }
    }
}

extern "C" fn on_interrupt(_: libc::c_int) {
    crate::runtime::interrupt();
}

extern "C" fn on_terminate(_: libc::c_int) {
    crate::runtime::terminate();
}
