//! Programs that know nothing of the library lend their heaps, where the one for waits is preloaded as well.

mod common;

use common::{Folder, command, command_with, compile, find, library, stdout, waits_library};
use std::path::Path;

const WAITS: [&str; 20] = [
    "poll",
    "ppoll",
    "select",
    "pselect",
    "epoll_wait",
    "epoll_pwait",
    "nanosleep",
    "clock_nanosleep",
    "sleep",
    "usleep",
    "pthread_cond_wait",
    "pthread_cond_timedwait",
    "pthread_cond_clockwait",
    "pthread_join",
    "sem_wait",
    "sem_timedwait",
    "sem_clockwait",
    "wait",
    "waitpid",
    "wait4",
];

#[test]
fn each_kind_of_wait_gives_memory_back() {
    let folder = Folder::new("waits");
    let Some(program) = compile("waits", folder.path(), &[]) else {
        return;
    };
    let libraries = [library(), waits_library()];
    for wait in WAITS {
        let printed = stdout(command_with(&program, &libraries).arg(wait));
        assert_eq!(printed, "all is well\n", "{wait}");
    }
}

#[test]
fn without_the_allocator_waits_are_as_ever() {
    let folder = Folder::new("waits-alone");
    let Some(program) = compile("waits", folder.path(), &[]) else {
        return;
    };
    for wait in WAITS {
        let printed = stdout(command_with(&program, &[waits_library()]).arg(wait));
        assert_eq!(printed, "all is well\n", "{wait}");
    }
}

#[test]
fn a_thread_is_cancelled_in_a_wait() {
    let folder = Folder::new("waits-cancelled");
    let Some(program) = compile("waits", folder.path(), &[]) else {
        return;
    };
    for libraries in [&[waits_library()][..], &[library(), waits_library()]] {
        let printed = stdout(command_with(&program, libraries).arg("cancels"));
        assert_eq!(printed, "all is well\n");
    }
}

/// Threads, event loops and children of interpreters, which wait in all kinds of ways.
#[test]
fn interpreters_print_the_same() {
    for (program, script) in [
        ("ruby", "work.rb"),
        ("python3", "work.py"),
        ("node", "work.js"),
        ("perl", "work.pl"),
    ] {
        let Some(program) = find(program) else {
            continue;
        };
        let script = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/scripts")
            .join(script);
        let plain = stdout(command(&program, false).arg(&script));
        let lent = stdout(command_with(&program, &[library(), waits_library()]).arg(&script));
        assert_eq!(plain, lent);
    }
}
