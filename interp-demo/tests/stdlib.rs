//! The standard library against PUC Lua: each script of `stdlib/` prints what it finds, and must print what `lua5.4` (5.4.4) has
//! printed when the script was written. Where `lua5.4` is installed, the records themselves are checked too.
//!
//! A record is made anew with `lua5.4 NAME.lua > NAME.out 2>&1` in that folder.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stdlib")
}

/// What an interpreter prints when it runs a script, with addresses made the same.
fn output(interpreter: &str, script: &str) -> Option<String> {
    let output = Command::new(interpreter)
        .arg(script)
        .current_dir(folder())
        .env_remove("LUA_INIT")
        .env_remove("LUA_PATH")
        .env("TZ", "UTC")
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .ok()?;
    assert!(
        output.status.success(),
        "{interpreter} {script}: {}",
        output.status
    );
    Some(without_addresses(&String::from_utf8_lossy(&output.stdout)))
}

/// Replaces hexadecimal numbers of six digits and more, which are addresses.
fn without_addresses(text: &str) -> String {
    let mut out = String::new();
    let mut parts = text.split("0x");
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_hexdigit).count();
        out.push_str("0x");
        out.push_str(if digits >= 6 {
            "ADDRESS"
        } else {
            &part[..digits]
        });
        out.push_str(&part[digits..]);
    }
    out
}

fn check(name: &str) {
    let script = format!("{name}.lua");
    let record = std::fs::read(folder().join(format!("{name}.out"))).expect("there is a record");
    let record = without_addresses(&String::from_utf8_lossy(&record));
    if let Some(theirs) = output("lua5.4", &script) {
        compare("lua5.4 against its record", &theirs, &record);
    }
    let ours = output(env!("CARGO_BIN_EXE_sleepy-lua"), &script).expect("the program starts");
    compare("sleepy-lua against the record", &ours, &record);
}

fn compare(what: &str, found: &str, expected: &str) {
    for (number, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "{what}: line {}", number + 1);
    }
    assert_eq!(
        found.lines().count(),
        expected.lines().count(),
        "{what}: lines"
    );
}

macro_rules! scripts {
    ($($name:ident),*) => {$(
        #[test]
        fn $name() {
            check(stringify!($name));
        }
    )*};
}

scripts!(
    arguments,
    base,
    closing,
    corners_base,
    corners_math,
    corners_string,
    corners_table,
    coroutines,
    debugging,
    depth,
    files,
    format,
    loading,
    numbers,
    patterns,
    strings,
    tables,
    utf8
);
