//! Running a peer in a fresh process.

use crate::usage::Usage;
use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Why a child gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    /// It could not be started.
    #[error("cannot start {0}: {1}")]
    Start(String, io::Error),
    /// Its output could not be read, or it could not be waited for.
    #[error("cannot wait for the process: {0}")]
    Wait(io::Error),
    /// It failed.
    #[error("{0}")]
    Failed(ExitStatus),
    /// It took longer than it may.
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    /// Its last line is not the JSON that was expected.
    #[error("not an answer: {0}")]
    NotJson(serde_json::Error),
}

/// What a child said and used.
#[derive(Debug)]
pub struct Answer {
    /// The last line that it wrote to its standard output.
    pub json: serde_json::Value,
    /// What it used from its start to its end, as the parent sees it.
    pub usage: Usage,
    /// Its time from start to end.
    pub wall_ns: u64,
}

/// Runs `program` with an environment of `env` and a path only, and takes the last line of its output.
///
/// # Errors
/// [`ChildError`]; the child is gone in any case.
pub fn run<S: AsRef<OsStr>>(
    program: &Path,
    args: impl IntoIterator<Item = S>,
    env: &[(&str, &str)],
    timeout: Duration,
) -> Result<Answer, ChildError> {
    let start = Instant::now();
    let mut child = Command::new(program)
        .args(args)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .envs(env.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| ChildError::Start(program.display().to_string(), e))?;
    let pid = child.id() as libc::pid_t;
    let mut pipe = child.stdout.take();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        pipe.as_mut()
            .map_or(Ok(0), |p| p.read_to_string(&mut text))?;
        Ok::<_, io::Error>(text)
    });
    let (status, usage) = match wait(pid, start + timeout).map_err(ChildError::Wait)? {
        Some(ended) => ended,
        None => {
            // SAFETY: the child has not been waited for, so the number is still its own.
            unsafe { libc::kill(pid, libc::SIGKILL) };
            wait(pid, Instant::now() + Duration::from_secs(60)).map_err(ChildError::Wait)?;
            return Err(ChildError::Timeout(timeout));
        }
    };
    let wall_ns = start.elapsed().as_nanos() as u64;
    let text = reader
        .join()
        .unwrap_or_else(|_| Err(io::Error::other("the reader panicked")))
        .map_err(ChildError::Wait)?;
    if !status.success() {
        return Err(ChildError::Failed(status));
    }
    let line = text.lines().last().unwrap_or("");
    Ok(Answer {
        json: serde_json::from_str(line).map_err(ChildError::NotJson)?,
        usage,
        wall_ns,
    })
}

/// Waits for the end of child `pid`, at most until `deadline`; `None` if it still runs.
fn wait(pid: libc::pid_t, deadline: Instant) -> io::Result<Option<(ExitStatus, Usage)>> {
    // SAFETY: no pointers; a descriptor or an error.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) } as libc::c_int;
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    let ended = loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut poll = libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one `pollfd`, writable.
        match unsafe { libc::poll(&mut poll, 1, left.as_millis() as libc::c_int) } {
            0 => break Ok(false),
            n if n > 0 => break Ok(true),
            _ => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    break Err(error);
                }
            }
        }
    };
    // SAFETY: `fd` is ours and is not used again.
    unsafe { libc::close(fd) };
    if !ended? {
        return Ok(None);
    }
    let mut status = 0;
    // SAFETY: all zeros is a valid `rusage`.
    let mut r: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both are writable; the child has ended and nobody else waits for it.
    if unsafe { libc::wait4(pid, &mut status, 0, &mut r) } != pid {
        return Err(io::Error::last_os_error());
    }
    Ok(Some((ExitStatus::from_raw(status), Usage::from_rusage(&r))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_counts() {
        let echo = run(
            Path::new("/bin/sh"),
            ["-c", "echo noise; echo '{\"a\": 1}'"],
            &[],
            Duration::from_secs(60),
        );
        assert_eq!(echo.unwrap().json["a"], 1);
    }

    #[test]
    fn failures_are_told_apart() {
        let sh = |text: &str, timeout| {
            run(Path::new("/bin/sh"), ["-c", text], &[], timeout).map(|a| a.json)
        };
        let minute = Duration::from_secs(60);
        assert!(matches!(sh("exit 3", minute), Err(ChildError::Failed(_))));
        assert!(matches!(
            sh("echo nonsense", minute),
            Err(ChildError::NotJson(_))
        ));
        assert!(matches!(
            sh("exec sleep 600", Duration::from_millis(20)),
            Err(ChildError::Timeout(_))
        ));
        assert!(matches!(
            run(Path::new("/nonexistent"), ["x"], &[], minute),
            Err(ChildError::Start(..))
        ));
    }
}
