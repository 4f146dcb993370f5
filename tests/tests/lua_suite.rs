//! Lua's own tests, version 5.4.8.
//!
//! They come inside a package of the registry, from which cargo fetches them into the target folder; nothing of them is
//! kept here. Each file runs by itself in its portable form: as it is, with two generations from the start, and
//! with a step of the collector at each opportunity. What comes of it is printed as the table that
//! `interp-demo/COMPATIBILITY.md` has, and must be the same. Without a network the test is skipped.
//!
//! `SLEEPY_WRITE_TABLE=1` writes the table into the file instead. `SLEEPY_LUA` names another build to be tested.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use sleepy_tests::program::{finish, sleepy_lua, workspace};

/// The package that holds the archive, and the archive's place in it.
const PACKAGE: &str = "luna-core";
const VERSION: &str = "2.16.0";
const ARCHIVE: &str = "tests/official/lua-5.4.8-tests.tar.gz";

/// What the suite itself calls its portable form.
const PORTABLE: &str = "_port=true _soft=true _nomsg=true Message=print";

/// `big` yields once and is to be resumed, in its whole size.
const BIG: &str =
    "local f = coroutine.wrap(assert(loadfile 'big.lua')) assert(f() == 'b') assert(f() == 'a')";

/// The files that run.
const FILES: &[&str] = &[
    "attrib",
    "big",
    "bitwise",
    "bwcoercion",
    "calls",
    "closure",
    "constructs",
    "coroutine",
    "cstack",
    "db",
    "errors",
    "events",
    "files",
    "gc",
    "gengc",
    "goto",
    "literals",
    "locals",
    "math",
    "nextvar",
    "pm",
    "sort",
    "strings",
    "tpack",
    "tracegc",
    "utf8",
    "vararg",
    "verybig",
];

/// Those that do not apply, and why.
const LEFT_OUT: &[(&str, &str)] = &[
    (
        "all",
        "runs the other files one after another; each runs by itself here",
    ),
    ("api", "needs the C API and the test build of C Lua"),
    (
        "code",
        "looks at PUC's bytecode through the test build of C Lua",
    ),
    ("heavy", "fills the memory of the machine on purpose"),
    (
        "main",
        "needs C modules; `tests/tests/cli.rs` and `cli_table.rs` check the command line instead",
    ),
];

/// In which way a file runs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Plain,
    Generational,
    Zeal,
}

/// The folder of the tests, or none if they can't be had.
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

/// Where `gc` expects that no cycle ends between the entry of a weak table and the next line, whose value nothing else holds. A whole
/// cycle is what one zealous step in four is, so that this holds in about every second run.
const LUCK: &str = "gc.lua:463: assertion failed!";

/// How often `gc` may be out of luck.
const ATTEMPTS: usize = 16;

/// Runs a file. The error is what it said last.
fn run_file(folder: &Path, file: &str, way: Way) -> Result<(), String> {
    let is_bad_luck = |outcome: &Result<(), String>| {
        let message = outcome.as_ref().err();
        way == Way::Zeal && message.is_some_and(|message| message.contains(LUCK))
    };
    let mut outcome = run_once(folder, file, way);
    for _ in 1..ATTEMPTS {
        if !is_bad_luck(&outcome) {
            break;
        }
        outcome = run_once(folder, file, way);
    }
    outcome
}

fn run_once(folder: &Path, file: &str, way: Way) -> Result<(), String> {
    let mut command = Command::new(sleepy_lua());
    if way == Way::Zeal {
        command.arg("--zeal=1");
    }
    match file {
        "big" => command.args(["-e", BIG]),
        _ => command.args(["-e", PORTABLE]).arg(format!("{file}.lua")),
    };
    if way == Way::Generational {
        command.env("SLEEPY_GENERATIONAL", "1");
    }
    let mut child = command
        .current_dir(folder)
        .env_remove("LUA_INIT")
        .env_remove("LUA_PATH")
        // `files` wants a standard input that can't be sought.
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    drop(child.stdin.take());
    let end = finish(child);
    match end.code {
        Some(0) => Ok(()),
        _ => {
            let last: Vec<_> = end.stdout.lines().rev().take(5).collect();
            Err(format!("{}\nlast lines, backwards: {last:?}", end.stderr))
        }
    }
}

type Outcomes = BTreeMap<(&'static str, Way), Result<(), String>>;

/// Runs all files in all ways.
fn run_all(folder: &Path) -> Outcomes {
    // The longest first, so that no processor is idle at the end.
    let ways = [Way::Zeal, Way::Plain, Way::Generational];
    let runs = ways
        .iter()
        .flat_map(|&way| FILES.iter().rev().map(move |&file| (file, way)));
    let (runs, outcomes) = (Mutex::new(runs), Mutex::new(Outcomes::new()));
    let next = || runs.lock().expect("no runner panics").next();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((file, way)) = next() {
                    let outcome = run_file(folder, file, way);
                    let mut outcomes = outcomes.lock().expect("no runner panics");
                    outcomes.insert((file, way), outcome);
                }
            });
        }
    });
    outcomes.into_inner().expect("no runner panics")
}

fn table(outcomes: &Outcomes) -> String {
    let cell = |file, way| match outcomes[&(file, way)] {
        Ok(()) => "passes",
        Err(_) => "FAILS",
    };
    let mut table = "| file | plain | two generations | zeal |\n|---|---|---|---|\n".to_owned();
    for file in FILES {
        let [plain, generational, zeal] =
            [Way::Plain, Way::Generational, Way::Zeal].map(|way| cell(file, way));
        writeln!(table, "| {file} | {plain} | {generational} | {zeal} |")
            .expect("a string takes all");
    }
    for (file, why) in LEFT_OUT {
        writeln!(table, "| {file} | left out: {why} | | |").expect("a string takes all");
    }
    table
}

/// No file of the suite is forgotten.
fn check_files(folder: &Path) {
    let left_out = LEFT_OUT.iter().map(|(file, _)| *file);
    let mut known: Vec<_> = FILES.iter().copied().chain(left_out).collect();
    known.sort_unstable();
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let mut files: Vec<_> = entries
        .filter_map(|entry| {
            let name = entry.expect("an entry").file_name();
            name.to_str()?.strip_suffix(".lua").map(str::to_owned)
        })
        .collect();
    files.sort_unstable();
    assert_eq!(files, known);
}

/// The table is what stands between these two lines of the file.
const BEGIN: &str = "<!-- The table below is checked by tests/tests/lua_suite.rs. -->\n\n";
const END: &str = "\n<!-- The end of the table. -->\n";

#[test]
fn the_official_suite() {
    let Some(folder) = fetch() else {
        eprintln!("SKIPPED: {PACKAGE} {VERSION} can't be fetched");
        return;
    };
    check_files(&folder);
    let outcomes = run_all(&folder);
    let table = table(&outcomes);
    // Past the test harness, which would keep it: the log is to have it.
    let _ = std::io::stderr().write_all(format!("\nLua 5.4.8's own tests:\n{table}").as_bytes());
    for ((file, way), outcome) in &outcomes {
        if let Err(message) = outcome {
            let way = ["plain", "two generations", "zeal"][*way as usize];
            eprintln!("{file} ({way}): {message}");
        }
    }
    let path = workspace().join("interp-demo/COMPATIBILITY.md");
    let text = std::fs::read_to_string(&path).expect("the file is there");
    let (before, rest) = text.split_once(BEGIN).expect("a table begins");
    let (written, after) = rest.split_once(END).expect("the table ends");
    if std::env::var_os("SLEEPY_WRITE_TABLE").is_some() {
        let text = format!("{before}{BEGIN}{table}{END}{after}");
        std::fs::write(&path, text).expect("it can be written");
    } else {
        assert!(
            written == table,
            "{} has another table than this run; SLEEPY_WRITE_TABLE=1 writes it",
            path.display()
        );
    }
}
