//! What a script meets when something is wrong: a clear message and exit code 1.

use std::net::TcpListener;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use sleepy_tests::process::children;
use sleepy_tests::program::{finish, run, script, sleepy_lua, start};

#[test]
fn arguments_that_make_no_sense_are_refused() {
    for (name, arguments, message) in [
        (
            "http_latency.lua",
            &["many"][..],
            "bytes must be a whole number of at least 0, not 'many'",
        ),
        (
            "http_latency.lua",
            &["99999999999999999999"],
            "bytes must be a whole number of at least 0 and at most 2^53, not '99999999999999999999'",
        ),
        (
            "http_urandom.lua",
            &["-1"],
            "bytes must be a whole number of at least 0, not '-1'",
        ),
        (
            "latency_live.lua",
            &["100", "1.5"],
            "live strings must be a whole number of at least 0, not '1.5'",
        ),
        (
            "burst.lua",
            &["1", "0"],
            "bursts must be a whole number of at least 1, not '0'",
        ),
        (
            "drop_heap.lua",
            &["10", "x"],
            "wait_s must be a number of at least 0, not 'x'",
        ),
        (
            "timer_idle.lua",
            &["-1"],
            "period_ms must be a number of at least 0, not '-1'",
        ),
    ] {
        let finished = run(Command::new(sleepy_lua()).arg(script(name)).args(arguments));
        assert_eq!(finished.code, Some(1), "{name}");
        assert!(
            finished.stderr.contains(message),
            "{name}: {}",
            finished.stderr
        );
    }
}

#[test]
fn a_port_in_use_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let finished = run(Command::new(sleepy_lua())
        .arg(script("http_latency.lua"))
        .env("SLEEPY_PORT", &port));
    assert_eq!(finished.code, Some(1));
    let message = format!(
        "the writer could not start: cannot listen on 127.0.0.1:{port}: address already in use"
    );
    assert!(finished.stderr.contains(&message), "{}", finished.stderr);
}

#[test]
fn a_port_that_is_none_is_refused() {
    let finished = run(Command::new(sleepy_lua())
        .arg(script("http_latency.lua"))
        .env("SLEEPY_PORT", "99999"));
    assert_eq!(finished.code, Some(1));
    let message = "the port must be a number from 0 to 65535, not '99999'";
    assert!(finished.stderr.contains(message), "{}", finished.stderr);
}

#[test]
fn a_killed_writer_is_noticed() {
    let reader = start(Command::new(sleepy_lua()).arg(script("http_latency.lua")));
    let deadline = Instant::now() + Duration::from_secs(20);
    let writer = loop {
        if let Some(writer) = children(reader.id(), "writer.lua").pop() {
            break writer;
        }
        assert!(Instant::now() < deadline, "there is no writer");
        std::thread::sleep(Duration::from_millis(10));
    };
    // Give it the time to be in the middle of the body.
    std::thread::sleep(Duration::from_millis(1_000));
    let writer = Pid::from_raw(writer.cast_signed()).expect("a process");
    kill_process(writer, Signal::KILL).expect("the writer is there");
    let finished = finish(reader);
    assert_eq!(finished.code, Some(1), "{}", finished.stdout);
    assert!(
        finished.stderr.contains("the writer broke off after "),
        "{}",
        finished.stderr
    );
    assert!(
        finished.stderr.contains(" of 33554432 bytes: closed"),
        "{}",
        finished.stderr
    );
    assert!(
        finished.stderr.contains("stack traceback:"),
        "{}",
        finished.stderr
    );
}
