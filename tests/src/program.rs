//! The program under test: `sleepy-lua`, built when a test first asks for it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// A run that takes longer than this hangs.
const DEADLINE: Duration = Duration::from_secs(120);

/// The path of `sleepy-lua`. `$SLEEPY_LUA` may name another build of it.
///
/// Cargo builds the programs of a package for that package's own tests only, so the tests here ask
/// cargo for it, in the profile that they were built with themselves.
///
/// # Panics
/// When it can't be built.
pub fn sleepy_lua() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| std::env::var_os("SLEEPY_LUA").map_or_else(build, PathBuf::from))
}

fn build() -> PathBuf {
    // target/PROFILE/deps/this-test
    let test = std::env::current_exe().expect("a test has a path");
    let folder = test.ancestors().nth(2).expect("a folder of the profile");
    let profile = match folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(profile) => profile,
    };
    let status = Command::new(env!("CARGO"))
        .args([
            "build",
            "--quiet",
            "--package",
            "interp-demo",
            "--bin",
            "sleepy-lua",
        ])
        .args(["--profile", profile, "--target-dir"])
        .arg(folder.parent().expect("a target folder"))
        .current_dir(workspace())
        .status()
        .expect("cargo runs");
    assert!(status.success(), "sleepy-lua can't be built");
    folder.join("sleepy-lua")
}

/// The root of the workspace.
///
/// # Panics
/// Never: this package has a place in it.
#[must_use]
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("tests/ is in the workspace")
}

/// One of the demo's scripts.
#[must_use]
pub fn script(name: &str) -> PathBuf {
    workspace().join("interp-demo/scripts").join(name)
}

/// A program that has ended.
#[derive(Debug)]
pub struct Finished {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
}

/// Runs a program to its end with nothing to read.
///
/// # Panics
/// When it can't be started, or doesn't end within two minutes.
pub fn run(command: &mut Command) -> Finished {
    finish(start(command))
}

/// Starts a program whose output is kept for [`finish`].
///
/// # Panics
/// When it can't be started.
pub fn start(command: &mut Command) -> Child {
    let command = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Waits for the end of a program, which must come within two minutes.
///
/// # Panics
/// When it doesn't.
pub fn finish(mut child: Child) -> Finished {
    let deadline = Instant::now() + DEADLINE;
    let pid = child.id();
    std::thread::scope(|scope| {
        // The pipes are emptied meanwhile, so that a talkative program can't block.
        let stdout = child
            .stdout
            .take()
            .map(|mut pipe| scope.spawn(move || read(&mut pipe)));
        let stderr = child
            .stderr
            .take()
            .map(|mut pipe| scope.spawn(move || read(&mut pipe)));
        let status = loop {
            if let Some(status) = child.try_wait().expect("a child can be waited for") {
                break status;
            }
            if Instant::now() > deadline {
                child.kill().expect("a child can be killed");
                panic!("process {pid} does not end");
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let text = |reader: Option<std::thread::ScopedJoinHandle<'_, String>>| {
            reader.map_or(String::new(), |reader| {
                reader.join().expect("a reader does not fail")
            })
        };
        Finished {
            code: status.code(),
            stdout: text(stdout),
            stderr: text(stderr),
        }
    })
}

fn read(pipe: &mut impl std::io::Read) -> String {
    let mut bytes = Vec::new();
    pipe.read_to_end(&mut bytes).expect("a pipe can be read");
    String::from_utf8_lossy(&bytes).into_owned()
}
