//! A deep stack for collectors that work by recursion.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

const DEEP_BYTES: libc::rlim_t = 8 << 30;

/// Starts this program again with a stack of up to 8 GiB, unless it has that already. (The main thread's stack grows as it
/// is used; but what lies below it is laid out when a program starts.)
///
/// # Errors
/// Those of the system.
pub fn deepen() -> io::Result<()> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is writable.
    if unsafe { libc::getrlimit(libc::RLIMIT_STACK, &mut limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let wanted = DEEP_BYTES.min(limit.rlim_max);
    if limit.rlim_cur >= wanted {
        return Ok(());
    }
    limit.rlim_cur = wanted;
    // SAFETY: `limit` is readable.
    if unsafe { libc::setrlimit(libc::RLIMIT_STACK, &limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Err(Command::new(std::env::current_exe()?)
        .args(std::env::args_os().skip(1))
        .exec())
}
