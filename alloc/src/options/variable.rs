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

/// A variable: the numbers that it takes, and what they set.
struct Variable {
    range: RangeInclusive<u64>,
    setting: fn(u64) -> Setting,
}

const LONGEST_MS: u64 = LONGEST.as_millis() as u64;

/// The variable of this name. A function and no table, which the dynamic linker would have to relocate at each start.
fn variable(name: &[u8]) -> Option<Variable> {
    let (range, setting): (_, fn(u64) -> Setting) = match name {
        b"SCAVENGER" => (0..=1, |number| Setting::Scavenger(number != 0)),
        b"PURGE_DELAY_MS" => (0..=LONGEST_MS, Setting::PurgeDelayMs),
        b"MIN_INTERVAL_MS" => (0..=LONGEST_MS, Setting::MinIntervalMs),
        b"ARENA_MIB" => (1..=1024, Setting::ArenaMib),
        b"STATS" => (0..=1, |number| Setting::Stats(number != 0)),
        _ => return None,
    };
    Some(Variable { range, setting })
}

/// Says on one line that a variable is ignored, and why.
pub(super) type Complaint = Text<160>;

/// Bytes of a bad value that are shown.
const SHOWN_BYTES: usize = 32;

/// Reads a variable, given without the prefix of its name. `None`: it is empty, or none of ours.
pub(super) fn read(name: &[u8], value: &[u8]) -> Option<Result<Setting, Complaint>> {
    let variable = variable(name)?;
    if value.is_empty() {
        return None;
    }
    let found = number(value).filter(|number| variable.range.contains(number));
    Some(
        found
            .map(variable.setting)
            .ok_or_else(|| complain(name, &variable.range, value)),
    )
}

fn complain(name: &[u8], range: &RangeInclusive<u64>, value: &[u8]) -> Complaint {
    let shown = value
        .get(..SHOWN_BYTES)
        .filter(|_| value.len() > SHOWN_BYTES);
    let mut line = Complaint::new();
    line.push(b"sleepy-alloc: ")
        .push(PREFIX)
        .push(name)
        .push(b"=")
        .push(shown.unwrap_or(value))
        .push(if shown.is_some() { b"..." } else { b"" })
        .push(b" is ignored: it takes a whole number from ")
        .push_number(*range.start())
        .push(b" to ")
        .push_number(*range.end())
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
        for name in [
            "SCAVENGER",
            "PURGE_DELAY_MS",
            "MIN_INTERVAL_MS",
            "ARENA_MIB",
            "STATS",
        ] {
            let line = complaint(name, &"9".repeat(10_000));
            let end = *variable(name.as_bytes()).unwrap().range.end();
            assert!(line.contains("999... is ignored"), "{line}");
            assert!(line.ends_with(&format!(" {end}\n")), "{line}");
        }
    }

    #[test]
    fn what_is_empty_or_not_ours_is_passed_over() {
        assert!(read(b"ARENA_MIB", b"").is_none());
        assert!(read(b"SWEEP", b"0").is_none());
        assert!(read(b"", b"1").is_none());
    }
}
