//! Cases: one program, one allocator, one set of settings; and what many rounds of them come to.

use super::median;
use crate::Result;
use indicatif::{ProgressBar, ProgressStyle};
use peers_common::child;
use peers_common::record::{Context, Ready};
use peers_common::rounds;
use serde::Serialize;
use serde_json::Value;
use std::time::Duration;

/// No program takes longer, the machine being as busy as it likes.
const TIMEOUT: Duration = Duration::from_secs(600);

/// An allocator as it takes part: a peer, perhaps told of the waits, perhaps with one setting more.
#[derive(Clone, Serialize)]
pub struct Entrant {
    /// Its name in tables.
    pub name: String,
    /// The peer that it is made from.
    #[serde(skip)]
    pub peer: Ready,
    /// Whether the programs tell it of their waits.
    pub told: bool,
    /// The environment of its processes.
    pub env: Vec<(&'static str, &'static str)>,
}

impl Entrant {
    /// The peer as it comes.
    pub fn plain(peer: &Ready) -> Self {
        Self {
            name: peer.variant.name.to_owned(),
            peer: peer.clone(),
            told: false,
            env: peer.variant.env.to_vec(),
        }
    }

    /// The same, told of the waits.
    pub fn told(&self) -> Self {
        Self {
            name: format!("{}, told", self.name),
            told: true,
            ..self.clone()
        }
    }

    /// The same with one setting more.
    pub fn with(&self, name: &str, key: &'static str, value: &'static str) -> Self {
        let mut other = Self {
            name: format!("{}, {name}", self.name),
            ..self.clone()
        };
        other.env.push((key, value));
        other
    }

    /// Whether there is a hand-off to tell it by.
    pub fn is_sleepy(&self) -> bool {
        self.peer.variant.peer == "sleepy"
    }
}

/// Every peer of the context; those with a hand-off twice, told of the waits and not.
pub fn entrants(context: &Context) -> Vec<Entrant> {
    let mut all = Vec::new();
    for peer in &context.peers {
        let plain = Entrant::plain(peer);
        if plain.is_sleepy() {
            all.push(plain.told());
        }
        all.push(plain);
    }
    all
}

/// One program under one allocator.
#[derive(Clone, Serialize)]
pub struct Case {
    /// The part of the table that it belongs to.
    pub group: String,
    /// The allocator.
    pub entrant: Entrant,
    /// The program and its arguments.
    pub arguments: Vec<String>,
}

impl Case {
    /// A case of `group`, with the arguments as one line of words.
    pub fn new(group: &str, entrant: &Entrant, arguments: &str) -> Self {
        let mut arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
        if entrant.told {
            arguments.push("--hand-off".to_owned());
        }
        Self {
            group: group.to_owned(),
            entrant: entrant.clone(),
            arguments,
        }
    }

    /// Runs it once.
    pub fn run(&self) -> Result<Value> {
        let peer = &self.entrant.peer;
        let answer = child::run(&peer.program, &self.arguments, &self.entrant.env, TIMEOUT);
        Ok(answer?.json)
    }
}

/// What the rounds of a case came to.
#[derive(Serialize)]
pub struct Outcome {
    /// The case.
    pub case: Case,
    /// The median of each number.
    pub median: Value,
    /// All answers.
    pub rounds: Vec<Value>,
}

impl Outcome {
    /// A number of the median, by its path: `main/cpu_ns`.
    pub fn number(&self, path: &str) -> Option<f64> {
        self.median.pointer(&format!("/{path}"))?.as_f64()
    }

    /// The largest of all rounds.
    pub fn most(&self, path: &str) -> Option<f64> {
        let path = format!("/{path}");
        let numbers = self
            .rounds
            .iter()
            .map(|answer| answer.pointer(&path)?.as_f64());
        numbers.fold(None, |most, number| match (most, number) {
            (Some(most), Some(number)) => Some(f64::max(most, number)),
            (most, number) => most.or(number),
        })
    }

    /// The mean of all rounds, for numbers so coarse that their median is mostly zero.
    pub fn mean(&self, path: &str) -> Option<f64> {
        let path = format!("/{path}");
        let numbers: Option<Vec<f64>> = self
            .rounds
            .iter()
            .map(|answer| answer.pointer(&path)?.as_f64())
            .collect();
        let numbers = numbers.filter(|numbers| !numbers.is_empty())?;
        Some(numbers.iter().sum::<f64>() / numbers.len() as f64)
    }

    /// A number for a table: divided by `unit`, or a dash.
    pub fn cell(&self, path: &str, unit: f64) -> String {
        self.number(path)
            .map_or_else(|| "–".to_owned(), |number| short(number / unit))
    }
}

/// A number with three digits or so; whole numbers and long ones without a fraction.
pub fn short(number: f64) -> String {
    if number.fract() == 0.0 {
        format!("{number:.0}")
    } else if number.abs() < 0.01 {
        format!("{number:.4}")
    } else {
        peers_common::table::short(number)
    }
}

/// Runs every case in every round, nobody always first.
pub fn run(name: &str, rounds: usize, cases: Vec<Case>) -> Result<Vec<Outcome>> {
    run_with(name, rounds, cases, Case::run)
}

/// As [`run`], with another way to run a case.
pub fn run_with(
    name: &str,
    rounds: usize,
    cases: Vec<Case>,
    run: impl Fn(&Case) -> Result<Value>,
) -> Result<Vec<Outcome>> {
    let bar = ProgressBar::new((rounds * cases.len()) as u64);
    bar.set_style(ProgressStyle::with_template(
        "{prefix} {pos}/{len} {elapsed} {wide_msg}",
    )?);
    bar.set_prefix(name.to_owned());
    let mut answers: Vec<Vec<Value>> = vec![Vec::new(); cases.len()];
    for round in 0..rounds {
        for at in rounds::order(cases.len(), round) {
            let case = &cases[at];
            bar.set_message(format!("{}: {}", case.entrant.name, case.group));
            let answer =
                run(case).map_err(|error| format!("{name}, {}: {error}", case.entrant.name))?;
            answers[at].push(answer);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    let outcomes = cases.into_iter().zip(answers);
    Ok(outcomes
        .map(|(case, rounds)| Outcome {
            case,
            median: median::of(&rounds),
            rounds,
        })
        .collect())
}

/// The names of the groups, each once, in order.
pub fn groups(outcomes: &[Outcome]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for outcome in outcomes {
        if !names.contains(&outcome.case.group.as_str()) {
            names.push(&outcome.case.group);
        }
    }
    names
}
