//! The variables of the environment that set options. Pure.
#![forbid(unsafe_code)]

use super::LONGEST;
use crate::text::{Text, number};
use core::ops::RangeInclusive;

/// What the names of all variables begin with.
pub(super) const PREFIX: &[u8] = b"SLEEPY_";

/// What a variable sets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Setting {
    Scavenger(bool),
    PurgeDelayMs(u64),
    MinIntervalMs(u64),
    ArenaMib(u64),
    Stats(bool),
}

/// A variable: its name without the prefix, the numbers that it takes, and what they set.
struct Variable {
    name: &'static [u8],
    range: RangeInclusive<u64>,
    setting: fn(u64) -> Setting,
}

const LONGEST_MS: u64 = LONGEST.as_millis() as u64;

static VARIABLES: [Variable; 5] = [
    Variable {
        name: b"SCAVENGER",
        range: 0..=1,
        setting: |number| Setting::Scavenger(number != 0),
    },
    Variable {
        name: b"PURGE_DELAY_MS",
        range: 0..=LONGEST_MS,
        setting: Setting::PurgeDelayMs,
    },
    Variable {
        name: b"MIN_INTERVAL_MS",
        range: 0..=LONGEST_MS,
        setting: Setting::MinIntervalMs,
    },
    Variable {
        name: b"ARENA_MIB",
        range: 1..=1024,
        setting: Setting::ArenaMib,
    },
    Variable {
        name: b"STATS",
        range: 0..=1,
        setting: |number| Setting::Stats(number != 0),
    },
];

/// Says on one line that a variable is ignored, and why.
pub(super) type Complaint = Text<160>;

/// Bytes of a bad value that are shown.
const SHOWN_BYTES: usize = 32;

/// Reads a variable, given without the prefix of its name. `None`: it is empty, or none of ours.
pub(super) fn read(name: &[u8], value: &[u8]) -> Option<Result<Setting, Complaint>> {
    let variable = VARIABLES.iter().find(|known| known.name == name)?;
    if value.is_empty() {
        return None;
    }
    let found = number(value).filter(|number| variable.range.contains(number));
    Some(
        found
            .map(variable.setting)
            .ok_or_else(|| complain(variable, value)),
    )
}

fn complain(variable: &Variable, value: &[u8]) -> Complaint {
    let mut line = Complaint::new();
    line.push(b"sleepy-alloc: ")
        .push(PREFIX)
        .push(variable.name)
        .push(b"=")
        .push(&value[..value.len().min(SHOWN_BYTES)])
        .push(if value.len() > SHOWN_BYTES {
            b"..."
        } else {
            b""
        })
        .push(b" is ignored: it takes a whole number from ")
        .push_number(*variable.range.start())
        .push(b" to ")
        .push_number(*variable.range.end())
        .push(b"\n");
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(name: &str, value: &str) -> String {
        match read(name.as_bytes(), value.as_bytes()) {
            Some(Err(complaint)) => complaint.as_str().to_owned(),
            _ => panic!("{name}={value} was taken"),
        }
    }

    #[test]
    fn good_values_are_taken() {
        let taken = |name: &str, value: &str| {
            read(name.as_bytes(), value.as_bytes()).and_then(|read| read.ok())
        };
        assert_eq!(taken("SCAVENGER", "0"), Some(Setting::Scavenger(false)));
        assert_eq!(taken("STATS", "1"), Some(Setting::Stats(true)));
        assert_eq!(taken("ARENA_MIB", "1024"), Some(Setting::ArenaMib(1024)));
        assert_eq!(taken("PURGE_DELAY_MS", "0"), Some(Setting::PurgeDelayMs(0)));
        assert_eq!(
            taken("MIN_INTERVAL_MS", "3600000"),
            Some(Setting::MinIntervalMs(3_600_000))
        );
    }

    #[test]
    fn bad_values_are_named() {
        assert_eq!(
            complaint("ARENA_MIB", "abc"),
            "sleepy-alloc: SLEEPY_ARENA_MIB=abc is ignored: it takes a whole number from 1 to 1024\n"
        );
        for (name, value) in [
            ("ARENA_MIB", "0"),
            ("ARENA_MIB", "1025"),
            ("SCAVENGER", "yes"),
            ("SCAVENGER", "-1"),
            ("STATS", "2"),
            ("PURGE_DELAY_MS", "3600001"),
            ("MIN_INTERVAL_MS", "99999999999999999999999999"),
        ] {
            assert!(complaint(name, value).contains(&format!("{name}={value} ")));
        }
    }

    #[test]
    fn the_longest_complaint_fits() {
        for variable in &VARIABLES {
            let name = std::str::from_utf8(variable.name).unwrap();
            let line = complaint(name, &"9".repeat(10_000));
            assert!(line.contains("999... is ignored"), "{line}");
            assert!(
                line.ends_with(&format!(" {}\n", variable.range.end())),
                "{line}"
            );
        }
    }

    #[test]
    fn what_is_empty_or_not_ours_is_passed_over() {
        assert!(read(b"ARENA_MIB", b"").is_none());
        assert!(read(b"SWEEP", b"0").is_none());
        assert!(read(b"", b"1").is_none());
    }
}
