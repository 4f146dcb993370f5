//! What a script reports of itself, and whether all runs agree.
//!
//! A script that knows of `compare` writes one JSON object into the file `$SLEEPY_REPORT` when it is
//! done; `interp-demo/scripts/lib/report.lua` does it for the scripts beside this crate:
//!
//! ```json
//! {"at": 1795996059.25,
//!  "same": {"bytes": 33554432, "md5": "9e10…"},
//!  "wake_delay_us": [49.1, 52.0],
//!  "marks": [{"name": "dropped", "at": 1795996058.2}]}
//! ```
//!
//! All keys may be missing. `at` is the moment at which the script was done (seconds since 1970): what
//! the interpreter does afterwards, such as freeing its heap piece by piece, is no part of the memory
//! curve. `same` has what every run must agree on; a run without one of the names is not asked for it,
//! since a peer may lack a module. `wake_delay_us` has the time from the sender's stamp to the arrival
//! for each event. `marks` are moments for the page to show.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::ModeRuns;
use super::child::Run;
use super::error::CompareError;

/// The script's own words.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Report {
    /// When the script was done, in seconds since 1970.
    pub at: Option<f64>,
    /// What every run must agree on.
    pub same: BTreeMap<String, Value>,
    /// How late each event was seen.
    pub wake_delay_us: Vec<f64>,
    /// Moments worth a line in the picture.
    pub marks: Vec<Mark>,
}

/// A named moment.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Mark {
    /// What happened.
    pub name: String,
    /// When, in seconds since 1970.
    pub at: f64,
}

/// Holds all runs against the first one that has the fact in question.
pub(super) fn check_agreement(all: &[ModeRuns]) -> Result<(), CompareError> {
    let mut facts: BTreeMap<&str, (&str, &Value)> = BTreeMap::new();
    let mut output: Option<(&str, &[u8])> = None;
    for (mode, run) in runs(all) {
        let Some(report) = &run.report else {
            let (first_mode, first) = *output.get_or_insert((mode, &run.stdout));
            if first != run.stdout {
                return Err(CompareError::Disagreement(format!(
                    "mode '{mode}' printed something else than mode '{first_mode}'"
                )));
            }
            continue;
        };
        for (name, value) in &report.same {
            let (first_mode, first) = *facts.entry(name).or_insert((mode, value));
            if first != value {
                return Err(CompareError::Disagreement(format!(
                    "{name} is {first} in mode '{first_mode}', but {value} in mode '{mode}'"
                )));
            }
        }
    }
    Ok(())
}

fn runs(all: &[ModeRuns]) -> impl Iterator<Item = (&str, &Run)> {
    all.iter()
        .flat_map(|mode| mode.runs.iter().map(|run| (mode.mode.name.as_str(), run)))
}

#[cfg(test)]
mod tests {
    use super::super::mode;
    use super::*;

    fn reported(same: &str) -> Run {
        let report = serde_json::from_str(&format!(r#"{{"same":{same}}}"#)).expect("JSON");
        Run {
            report: Some(report),
            ..Run::default()
        }
    }

    fn printed(stdout: &str) -> Run {
        Run {
            stdout: stdout.into(),
            ..Run::default()
        }
    }

    fn check(runs: [Run; 3]) -> Result<(), String> {
        let modes = mode::all("lua".as_ref(), &[]).expect("our modes");
        let all: Vec<ModeRuns> = modes
            .into_iter()
            .zip(runs)
            .map(|(mode, run)| ModeRuns {
                mode,
                runs: vec![run],
            })
            .collect();
        check_agreement(&all).map_err(|error| error.to_string())
    }

    #[test]
    fn equal_results_agree_and_a_missing_one_is_not_asked_for() {
        check([
            reported(r#"{"a":1,"b":"x"}"#),
            reported(r#"{"a":1}"#),
            reported(r#"{"b":"x"}"#),
        ])
        .expect("agreement");
        check([printed("x"), printed("x"), printed("x")]).expect("agreement");
    }

    #[test]
    fn a_difference_is_told_with_both_modes() {
        assert_eq!(
            check([
                reported(r#"{"a":1}"#),
                reported(r#"{"b":2}"#),
                reported(r#"{"a":2}"#)
            ]),
            Err(
                "the results differ: a is 1 in mode 'off', but 2 in mode 'gc+scavenger'".to_owned()
            )
        );
        assert_eq!(
            check([printed("x"), printed("x"), printed("y")]),
            Err(
                "the results differ: mode 'gc+scavenger' printed something else than mode 'off'"
                    .to_owned()
            )
        );
    }
}
