//! An event loop in C lends its heap around `epoll_wait`, and its memory goes back.

mod common;

use common::{Folder, command, compile, stdout};

fn memory_comes_back(kind: &str) {
    let folder = Folder::new(&format!("loop-{kind}"));
    let Some(program) = compile("event_loop", folder.path(), &[]) else {
        return;
    };
    for preloaded in [false, true] {
        let printed = stdout(command(&program, preloaded).arg(kind));
        assert_eq!(printed, "all is well\n");
    }
}

#[test]
fn to_a_loop_with_a_fast_timer() {
    memory_comes_back("timer");
}

#[test]
fn to_a_loop_that_is_blocked() {
    memory_comes_back("blocked");
}

#[test]
fn to_a_loop_that_never_blocks() {
    memory_comes_back("busy");
}
