//! Running programs with and without the library.
#![allow(dead_code, reason = "each test file uses a part of this")]

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::{env, fs};

/// Seconds that a program may take before it is killed: far more than any takes on a busy machine.
const LIMIT_SECONDS: &str = "120";

/// Why nothing can be preloaded in this build.
pub fn unsupported() -> Option<&'static str> {
    if cfg!(asan) {
        Some("a sanitizer wants its own malloc")
    } else if !cfg!(target_os = "linux") {
        Some("preloading is tested on Linux")
    } else {
        None
    }
}

/// The shared library that is `malloc`.
pub fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| build("sleepy-malloc", "libsleepy_malloc.so"))
}

/// The shared library that lends heaps around waits.
pub fn waits_library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| build("sleepy-waits", "libsleepy_waits.so"))
}

/// Builds a shared library with the profile and the flags of this test.
///
/// Cargo makes no `cdylib` for a package's own tests, so they ask it for one.
fn build(package: &str, file: &str) -> PathBuf {
    // target[/TRIPLE]/PROFILE/deps/TEST
    let test = env::current_exe().unwrap();
    let built = test.ancestors().nth(2).unwrap();
    let profile = match built.file_name().unwrap().to_str().unwrap() {
        "debug" => "dev",
        name => name,
    };
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["build", "--quiet", "--lib", "--package", package])
        .args(["--profile", profile])
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    let above = built.parent().unwrap();
    match above.file_name().and_then(OsStr::to_str) {
        Some(triple) if triple.contains("-linux-") => {
            cargo.args(["--target", triple, "--target-dir"]);
            cargo.arg(above.parent().unwrap());
        }
        _ => {
            cargo.arg("--target-dir").arg(above);
        }
    }
    assert!(
        cargo.status().unwrap().success(),
        "{package} does not build"
    );
    built.join(file)
}

/// Where a program is, or `None` with a message that its test is skipped.
pub fn find(program: &str) -> Option<PathBuf> {
    if let Some(reason) = unsupported() {
        println!("SKIPPED: {reason}");
        return None;
    }
    // The system's own programs come before wrappers that choose among several.
    let path = env::var_os("PATH").unwrap_or_default();
    let found = [PathBuf::from("/usr/bin"), PathBuf::from("/usr/local/bin")]
        .into_iter()
        .chain(env::split_paths(&path))
        .map(|folder| folder.join(program))
        .find(|file| file.is_file());
    if found.is_none() {
        println!("SKIPPED: there is no {program} here");
    }
    found
}

/// A program that is killed when it takes too long, with the library preloaded or without.
pub fn command(program: &Path, preloaded: bool) -> Command {
    let libraries: &[&Path] = if preloaded { &[library()] } else { &[] };
    command_with(program, libraries)
}

/// A program that is killed when it takes too long, with these libraries preloaded.
pub fn command_with(program: &Path, libraries: &[&Path]) -> Command {
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", LIMIT_SECONDS, "env", "LC_ALL=C"]);
    if !libraries.is_empty() {
        let mut setting = OsString::from("LD_PRELOAD=");
        for library in libraries {
            setting.push(library);
            setting.push(" ");
        }
        command.arg(setting);
    }
    command.arg(program);
    command
}

/// What a program printed, which must have ended well.
pub fn stdout(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert_success(command, &output);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Panics with all that a program printed, if it did not end well.
pub fn assert_success(command: &Command, output: &Output) {
    assert!(
        output.status.success(),
        "{command:?} ended with {}\n{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
}

/// Runs a program without and with the library; both print the same.
pub fn same_output(program: &str, prepare: impl Fn(&mut Command)) {
    let Some(path) = find(program) else { return };
    let [plain, preloaded] = [false, true].map(|preloaded| {
        let mut command = command(&path, preloaded);
        prepare(&mut command);
        stdout(&mut command)
    });
    assert!(!plain.is_empty(), "{program} prints nothing");
    assert_eq!(plain, preloaded, "{program} prints something else");
}

/// Compiles a C file of `tests/c`, or `None` with a message that the test is skipped.
pub fn compile(name: &str, folder: &Path, flags: &[&str]) -> Option<PathBuf> {
    let compiler = find("gcc").or_else(|| find("cc"))?;
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = folder.join(name);
    let mut command = Command::new(compiler);
    command
        // Calls are made as they stand, so that each can be checked.
        .args(["-std=gnu11", "-O1", "-g", "-fno-builtin", "-pthread"])
        .args(["-Wall", "-Wextra"])
        .arg("-I")
        .arg(package.join("include"))
        .arg("-o")
        .arg(&program)
        .arg(package.join("tests/c").join(name).with_extension("c"))
        .args(flags)
        .arg("-ldl");
    let output = command.output().unwrap();
    assert_success(&command, &output);
    Some(program)
}

/// A folder of this test's own, removed when it is dropped.
pub struct Folder(PathBuf);

impl Folder {
    /// Makes an empty folder.
    pub fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("sleepy-malloc-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
