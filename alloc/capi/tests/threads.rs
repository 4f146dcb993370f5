//! Threads of C programs: frees across threads, ends of threads, forks, cancellation, libraries loaded meanwhile.

mod common;

use common::{Folder, command, compile, library, stdout};
use std::fs;

/// Copies of a library with thread-local data: more than a thread's first table of such data has room for.
const LIBRARIES: usize = 40;

fn scenario(name: &str) {
    let folder = Folder::new(name);
    let Some(program) = compile("threads", folder.path(), &[]) else {
        return;
    };
    assert_eq!(stdout(command(&program, true).arg(name)), "all is well\n");
}

#[test]
fn blocks_are_freed_by_other_threads() {
    scenario("cross");
}

#[test]
fn blocks_outlive_their_threads() {
    scenario("come-and-go");
}

#[test]
fn destructors_of_thread_specific_data_allocate() {
    scenario("specific-data");
}

#[test]
fn a_child_of_many_threads_goes_on() {
    scenario("forks");
}

#[test]
fn a_thread_is_cancelled_while_its_heap_is_lent() {
    scenario("cancels");
}

#[test]
fn handlers_at_exit_allocate_while_threads_run() {
    scenario("exits");
}

#[test]
fn libraries_with_thread_local_data_are_loaded_meanwhile() {
    let folder = Folder::new("libraries");
    let Some(program) = compile("threads", folder.path(), &[]) else {
        return;
    };
    let flags = ["-shared", "-fPIC"];
    let Some(library) = compile("thread_local", folder.path(), &flags) else {
        return;
    };
    let mut run = command(&program, true);
    run.arg("libraries");
    for nth in 0..LIBRARIES {
        let copy = folder.path().join(format!("copy-{nth}.so"));
        fs::copy(&library, &copy).unwrap();
        run.arg(copy);
    }
    assert_eq!(stdout(&mut run), "all is well\n");
}

#[test]
fn the_library_is_opened_by_a_program_that_runs() {
    let folder = Folder::new("opened-late");
    let Some(program) = compile("threads", folder.path(), &[]) else {
        return;
    };
    let mut run = command(&program, false);
    assert_eq!(
        stdout(run.arg("opened-late").arg(library())),
        "all is well\n"
    );
}
