//! What sleeping must show: every row of the table of workloads W1 to W12, with sleeping off and on in one interleaved run.
//!
//! ```console
//! $ cargo run --release -p sleepy-benches --bin idle-figures -- --out benches/record/DATE
//! $ cargo run --release -p sleepy-benches --bin idle-figures -- --quick
//! $ cargo run --release -p sleepy-benches --bin idle-figures -- --only W2,pg --rounds 5
//! ```
//!
//! Each figure is from processes of their own: scripts of `interp-demo/scripts` under `sleepy-lua` (built by cargo, in the same
//! profile), and this binary again for what is not said in Lua. In each round every mode runs once, the order changes from
//! round to round, and medians count. What measures delays (W8, W12) runs with real-time priority where that is allowed (`SCHED_RR` 1, off
//! and on alike), so that other processes are not a part of them. The table goes to standard output; with `--out` it is `idle.md` there, beside `idle.json`.
//! Exit code 1 if a figure is missed.

mod child;
mod lua;
mod measure;
mod row;
mod rows;
mod watch;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use sleepy_alloc::SleepyAlloc;
use sleepy_benches::interpreter::Interpreter;

use crate::lua::Lua;
use crate::row::Table;

/// The workloads that run in this binary allocate as those in `sleepy-lua` do.
#[global_allocator]
static ALLOCATOR: SleepyAlloc = SleepyAlloc;

/// What can go wrong with a measurement.
type Error = Box<dyn std::error::Error>;
type Result<T> = std::result::Result<T, Error>;

/// Measures every row of the table of what sleeping must show, off and on.
#[derive(Debug, Parser)]
struct Options {
    /// A fifth of the time or less: whether everything runs, not what it costs.
    #[arg(long)]
    quick: bool,
    /// Only these rows: W1 to W12, pg.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// How often each mode runs.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Also what takes minutes: the silence of 40 s, the pause of 3 min.
    #[arg(long)]
    long: bool,
    /// The folder for `idle.md` and `idle.json`.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Run as a workload instead.
    #[arg(long, hide = true, num_args = 1..)]
    child: Option<Vec<String>>,
}

/// What a row is measured with.
struct Bench {
    lua: Lua,
    rounds: usize,
    quick: bool,
    long: bool,
}

impl Bench {
    /// `full`, or a part of it if there is little time.
    fn scaled(&self, full: u32, quick: u32) -> u32 {
        if self.quick { quick } else { full }
    }
}

fn main() -> ExitCode {
    let options = Options::parse();
    let done = match &options.child {
        Some(words) => child::run(words).map(|()| true),
        None => run(&options),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("idle-figures: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> Result<bool> {
    let is_wanted = |name: &str| {
        options.only.is_empty() || options.only.iter().any(|it| it.eq_ignore_ascii_case(name))
    };
    if let Some(unknown) = options.only.iter().find(|it| {
        !rows::ALL
            .iter()
            .any(|(name, _)| it.eq_ignore_ascii_case(name))
    }) {
        let known: Vec<&str> = rows::ALL.iter().map(|(name, _)| *name).collect();
        return Err(format!(
            "there is no row '{unknown}'; there are {}",
            known.join(", ")
        )
        .into());
    }
    let bench = Bench {
        lua: Lua(Interpreter::build()?),
        rounds: if options.quick {
            1
        } else {
            options.rounds as usize
        },
        quick: options.quick,
        long: options.long,
    };
    let mut table = Table::new(bench.rounds, bench.quick);
    for (name, measure) in rows::ALL {
        if is_wanted(name) {
            let begun = std::time::Instant::now();
            measure(&bench, &mut table)?;
            eprintln!("{name}: {:.0} s", begun.elapsed().as_secs_f64());
        }
    }
    let text = table.to_markdown();
    print!("{text}");
    if let Some(folder) = &options.out {
        fs::create_dir_all(folder)?;
        fs::write(folder.join("idle.md"), &text)?;
        fs::write(folder.join("idle.json"), table.to_json()?)?;
    }
    Ok(table.is_met())
}
