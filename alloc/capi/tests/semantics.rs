//! The C interface does what C and POSIX say, and what glibc does where they leave it open.

mod common;

use common::{Folder, command, compile, library, stdout};
use std::path::Path;

fn check(program: &Path, preloaded: bool, arguments: &[&str]) {
    let printed = stdout(command(program, preloaded).args(arguments));
    assert_eq!(printed, "all is well\n");
}

/// The program asks for nothing that is not so: glibc passes it.
#[test]
fn the_checks_hold_for_the_c_library() {
    let folder = Folder::new("semantics-plain");
    if let Some(program) = compile("semantics", folder.path(), &[]) {
        check(&program, false, &["plain"]);
    }
}

#[test]
fn the_checks_hold_when_preloaded() {
    let folder = Folder::new("semantics-preloaded");
    if let Some(program) = compile("semantics", folder.path(), &[]) {
        check(&program, true, &["ours"]);
    }
}

#[test]
fn the_checks_hold_when_linked() {
    if common::unsupported().is_some() {
        return;
    }
    let built = library().parent().unwrap().display().to_string();
    let flags = [
        format!("-L{built}"),
        "-Wl,--no-as-needed".into(),
        "-lsleepy_malloc".into(),
        format!("-Wl,-rpath,{built}"),
    ];
    let folder = Folder::new("semantics-linked");
    if let Some(program) = compile(
        "semantics",
        folder.path(),
        &flags.each_ref().map(String::as_str),
    ) {
        check(&program, false, &["ours"]);
    }
}
