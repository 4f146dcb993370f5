//! The libraries that wait, run by the interpreter itself, with and without sleeping, and, where there is one, by a
//! stock Lua with LuaSocket: what the tests expect is what programs written for that expect.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn script(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/lua")
        .join(name)
}

/// Runs a command that is expected to print "ok".
fn expect_ok(command: &mut Command) {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("{command:?} hangs");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(
        output.status.success() && out == "ok\n",
        "{command:?}: {:?}\n{out}{err}",
        output.status
    );
}

fn sleepy_lua() -> Command {
    Command::new(env!("CARGO_BIN_EXE_sleepy-lua"))
}

fn in_all_ways(name: &str) {
    expect_ok(sleepy_lua().arg(script(name)));
    expect_ok(sleepy_lua().arg("--no-sleepy").arg(script(name)));
    for switch in ["SLEEPY_SWEEP", "SLEEPY_MARK", "SLEEPY_START", "SLEEPY_PARK"] {
        expect_ok(sleepy_lua().arg(script(name)).env(switch, "0"));
    }
}

#[test]
fn sockets() {
    in_all_ways("socket.lua");
}

#[test]
fn processes() {
    in_all_ways("process.lua");
}

#[test]
fn descriptors_held_by_garbage() {
    for options in [&[][..], &["--no-sleepy"]] {
        expect_ok(
            Command::new("sh")
                .args(["-c", "ulimit -n 64; exec \"$@\"", "sh"])
                .arg(env!("CARGO_BIN_EXE_sleepy-lua"))
                .args(options)
                .arg(script("descriptors.lua")),
        );
    }
}

#[test]
fn the_time_limit_ends_waits_for_children() {
    for wait in [
        "os.execute('sleep 20')",
        "io.popen('sleep 20'):close()",
        "io.popen('sleep 20'):read('a')",
        "require('process').spawn('sleep', { args = { '20' } }):wait()",
        "require('process').spawn('sleep', { args = { '20' } }):wait(15)",
    ] {
        let begun = Instant::now();
        let ended = sleepy_lua()
            .args(["--time-limit", "0.1", "-e", wait])
            .stdin(Stdio::null())
            // What the children keep open must not be waited for.
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert_eq!(ended.code(), Some(1), "{wait}");
        assert!(begun.elapsed() < Duration::from_secs(10), "{wait}");
    }
}

#[test]
fn stock_lua_agrees() {
    let has_luasocket = Command::new("lua5.4")
        .args(["-e", "require 'socket'"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if has_luasocket {
        expect_ok(Command::new("lua5.4").arg(script("socket.lua")));
    } else {
        eprintln!("SKIPPED: no lua5.4 with LuaSocket here");
    }
}
