//! Pure-Lua programs and libraries that people use, as Debian packages them, run unmodified: penlight, argparse, inspect, dkjson,
//! luaunit, copas, luacheck, busted, and LuaSocket's own Lua files.
//!
//! Each script of `tests/packages` prints what it finds, and must print what `lua5.4` printed when the script was written
//! (`NAME.out`); where `lua5.4` is installed with what the script needs, its output is looked at too. A test is skipped, with a
//! message, where its package is missing.

use std::path::{Path, PathBuf};
use std::process::Command;

use sleepy_tests::program::{Finished, run, sleepy_lua, workspace};

/// Where Debian has Lua files. Some packages come for older versions of Lua only, but run on 5.4.
const SHARES: &[&str] = &["5.4", "5.3", "5.2", "5.1"];

fn share(version: &str) -> PathBuf {
    Path::new("/usr/share/lua").join(version)
}

/// Whether all of these modules are installed; says which one is not.
fn are_installed(modules: &[&str]) -> bool {
    let is_there = |module: &str| {
        SHARES.iter().any(|version| {
            let at = share(version).join(module);
            at.with_extension("lua").exists() || at.join("init.lua").exists()
        })
    };
    let missing = modules.iter().find(|module| !is_there(module));
    if let Some(module) = missing {
        eprintln!("SKIPPED: {module} is not installed here");
    }
    missing.is_none()
}

fn folder() -> PathBuf {
    workspace().join("tests/packages")
}

/// A Lua that finds the packages, and nothing else.
fn lua(program: &Path, folder: &Path) -> Command {
    let path: Vec<String> = SHARES
        .iter()
        .map(|version| share(version).display().to_string())
        .map(|share| format!("{share}/?.lua;{share}/?/init.lua"))
        .collect();
    let mut command = Command::new(program);
    command
        .current_dir(folder)
        .env_remove("LUA_INIT")
        .env_remove("LUA_INIT_5_4")
        .env_remove("LUA_PATH_5_4")
        .env_remove("LUA_CPATH")
        .env("LUA_PATH", path.join(";"))
        .env("LC_ALL", "C")
        .env("TZ", "UTC");
    command
}

/// Addresses and times, which differ from run to run, made the same.
fn steady(text: &str) -> String {
    let mut out = String::new();
    let mut parts = text.split("0x");
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_hexdigit).count();
        out.push_str(if digits >= 6 { "ADDRESS" } else { "0x" });
        out.push_str(&part[if digits >= 6 { digits } else { 0 }..]);
    }
    let is_time = |line: &str| line.ends_with(" seconds") && line.contains(" : ");
    out.lines()
        .map(|line| match line.rsplit_once(" : ") {
            Some((before, _)) if is_time(line) => format!("{before}\n"),
            _ => format!("{line}\n"),
        })
        .collect()
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

/// Runs a script of the folder on `sleepy-lua`, and on `lua5.4` where that can; both must print the record.
fn check(name: &str, modules: &[&str], variants: &[&[&str]]) {
    if !are_installed(modules) {
        return;
    }
    let script = format!("{name}.lua");
    let record = std::fs::read(folder().join(format!("{name}.out"))).expect("a record");
    let record = steady(&String::from_utf8_lossy(&record));
    for options in variants {
        let end = run(lua(sleepy_lua(), &folder())
            .args(*options)
            .arg(&script)
            .args(if options.contains(&"-") {
                &["file"][..]
            } else {
                &[]
            }));
        compare(
            &format!("{name}\n{}", end.stderr),
            &steady(&end.stdout),
            &record,
        );
        assert_eq!(end.code, Some(0), "{}", end.stderr);
    }
    if let Some(theirs) = by_stock_lua(&[&script]) {
        compare(
            "lua5.4 against its record",
            &steady(&theirs.stdout),
            &record,
        );
    }
}

/// How `lua5.4` runs it; none where it is missing, or lacks a module that is written in C.
fn by_stock_lua(arguments: &[&str]) -> Option<Finished> {
    let has = |code: &str| {
        Command::new("lua5.4")
            .args(["-e", code])
            .output()
            .is_ok_and(|output| output.status.success())
    };
    if !has("require 'lfs' require 'socket.core' require 'mime.core'") {
        eprintln!("SKIPPED: no lua5.4 with lfs and LuaSocket here to compare with");
        return None;
    }
    Some(run(lua(Path::new("lua5.4"), &folder()).args(arguments)))
}

const PLAIN: &[&[&str]] = &[&[]];
const WITH_ZEAL: &[&[&str]] = &[&[], &["--zeal=500"]];

#[test]
fn penlight() {
    check("penlight", &["pl/init"], PLAIN);
}

#[test]
fn filesystem() {
    check("filesystem", &[], WITH_ZEAL);
}

#[test]
fn argparse() {
    check("argparse", &["argparse"], WITH_ZEAL);
}

#[test]
fn inspect() {
    check("inspect", &["inspect"], WITH_ZEAL);
}

#[test]
fn dkjson() {
    check("dkjson", &["dkjson"], PLAIN);
}

#[test]
fn luaunit() {
    check("luaunit", &["luaunit"], PLAIN);
}

#[test]
fn copas() {
    check(
        "copas",
        &["copas", "coxpcall", "socket", "socket/http"],
        PLAIN,
    );
}

#[test]
fn luasocket() {
    check(
        "luasocket",
        &["socket", "mime", "ltn12", "socket/http"],
        WITH_ZEAL,
    );
}

#[test]
fn luasocket_with_its_own_socket_lua() {
    if !are_installed(&["socket", "mime", "ltn12", "socket/http"]) {
        return;
    }
    let end = run(lua(sleepy_lua(), &folder()).args(["luasocket.lua", "file"]));
    let record = std::fs::read_to_string(folder().join("luasocket.out")).expect("a record");
    compare(&end.stderr, &steady(&end.stdout), &steady(&record));
}

/// Runs a program of a package in a folder of inputs; `lua5.4` must print the same where it is there.
fn check_program(
    program: &str,
    modules: &[&str],
    input: &str,
    arguments: &[&str],
    code: i32,
) -> Option<String> {
    if !Path::new(program).exists() {
        eprintln!("SKIPPED: {program} is not installed here");
        return None;
    }
    if !are_installed(modules) {
        return None;
    }
    let input = folder().join(input);
    let ours = run(lua(sleepy_lua(), &input).arg(program).args(arguments));
    let shown = format!("{}{}", ours.stdout, ours.stderr);
    assert_eq!(ours.code, Some(code), "{shown}");
    if Command::new("lua5.4").arg("-v").output().is_ok() {
        let theirs = run(lua(Path::new("lua5.4"), &input)
            .arg(program)
            .args(arguments));
        if theirs.code == Some(code) {
            compare(program, &steady(&ours.stdout), &steady(&theirs.stdout));
        } else {
            eprintln!(
                "SKIPPED: lua5.4 can't run {program} here: {}",
                theirs.stderr
            );
        }
    }
    Some(ours.stdout)
}

#[test]
fn luacheck() {
    let arguments = [
        "--no-color",
        "--no-config",
        "--std",
        "lua54",
        "--codes",
        "bad.lua",
        "broken.lua",
        "good.lua",
    ];
    let modules = ["luacheck/init", "argparse"];
    let Some(shown) = check_program(
        "/usr/bin/luacheck",
        &modules,
        "luacheck_input",
        &arguments,
        2,
    ) else {
        return;
    };
    for expected in [
        "(W211) unused variable 'unused'",
        "(W113) accessing undefined variable 'undefined_thing'",
        "(E011) expected expression near '='",
    ] {
        assert!(shown.contains(expected), "{shown}");
    }
}

/// luacheck reads a large program: its own sources.
#[test]
fn luacheck_of_itself() {
    let sources = share("5.1").join("luacheck");
    if !sources.exists() {
        eprintln!("SKIPPED: luacheck is not installed here");
        return;
    }
    let sources = sources.display().to_string();
    // It finds fault with some of them.
    let arguments = [
        "--no-color",
        "--no-config",
        "--formatter",
        "plain",
        &sources,
    ];
    check_program(
        "/usr/bin/luacheck",
        &["luacheck/init"],
        "luacheck_input",
        &arguments,
        1,
    );
}

#[test]
fn busted() {
    let modules = [
        "busted/runner",
        "luassert/init",
        "say/init",
        "pl/path",
        "term/init",
        "system/init",
    ];
    for output in ["TAP", "plainTerminal", "gtest"] {
        let output = format!("--output={output}");
        let arguments = [output.as_str(), "some_spec.lua"];
        if output.ends_with("gtest") {
            // It prints times everywhere: that it runs is enough.
            if Path::new("/usr/bin/busted").exists() && are_installed(&modules) {
                let input = folder().join("busted_input");
                let end = run(lua(sleepy_lua(), &input)
                    .arg("/usr/bin/busted")
                    .args(arguments));
                assert!(
                    end.stdout.contains("[  PASSED  ] 4 tests."),
                    "{}",
                    end.stdout
                );
            }
            continue;
        }
        check_program("/usr/bin/busted", &modules, "busted_input", &arguments, 1);
    }
}

/// The tests that packages bring along.
#[test]
fn tests_of_their_own() {
    let jsontest = Path::new("/usr/share/doc/lua-dkjson/examples/jsontest.lua");
    if jsontest.exists() && are_installed(&["dkjson"]) {
        let end = run(lua(sleepy_lua(), &folder()).arg(jsontest).arg("dkjson"));
        assert_eq!(end.code, Some(0), "{}{}", end.stdout, end.stderr);
    } else {
        eprintln!("SKIPPED: dkjson's tests are not installed here");
    }
    let luaunit = Path::new("/usr/share/doc/lua-unit/examples/test_luaunit.lua");
    if luaunit.exists() && are_installed(&["luaunit"]) {
        // It writes files where it is.
        let own = tempfile::tempdir().expect("a folder for temporary files");
        for entry in luaunit
            .parent()
            .into_iter()
            .flat_map(|at| at.read_dir().expect("a folder"))
        {
            let from = entry.expect("an entry").path();
            std::fs::copy(&from, own.path().join(from.file_name().expect("a name")))
                .expect("a copy");
        }
        let end = run(lua(sleepy_lua(), own.path()).args(["test_luaunit.lua", "-o", "nil"]));
        assert_eq!(end.code, Some(0), "{}{}", end.stdout, end.stderr);
    } else {
        eprintln!("SKIPPED: luaunit's tests are not installed here");
    }
}
