//! The longest collection step for each shape of heap, in CPU time of the thread.
//!
//! ```text
//! cargo run --release -p sleepy-gc --example steps [rounds [name]]
//! ```
//!
//! Each shape is built, collected in steps of 15 µs while (most of) it is alive, dropped, and collected again. A round
//! gives the longest step; of all rounds the least and the greatest of these are shown, since what else runs on the
//! machine makes steps longer, never shorter. The program fails where the least is beyond 100 µs.
//!
//! Shown, and not judged: the longest callback, which is the program's own, and shapes with a `*`, for which no bound is
//! given. (A program that takes windows on more of a stack in each callback than a step scans has the stack scanned to its
//! end in one piece, or else the cycle would never end.)

mod clock;
mod shapes;
mod weak_shapes;

use std::process::ExitCode;

use clock::Round;
use sleepy_alloc::SleepyAlloc;

#[global_allocator]
static ALLOCATOR: SleepyAlloc = SleepyAlloc;

/// What no step may exceed.
const LIMIT_US: f64 = 100.0;

/// A heap of a kind: its name, and a run that collects it in steps.
pub type Shape = (&'static str, fn(&mut Round));

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let rounds = match args.next().map(|text| text.parse::<usize>()) {
        None => 3,
        Some(Ok(rounds)) if rounds > 0 => rounds,
        Some(_) => {
            eprintln!("usage: steps [rounds [name]]");
            return ExitCode::from(2);
        }
    };
    let name = args.next();
    let mut too_long = 0;
    println!(
        "| shape | steps | p50 µs | p99.9 µs | longest µs, least and greatest of {rounds} rounds | longest callback ms |"
    );
    println!("|---|---|---|---|---|---|");
    let shapes = shapes::ALL.iter().chain(weak_shapes::ALL);
    for (shape, run) in
        shapes.filter(|(shape, _)| name.as_ref().is_none_or(|name| shape.contains(&**name)))
    {
        let mut all = Vec::new();
        for _ in 0..rounds {
            let mut round = Round::default();
            run(&mut round);
            all.push(round.summary());
        }
        all.sort_by(|a, b| a.longest_us.total_cmp(&b.longest_us));
        let (least, greatest) = (&all[0], &all[all.len() - 1]);
        let verdict = if least.longest_us > LIMIT_US && !shape.ends_with('*') {
            too_long += 1;
            " **too long**"
        } else {
            ""
        };
        println!(
            "| {shape} | {} | {:.1} | {:.1} | {:.1} ({}) … {:.1}{verdict} | {:.1} |",
            least.steps,
            least.p50_us,
            least.p999_us,
            least.longest_us,
            least.longest_phase,
            greatest.longest_us,
            least.callback_ms
        );
    }
    if too_long > 0 {
        eprintln!("{too_long} shapes have a step of more than {LIMIT_US} µs");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
