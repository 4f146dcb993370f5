//! The environment turns switches off, each alone; what the program has turned off stays off, and so does what was not built.

use std::process::Command;

use sleepy_gc::idle::{Policy, Sleeper, Switches};

/// What the child is to find.
const EXPECTED: &str = "SLEEPY_TEST_SWITCHES";

fn letters(switches: Switches) -> String {
    let Switches {
        sweep,
        mark,
        start,
        park,
    } = switches;
    let all = [(sweep, 'w'), (mark, 'm'), (start, 's'), (park, 'p')];
    all.iter().filter(|it| it.0).map(|it| it.1).collect()
}

/// What is done in the child process; in others it does nothing.
#[test]
fn child() {
    if let Ok(expected) = std::env::var(EXPECTED) {
        let switches = Sleeper::new(Policy::default()).switches();
        assert_eq!(letters(switches), expected);
        assert_eq!(Sleeper::new(Policy::off()).switches(), Switches::OFF);
    }
}

#[test]
fn each_switch_has_its_variable() {
    let cases: [(&[(&str, &str)], &str); 7] = [
        (&[], "wmsp"),
        (&[("SLEEPY_SWEEP", "0")], "msp"),
        (&[("SLEEPY_MARK", "0")], "wsp"),
        (&[("SLEEPY_START", "0")], "wmp"),
        (&[("SLEEPY_PARK", "0")], "wms"),
        (&[("SLEEPY_PARK", "0"), ("SLEEPY_SWEEP", "0")], "ms"),
        (&[("SLEEPY_PARK", "1"), ("SLEEPY_SWEEP", "")], "wmsp"),
    ];
    for (environment, expected) in cases {
        let expected: String = expected
            .chars()
            .filter(|&it| letters(Switches::BUILT).contains(it))
            .collect();
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "environment::child"])
            .env(EXPECTED, &expected)
            .envs(environment.iter().copied())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{environment:?}: {text}");
        assert!(text.contains("1 passed"), "{text}");
    }
}
