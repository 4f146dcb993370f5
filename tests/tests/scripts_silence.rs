//! After its bursts the process gives its memory back within a second, and is then still: not one
//! wake-up of any thread in ten seconds.

use std::io::{BufRead, BufReader};
use std::process::Command;
use std::time::Duration;

use sleepy_tests::process::{resident_bytes, voluntary_switches};
use sleepy_tests::program::{finish, script, sleepy_lua, start};

/// How much more than at the end of the silence may be resident one second after its begin.
const SLACK_BYTES: u64 = 1_000_000;

#[test]
fn a_silent_process_is_small_and_still() {
    let mut reader = start(
        Command::new(sleepy_lua())
            .arg(script("burst.lua"))
            .args(["12.5", "3"]),
    );
    let pid = reader.id();
    let mut first_line = String::new();
    let mut stdout = BufReader::new(reader.stdout.take().expect("a pipe"));
    stdout
        .read_line(&mut first_line)
        .expect("a pipe can be read");
    assert_eq!(first_line, "silent\n");

    std::thread::sleep(Duration::from_secs(1));
    let early_bytes = resident_bytes(pid).expect("it still runs");
    let before = voluntary_switches(pid);
    std::thread::sleep(Duration::from_secs(10));
    let after = voluntary_switches(pid);
    let late_bytes = resident_bytes(pid).expect("it still runs");

    assert!(!before.is_empty());
    assert_eq!(
        after, before,
        "(thread, voluntary switches) after and before ten seconds of silence"
    );
    assert!(
        early_bytes <= late_bytes + SLACK_BYTES,
        "{early_bytes} bytes, then {late_bytes}"
    );
    assert_eq!(finish(reader).code, Some(0));
}
