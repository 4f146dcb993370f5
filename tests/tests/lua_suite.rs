//! Lua's own tests, version 5.4.8.
//!
//! They come inside a package of the registry, from which cargo fetches them into the target folder; nothing of them is
//! kept here. Each file runs by itself in its portable form. Those that need the C API, a test build of C Lua or more
//! memory than a test may take are left out: `api`, `code`, `heavy`, `all`, and `main`, whose command-line checks
//! `cli.rs` makes anew. Without a network the tests are skipped.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use sleepy_tests::program::{Finished, finish, sleepy_lua, workspace};

/// The package that holds the archive, and the archive's place in it.
const PACKAGE: &str = "luna-core";
const VERSION: &str = "2.16.0";
const ARCHIVE: &str = "tests/official/lua-5.4.8-tests.tar.gz";

/// What the suite itself calls its portable form.
const PORTABLE: &str = "_port=true _soft=true _nomsg=true Message=print";

/// The folder of the tests, or none if they can't be had.
fn suite() -> Option<&'static Path> {
    static SUITE: OnceLock<Option<PathBuf>> = OnceLock::new();
    SUITE.get_or_init(fetch).as_deref()
}

fn fetch() -> Option<PathBuf> {
    let folder = workspace().join("target/lua-suite");
    let tests = folder.join("lua-5.4.8-tests");
    if tests.join("all.lua").exists() {
        return Some(tests);
    }
    std::fs::create_dir_all(folder.join("src")).ok()?;
    std::fs::write(folder.join("src/lib.rs"), "").ok()?;
    let manifest = format!(
        "[package]\nname = \"lua-suite\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[dependencies]\n{PACKAGE} = \"={VERSION}\"\n[workspace]\n"
    );
    std::fs::write(folder.join("Cargo.toml"), manifest).ok()?;
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1"])
        .current_dir(&folder)
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout).ok()?;
    let package = metadata["packages"]
        .as_array()?
        .iter()
        .find(|package| package["name"] == PACKAGE)?;
    let archive = Path::new(package["manifest_path"].as_str()?)
        .parent()?
        .join(ARCHIVE);
    let unpacked = Command::new("tar")
        .arg("xzf")
        .arg(archive)
        .arg("-C")
        .arg(&folder)
        .status()
        .ok()?;
    unpacked.success().then_some(tests)
}

/// Runs one file of the suite.
fn run_file(file: &str, options: &[&str], prelude: &str) -> Option<Finished> {
    let Some(folder) = suite() else {
        eprintln!("SKIPPED: {PACKAGE} {VERSION} can't be fetched");
        return None;
    };
    let mut child = Command::new(sleepy_lua())
        .args(options)
        .args(["-e", prelude, file])
        .current_dir(folder)
        .env_remove("LUA_INIT")
        .env_remove("LUA_PATH")
        // `files.lua` wants a standard input that can't be sought.
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    drop(child.stdin.take());
    Some(finish(child))
}

#[track_caller]
fn passes(file: &str, options: &[&str]) {
    if let Some(end) = run_file(file, options, PORTABLE) {
        let tail: Vec<_> = end.stdout.lines().rev().take(5).collect();
        assert_eq!(
            end.code,
            Some(0),
            "{file}\n{}\nlast lines, backwards: {tail:?}",
            end.stderr
        );
    }
}

/// A test for each file.
macro_rules! files {
    ($($name:ident)*) => {
        $(#[test] fn $name() { passes(concat!(stringify!($name), ".lua"), &[]); })*
    };
}

files! {
    attrib bitwise bwcoercion calls closure constructs coroutine cstack db errors events files gc gengc goto literals
    locals math nextvar pm sort strings tpack tracegc utf8 vararg verybig
}

/// `big.lua` yields once and is to be resumed, in its whole size.
#[test]
fn big() {
    let prelude = "local f = assert(loadfile 'big.lua') f = coroutine.wrap(f) assert(f() == 'b') assert(f() == 'a')";
    if let Some(end) = run_file("bwcoercion.lua", &[], prelude) {
        assert_eq!(end.code, Some(0), "{}", end.stderr);
    }
}

/// Under a collection at every so many opportunities.
mod zeal {
    use super::passes;

    /// A test for each file.
    macro_rules! files {
        ($($name:ident)*) => {
            $(#[test] fn $name() { passes(concat!(stringify!($name), ".lua"), &["--zeal=200"]); })*
        };
    }

    files! { gc gengc closure coroutine locals nextvar events calls pm sort strings }
}
