//! Standard output that nobody reads any more.

/// Ends the process as the signal would that Rust programs ignore: silently, in the way that shells expect of a program
/// whose reader has gone away.
pub fn die_of_broken_pipe() -> ! {
    // SAFETY: both calls are async-signal-safe and take no memory; the default action of SIGPIPE ends the process.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        libc::raise(libc::SIGPIPE);
    }
    // Only if the signal is blocked.
    std::process::exit(128 + libc::SIGPIPE);
}
