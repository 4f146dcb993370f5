//! `SLEEPY_STATS=1` prints the figures of a preloaded program when it ends.

mod common;

use common::{assert_success, command, find};
use std::path::Path;

#[test]
fn figures_are_printed_at_exit_and_only_when_asked_for() {
    let Some(bash) = find("bash") else { return };
    for (setting, is_printed) in [("SLEEPY_STATS=1", true), ("SLEEPY_STATS=0", false)] {
        let mut run = command(Path::new("env"), true);
        run.arg(setting)
            .arg(&bash)
            .args(["-c", "x=$(seq 1000); exit 0"]);
        let output = run.output().unwrap();
        assert_success(&run, &output);
        let printed = String::from_utf8_lossy(&output.stderr);
        assert_eq!(printed.contains("live_bytes"), is_printed, "{printed}");
        assert_eq!(printed.contains("purged_bytes"), is_printed, "{printed}");
    }
}
