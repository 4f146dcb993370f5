//! Each script runs from end to end, small, and finds out what it should.

use std::process::Command;

use md5::{Digest, Md5};
use sleepy_tests::program::{run, script, sleepy_lua};

const CHUNK_BYTES: usize = 16 * 1024;
const STAMP_BYTES: usize = 20;

/// Runs a script and returns what it printed as `name value` lines.
fn output(name: &str, arguments: &[&str]) -> Vec<(String, String)> {
    let finished = run(Command::new(sleepy_lua()).arg(script(name)).args(arguments));
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert_eq!(finished.stderr, "");
    let split = |line: &str| {
        let (name, value) = line.split_once(' ').unwrap_or((line, ""));
        (name.to_owned(), value.trim().to_owned())
    };
    finished.stdout.lines().map(split).collect()
}

fn value<'a>(output: &'a [(String, String)], name: &str) -> &'a str {
    let found = output.iter().find(|(line_name, _)| line_name == name);
    found.map_or_else(|| panic!("no {name} in {output:?}"), |(_, value)| value)
}

/// What the writer sends without the time stamps, and the digest that the reader should find.
fn expected_digest(bytes: usize) -> String {
    let mut seed: u64 = 14_723;
    let mut random_byte = || {
        seed = seed * 16_807 % 2_147_483_647;
        (seed as f64 / 2_147_483_647.0 * 256.0) as u8
    };
    let blocks: Vec<Vec<u8>> = (0..8)
        .map(|_| (STAMP_BYTES..CHUNK_BYTES).map(|_| random_byte()).collect())
        .collect();
    let mut chain: Vec<u8> = Vec::new();
    for (turn, start) in (0..bytes).step_by(CHUNK_BYTES).enumerate() {
        let body_bytes = (bytes - start).min(CHUNK_BYTES).saturating_sub(STAMP_BYTES);
        chain.extend(Md5::digest(&blocks[turn % 8][..body_bytes]));
        chain = Md5::digest(&chain).to_vec();
    }
    chain.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn http_latency_reads_all_with_the_right_digest() {
    for bytes in [1, 16_384, 300_000] {
        let output = output("http_latency.lua", &[&bytes.to_string()]);
        assert_eq!(value(&output, "bytes"), bytes.to_string());
        assert_eq!(value(&output, "md5"), expected_digest(bytes));
    }
}

#[test]
fn http_latency_tells_the_wake_delay() {
    let output = output("http_latency.lua", &["300000"]);
    let delays = value(&output, "wake");
    assert!(
        delays.starts_with("delay   p50 ") && delays.ends_with(" us"),
        "{delays}"
    );
}

#[test]
fn http_urandom_reads_all() {
    let output = output("http_urandom.lua", &["5000000"]);
    assert_eq!(value(&output, "bytes"), "5000000");
    assert_eq!(value(&output, "md5").len(), 32);
}

#[test]
fn latency_live_keeps_its_strings() {
    let output = output("latency_live.lua", &["163840", "20000"]);
    assert_eq!(value(&output, "live"), "20000");
    assert_eq!(value(&output, "slices"), "640");
    assert_eq!(value(&output, "md5"), expected_digest(163_840));
}

#[test]
fn burst_says_when_it_is_silent() {
    let output = output("burst.lua", &["0.2", "2"]);
    assert_eq!(output[0].0, "silent");
    assert_eq!(value(&output, "bytes"), (129 * CHUNK_BYTES).to_string());
    assert_eq!(value(&output, "md5"), expected_digest(129 * CHUNK_BYTES));
}

#[test]
fn drop_heap_keeps_one_record_in_a_thousand() {
    for arguments in [&["20000", "0.1"][..], &["20000", "0", "collect"]] {
        let output = output("drop_heap.lua", arguments);
        assert_eq!(value(&output, "kept"), "20");
        assert_eq!(value(&output, "sum"), "210000");
    }
}

#[test]
fn timer_idle_turns_as_often_as_it_was_told() {
    for (bytes_a_turn, bytes) in [("0", "0"), ("16384", "819200")] {
        let output = output("timer_idle.lua", &["1", "50", bytes_a_turn]);
        assert_eq!(value(&output, "turns"), "50");
        assert_eq!(value(&output, "bytes"), bytes);
    }
}

#[test]
fn scripts_run_under_stock_lua_too() {
    let probe = Command::new("lua5.4")
        .args(["-e", "require 'socket'"])
        .output();
    if !probe.is_ok_and(|probe| probe.status.success()) {
        eprintln!("SKIPPED: there is no lua5.4 with LuaSocket here");
        return;
    }
    for (name, arguments) in [
        ("http_latency.lua", &["100000"][..]),
        ("http_urandom.lua", &["1000000"]),
        ("latency_live.lua", &["100000", "1000"]),
        ("burst.lua", &["0.1", "1"]),
        ("drop_heap.lua", &["2000", "0"]),
        ("timer_idle.lua", &["1", "20", "100"]),
    ] {
        let finished = run(Command::new("lua5.4").arg(script(name)).args(arguments));
        assert_eq!(
            (finished.code, finished.stderr.as_str()),
            (Some(0), ""),
            "{name}"
        );
    }
}
