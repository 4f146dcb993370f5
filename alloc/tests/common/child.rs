//! Processes of a test's own: the test again in a new process, and children of a fork.

use std::process::{Command, Output};

const HOW: &str = "SLEEPY_TEST_HOW";

/// What [`again`] told this process to do, or `None` in the process that runs the tests.
pub fn how() -> Option<String> {
    std::env::var(HOW).ok()
}

/// Runs test `name` of this file again in a new process, where [`how`] says `how`.
///
/// The process ends itself if it takes longer than two minutes.
pub fn again(name: &str, how: &str, variables: &[(&str, &str)]) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(HOW, how)
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

/// The same for a process that has to end well; what it printed to standard error.
pub fn again_well(name: &str, how: &str, variables: &[(&str, &str)]) -> String {
    let output = again(name, how, variables);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.success(),
        "{how}: {}\n{said}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stdout)
    );
    said
}

/// Ends this process by a signal unless it ends within `seconds`, so that a deadlock fails its test.
pub fn end_after(seconds: u32) {
    // SAFETY: the default action of SIGALRM ends the process.
    unsafe { libc::alarm(seconds) };
}

/// Forks; the child runs `child` and exits with its result, without anybody's destructors.
///
/// `child` must not use locks of other threads: it calls the allocator, and no more than that of the standard library.
pub fn fork(child: impl FnOnce() -> i32) -> libc::pid_t {
    // SAFETY: the child keeps to the allocator, which is what is under test, and leaves at once.
    unsafe {
        let pid = libc::fork();
        if pid == 0 {
            end_after(120);
            libc::_exit(child());
        }
        assert!(pid > 0, "no fork");
        pid
    }
}

/// Waits for the end of a child; its exit code, or 1000 and the signal that ended it.
pub fn wait(pid: libc::pid_t) -> i32 {
    let mut status = 0;
    loop {
        // SAFETY: waits for a child.
        if unsafe { libc::waitpid(pid, &mut status, 0) } == pid {
            break;
        }
        let error = std::io::Error::last_os_error();
        assert_eq!(error.kind(), std::io::ErrorKind::Interrupted, "{error}");
    }
    if libc::WIFEXITED(status) {
        libc::WEXITSTATUS(status)
    } else {
        1000 + libc::WTERMSIG(status)
    }
}

/// Writes to standard error without the standard library's locks.
pub fn say(text: &str) {
    // SAFETY: the buffer is this long.
    unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
}
