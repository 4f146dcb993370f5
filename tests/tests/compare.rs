//! `sleepy-lua compare` from end to end.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use sleepy_tests::process::{children, is_alive};
use sleepy_tests::program::{Finished, finish, run, script, sleepy_lua, start};

fn compare(words: &[&str]) -> Finished {
    run(Command::new(sleepy_lua()).arg("compare").args(words))
}

fn write(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).expect("a folder of our own");
    path.display().to_string()
}

#[test]
fn json_and_page_tell_of_every_mode() {
    let folder = tempfile::tempdir().expect("a folder");
    let json = folder.path().join("out.json").display().to_string();
    let html = folder.path().join("out.html").display().to_string();
    let latency = script("http_latency.lua").display().to_string();
    let finished = compare(&[
        "--rounds", "2", "--json", &json, "--html", &html, &latency, "800000",
    ]);
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""));

    let json: Value =
        serde_json::from_str(&fs::read_to_string(json).expect("a file")).expect("JSON");
    assert_eq!(json["script"], latency);
    assert_eq!(json["rounds"], 2);
    let modes = json["modes"].as_array().expect("modes");
    assert_eq!(modes.len(), 3);
    for (mode, name) in modes.iter().zip(["off", "gc", "gc+scavenger"]) {
        assert_eq!(mode["name"], name);
        for path in [
            "/peak_rss_bytes",
            "/mean_rss_bytes",
            "/final_rss_bytes",
            "/cpu_s",
            "/wall_s",
            "/wake_delay_us/p50",
            "/wake_delay_us/p99",
            "/wake_delay_us/p999",
            "/wake_delay_us/max",
            "/gc/cycles",
            "/gc/idle_steps",
            "/gc/forced_steps",
            "/scavenger/park_wakes",
            "/scavenger/turns",
            "/scavenger/sweeps",
            "/scavenger/purged_bytes",
        ] {
            let figure = mode
                .pointer(path)
                .unwrap_or_else(|| panic!("{name} has no {path}"));
            let part = |part: &str| {
                figure[part]
                    .as_f64()
                    .unwrap_or_else(|| panic!("{name} {path} {part}"))
            };
            assert!(
                part("min") <= part("median") && part("median") <= part("max"),
                "{name} {path}"
            );
        }
        let samples = mode["samples"].as_array().expect("samples");
        assert!(samples.len() > 20 && samples.iter().all(|sample| sample[1].as_u64() > Some(0)));
        assert!(finished.stdout.contains(name));
    }
    assert_eq!(
        modes[0]["gc"]["idle_steps"]["max"], 0,
        "off collects nothing in waits"
    );
    assert_eq!(
        modes[1]["scavenger"]["turns"]["max"], 0,
        "gc has no scavenger"
    );
    let page = fs::read_to_string(html).expect("a file");
    assert_eq!(page.matches("<svg").count(), 4);
}

#[test]
fn arguments_and_output_of_the_script_are_the_same_in_each_mode() {
    let folder = tempfile::tempdir().expect("a folder");
    let good = write(folder.path(), "good.lua", "print(#arg, arg[1], arg[2])");
    let finished = compare(&["--rounds", "1", &good, "--stats", "-x"]);
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""));
    let bad = write(
        folder.path(),
        "bad.lua",
        "print(os.getenv('SLEEPY_REPORT'))",
    );
    let finished = compare(&["--rounds", "1", &bad]);
    assert_eq!(finished.code, Some(1));
    let message = "sleepy-lua compare: the results differ: mode 'gc' printed something else than mode 'off'\n";
    assert_eq!(finished.stderr, message);
}

#[test]
fn a_script_that_ends_at_once_has_memory_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = write(folder.path(), "nothing.lua", "");
    let json = folder.path().join("out.json").display().to_string();
    let finished = compare(&["--rounds", "1", "--json", &json, &script]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let json: Value =
        serde_json::from_str(&fs::read_to_string(json).expect("a file")).expect("JSON");
    for mode in json["modes"].as_array().expect("modes") {
        let bytes = |figure: &str| mode[figure]["median"].as_u64().expect("bytes");
        assert!(bytes("final_rss_bytes") > 1_000_000, "{mode}");
        assert!(
            bytes("final_rss_bytes") <= bytes("peak_rss_bytes"),
            "{mode}"
        );
    }
}

#[test]
fn bad_input_has_a_message_and_an_exit_code() {
    let folder = tempfile::tempdir().expect("a folder");
    let good = write(folder.path(), "good.lua", "");
    let syntax = write(folder.path(), "syntax.lua", "local x = = 1");
    let fails = write(folder.path(), "fails.lua", "error('out of tea')");
    for (words, code, part) in [
        (
            &["no/such.lua"][..],
            1,
            "cannot open script 'no/such.lua': No such file",
        ),
        (&["--colour", &good], 2, "unexpected argument '--colour'"),
        (
            &["--rounds", "0", &good],
            2,
            "must be a number from 1 to 1000",
        ),
        (&[], 2, "no script was given"),
        (
            &["--peer", "lua5.9", &good],
            1,
            "cannot run peer 'lua5.9': 'lua5.9' was not found",
        ),
        (
            &["--json", "/no/such/out.json", &good],
            1,
            "cannot write '/no/such/out.json': No such file",
        ),
        (
            &["--html", "/", &good],
            1,
            "cannot write '/': Is a directory",
        ),
        (&[&syntax], 1, "unexpected symbol near '='"),
        (
            &[&fails],
            1,
            "the script failed in mode 'off' (exit code 1)",
        ),
        (&[&fails], 1, "fails.lua:1: out of tea"),
        (
            &["--rounds", "1", "--peer", "false", &good],
            1,
            "the script failed in mode 'false' (exit code 1)",
        ),
    ] {
        let finished = compare(words);
        assert_eq!(finished.code, Some(code), "{words:?}: {}", finished.stderr);
        assert!(
            finished.stderr.contains(part),
            "{words:?}: {}",
            finished.stderr
        );
    }
}

#[test]
fn an_interrupt_stops_the_script_and_its_writer() {
    let running = start(
        Command::new(sleepy_lua())
            .arg("compare")
            .arg(script("http_latency.lua")),
    );
    let deadline = Instant::now() + Duration::from_secs(20);
    let wait_for = |parent: u32, part: &str| loop {
        if let Some(child) = children(parent, part).pop() {
            break child;
        }
        assert!(Instant::now() < deadline, "no {part}");
        std::thread::sleep(Duration::from_millis(10));
    };
    let reader = wait_for(running.id(), "http_latency.lua");
    let writer = wait_for(reader, "writer.lua");
    let compare = Pid::from_child(&running);
    kill_process(compare, Signal::INT).expect("it runs");
    let finished = finish(running);
    assert_eq!(finished.code, Some(130));
    assert!(
        finished
            .stderr
            .contains("interrupted; the running script was stopped"),
        "{}",
        finished.stderr
    );
    assert!(!is_alive(reader));
    // The writer is reaped by the system, a moment later.
    while is_alive(writer) {
        assert!(Instant::now() < deadline, "the writer still runs");
        std::thread::sleep(Duration::from_millis(5));
    }
}
