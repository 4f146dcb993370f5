//! The words in which sockets report failures: those that programs written for LuaSocket compare with.

use std::borrow::Cow;
use std::io;

/// The time was over.
pub const TIMEOUT: &str = "timeout";

/// The other side has closed the connection, or the socket is closed.
pub const CLOSED: &str = "closed";

/// A host name that is not known.
pub const UNKNOWN_HOST: &str = "host or service not provided, or not known";

/// A port that is neither a number nor one that there can be.
pub const UNKNOWN_SERVICE: &str = "service not supported for socket type";

/// The message of a failed system call.
pub fn of(error: &io::Error) -> Cow<'static, str> {
    let known = match error.raw_os_error() {
        Some(libc::EADDRINUSE) => "address already in use",
        Some(libc::EISCONN) => "already connected",
        Some(libc::EACCES) => "permission denied",
        Some(libc::ECONNREFUSED) => "connection refused",
        Some(libc::ECONNABORTED | libc::ECONNRESET | libc::EPIPE) => CLOSED,
        Some(libc::ETIMEDOUT) => TIMEOUT,
        _ => return crate::vm::error::os_message(error),
    };
    Cow::Borrowed(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_failures_have_fixed_words() {
        let of = |code| of(&io::Error::from_raw_os_error(code)).into_owned();
        assert_eq!(of(libc::ECONNREFUSED), "connection refused");
        assert_eq!(of(libc::EPIPE), "closed");
        assert_eq!(of(libc::EADDRINUSE), "address already in use");
        assert_eq!(of(libc::ENETUNREACH), "Network is unreachable");
    }
}
