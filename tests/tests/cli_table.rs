//! The command lines of `tests/cli/cases.json`: what each prints and ends with is written there. Where `lua5.4` is installed, it
//! has to give the same, but for the cases that say how it `differs`.
//!
//! A case has the `words` of a command line or a line of `shell` (in which `$LUA` is the program), the text on `stdin`, the
//! variables of the environment `env`, and the expected `code`, `stdout` and `stderr`. In these, `LUA` stands for the program's
//! name, `VERSION` for the line that `-v` prints, `0xP` for an address, and `USAGE` for the list of options. The folder is
//! `tests/cli/files`. `SLEEPY_WRITE_TABLE=1` writes what the program gives now into the file.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use serde_json::{Map, Value, json};
use sleepy_tests::program::{finish, sleepy_lua, workspace};

fn file() -> PathBuf {
    workspace().join("tests/cli/cases.json")
}

fn cases() -> Vec<Map<String, Value>> {
    let text = std::fs::read_to_string(file()).expect("the table is there");
    serde_json::from_str(&text).expect("it is a list of objects")
}

fn text<'a>(case: &'a Map<String, Value>, key: &str) -> &'a str {
    case.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// What a program made of a case: its exit code, and what it has written to either stream.
type Outcome = (Option<i32>, String, String);

/// Runs a case. `echoes`: the program shows again what it reads at its prompt.
fn run(program: &Path, case: &Map<String, Value>, echoes: bool) -> Outcome {
    let mut command = match case.get("shell") {
        Some(line) => {
            let mut command = Command::new("bash");
            command.arg("-c").arg(line.as_str().expect("a text"));
            command
        }
        None => Command::new(program),
    };
    let words = case.get("words").and_then(Value::as_array);
    let words = words.into_iter().flatten();
    command.args(words.map(|word| word.as_str().expect("a text")));
    command.env_clear().env("PATH", "/usr/bin:/bin");
    if case.contains_key("shell") {
        command.env("LUA", program);
    }
    for (name, value) in case
        .get("env")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        command.env(name, value.as_str().expect("a text"));
    }
    let mut child = command
        .current_dir(workspace().join("tests/cli/files"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let input = text(case, "stdin");
    // It may end before it has read all.
    let _ = child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(input.as_bytes());
    let end = finish(child);
    let mut stdout = end.stdout;
    if echoes && words_say_interactive(case) {
        stdout = without_echo(&stdout, input);
    }
    (
        end.code,
        plain(program, &stdout),
        plain(program, &end.stderr),
    )
}

fn words_say_interactive(case: &Map<String, Value>) -> bool {
    let words = case.get("words").and_then(Value::as_array);
    words.is_some_and(|words| words.iter().any(|word| word == "-i"))
}

/// Takes away the lines that were read, each after the one before.
fn without_echo(shown: &str, input: &str) -> String {
    let (mut kept, mut rest) = (String::new(), shown);
    for line in input.lines() {
        if let Some((before, after)) = rest.split_once(&format!("{line}\n")) {
            kept.push_str(before);
            rest = after;
        }
    }
    kept + rest
}

/// Puts the words of the table in the place of what is different in each run or program.
fn plain(program: &Path, shown: &str) -> String {
    let name = program.to_str().expect("a path in UTF-8");
    let mut shown = shown.replace(name, "LUA");
    if let Some(at) = shown.find("\nusage: ") {
        shown.truncate(at);
        shown.push_str("\nUSAGE");
    }
    let is_version = |line: &str| {
        line.starts_with("sleepy-lua ") && line.ends_with(" (Lua 5.4)")
            || line.contains("  Copyright (C) ")
    };
    // Only `lua` looks for these.
    let is_c_library = |line: &str| line.starts_with("\tno file '") && line.ends_with(".so'");
    let lines = shown.split('\n').filter(|line| !is_c_library(line));
    let lines = lines.map(|line| if is_version(line) { "VERSION" } else { line });
    without_addresses(&lines.collect::<Vec<_>>().join("\n"))
}

fn without_addresses(shown: &str) -> String {
    let mut parts = shown.split("0x");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_hexdigit());
        plain.push_str(if rest.len() < part.len() { "0xP" } else { "0x" });
        plain.push_str(rest);
    }
    plain
}

fn expected(case: &Map<String, Value>) -> Outcome {
    let code = case.get("code").and_then(Value::as_i64);
    let code = code.map(|code| i32::try_from(code).expect("a code"));
    (
        code,
        text(case, "stdout").to_owned(),
        text(case, "stderr").to_owned(),
    )
}

/// Runs many cases at a time; the outcomes by the cases' places.
fn run_all(program: &Path, cases: &[Map<String, Value>], echoes: bool) -> BTreeMap<usize, Outcome> {
    let (places, outcomes) = (Mutex::new(0..cases.len()), Mutex::new(BTreeMap::new()));
    let next = || places.lock().expect("no runner panics").next();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(at) = next() {
                    let outcome = run(program, &cases[at], echoes);
                    outcomes
                        .lock()
                        .expect("no runner panics")
                        .insert(at, outcome);
                }
            });
        }
    });
    outcomes.into_inner().expect("no runner panics")
}

/// Compares, and tells of all cases that are not as expected.
fn check(who: &str, cases: &[Map<String, Value>], outcomes: &BTreeMap<usize, Outcome>) {
    let mut wrong = 0;
    for (at, case) in cases.iter().enumerate() {
        if outcomes[&at] != expected(case) {
            wrong += 1;
            let what = case
                .get("shell")
                .or(case.get("words"))
                .expect("one of them");
            eprintln!(
                "{what} on {:?}\n  expected {:?}\n  {who} gives {:?}",
                text(case, "stdin"),
                expected(case),
                outcomes[&at]
            );
        }
    }
    assert_eq!(wrong, 0, "of {} command lines", cases.len());
}

#[test]
fn all_command_lines() {
    let mut cases = cases();
    assert!(cases.len() > 300);
    let outcomes = run_all(sleepy_lua(), &cases, false);
    if std::env::var_os("SLEEPY_WRITE_TABLE").is_none() {
        return check("sleepy-lua", &cases, &outcomes);
    }
    for (at, (code, stdout, stderr)) in outcomes {
        let written = [
            ("code", json!(code)),
            ("stdout", json!(stdout)),
            ("stderr", json!(stderr)),
        ];
        cases[at].extend(written.map(|(key, value)| (key.to_owned(), value)));
    }
    let lines: Vec<_> = cases
        .into_iter()
        .map(|case| Value::Object(case).to_string())
        .collect();
    let table = format!("[\n{}\n]\n", lines.join(",\n"));
    std::fs::write(file(), table).expect("it can be written");
}

/// The table says what `lua` does, and not only what we do.
#[test]
fn the_same_with_lua() {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let candidates = std::env::split_paths(&path).map(|folder| folder.join("lua5.4"));
    let Some(lua) = candidates.into_iter().find(|path| path.exists()) else {
        eprintln!("SKIPPED: no lua5.4 to compare with");
        return;
    };
    let cases: Vec<_> = cases()
        .into_iter()
        .filter(|case| !case.contains_key("differs"))
        .collect();
    assert!(cases.len() > 300);
    let outcomes = run_all(&lua, &cases, true);
    check("lua5.4", &cases, &outcomes);
}
