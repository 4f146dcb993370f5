//! Every program on every peer, each run in a fresh process, in changing order.

use crate::peers::Peer;
use crate::programs::{self, Program};
use indicatif::ProgressBar;
use peers_common::child::{self, ChildError};
use peers_common::rounds::order;
use peers_common::samples::median;
use serde::Serialize;
use std::ffi::OsStr;
use std::time::Duration;

/// How long a run may take.
const TIMEOUT: Duration = Duration::from_secs(120);

/// What one run used.
#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    /// CPU time.
    pub cpu_s: f64,
    /// The most that was resident.
    pub peak_mib: f64,
    /// What it printed.
    pub output: String,
}

/// All runs of a program on a peer.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Cell {
    /// Those that ended well.
    pub samples: Vec<Sample>,
    /// Why others did not.
    pub failures: Vec<String>,
    /// What the interpreter lacks, if it says that it can't run the program.
    pub cannot: Option<String>,
}

impl Cell {
    /// The median of a figure; none where no run ended well.
    pub fn median(&self, figure: impl Fn(&Sample) -> f64) -> Option<f64> {
        let figures: Vec<f64> = self.samples.iter().map(figure).collect();
        (!figures.is_empty()).then(|| median(&figures))
    }
}

/// All cells: programs are rows, peers are columns.
pub struct Table {
    /// The rows' names.
    pub programs: Vec<Program>,
    /// The columns' names.
    pub peers: Vec<Peer>,
    /// A row for each program.
    pub cells: Vec<Vec<Cell>>,
}

impl Table {
    /// Whether everything ran, and programs that compute printed the same everywhere.
    pub fn is_complete(&self) -> bool {
        self.cells
            .iter()
            .flatten()
            .all(|cell| cell.failures.is_empty())
            && self.differing().next().is_none()
    }

    /// Programs that did not print the same everywhere.
    pub fn differing(&self) -> impl Iterator<Item = &Program> {
        let rows = self.programs.iter().zip(&self.cells);
        rows.filter(|(program, row)| {
            let mut outputs = row
                .iter()
                .flat_map(|cell| &cell.samples)
                .map(|sample| &sample.output);
            let first = outputs.next();
            program.kind == programs::Kind::Speed && outputs.any(|output| Some(output) != first)
        })
        .map(|(program, _)| program)
    }
}

/// Runs everything `rounds` times.
pub fn run(programs: &[Program], peers: &[Peer], rounds: usize) -> Table {
    let mut cells = vec![vec![Cell::default(); peers.len()]; programs.len()];
    let progress = ProgressBar::new((programs.len() * peers.len() * rounds) as u64);
    for round in 0..rounds {
        for (program, row) in programs.iter().zip(&mut cells) {
            for peer in order(peers.len(), round) {
                let cell = &mut row[peer];
                if cell.cannot.is_none() {
                    match once(program, &peers[peer]) {
                        Ok(Run::Done(sample)) => cell.samples.push(sample),
                        Ok(Run::Cannot(why)) => cell.cannot = Some(why),
                        Err(error) => cell.failures.push(error.to_string()),
                    }
                }
                progress.inc(1);
            }
        }
    }
    progress.finish_and_clear();
    Table {
        programs: programs.to_vec(),
        peers: peers.to_vec(),
        cells,
    }
}

/// How a run ended.
enum Run {
    /// With figures.
    Done(Sample),
    /// The interpreter says that it can't run the program, and why.
    Cannot(String),
}

fn once(program: &Program, peer: &Peer) -> Result<Run, ChildError> {
    let runner = programs::runner();
    let own = peer.arguments.iter().map(OsStr::new);
    let script = [runner.as_os_str(), program.path.as_os_str()];
    let arguments = program.arguments.iter().map(OsStr::new);
    let answer = child::run(
        &peer.program,
        own.chain(script).chain(arguments),
        &[],
        TIMEOUT,
    )?;
    if let Some(why) = answer.json["cannot"].as_str() {
        return Ok(Run::Cannot(why.to_owned()));
    }
    Ok(Run::Done(Sample {
        cpu_s: answer.usage.cpu_ns as f64 / 1e9,
        peak_mib: answer.json["peak_kib"].as_f64().unwrap_or(0.0) / 1024.0,
        output: answer.json["output"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
    }))
}
