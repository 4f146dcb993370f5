//! The Lua programs of `tests/lua`, which check themselves: under the usual pacing, and with a collection at every
//! opportunity.

use std::process::Command;

use sleepy_tests::program::{run, sleepy_lua, workspace};

fn check(options: &[&str]) {
    let folder = workspace().join("tests/lua");
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).expect("the folder is there") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "lua") {
            continue;
        }
        let end = run(Command::new(sleepy_lua()).args(options).arg(&path));
        assert_eq!(
            (end.code, end.stdout.as_str()),
            (Some(0), "ok\n"),
            "{}\n{}",
            path.display(),
            end.stderr
        );
        count += 1;
    }
    assert!(count >= 6);
}

#[test]
fn programs_that_check_themselves() {
    check(&[]);
}

#[test]
fn the_same_under_zeal() {
    check(&["--zeal=50"]);
}
