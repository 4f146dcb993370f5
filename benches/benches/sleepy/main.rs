//! The five benchmarks of Ruby's Feature 14723, in Rust, with sleeping off and on. As Lua they are `interp-demo/scripts/gc_*.lua`.
//!
//! ```console
//! $ cargo bench -p sleepy-benches --bench sleepy
//! $ cargo bench -p sleepy-benches --bench sleepy -- --table benches/record/DATE/ruby.md
//! ```
//!
//! The first gives criterion's times of a turn (a minute), and the options of criterion. The second gives what that issue was about, time
//! *and* memory: each benchmark runs in processes of its own, off and on in turn, with partners that answer at once and with slow ones, and
//! the table of medians goes to standard output and to the file. Where a partner answers at once waits are too short for a cycle to be
//! started in them: there sleeping is to cost nothing. With real-time priority, where that is allowed.

mod table;
mod workloads;

use std::time::Duration;

use criterion::{Criterion, SamplingMode};
use sleepy_alloc::SleepyAlloc;
use sleepy_gc::idle::Policy;

use workloads::ALL;

#[global_allocator]
static ALLOCATOR: SleepyAlloc = SleepyAlloc;

type MakePolicy = fn() -> Policy;

/// The modes, side by side.
const MODES: [(&str, MakePolicy); 2] = [("off", Policy::off), ("on", Policy::default)];

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["--child", name, mode, turns, pause] => table::child(name, mode, turns, pause),
        ["--table", file] => table::make(file),
        _ => {
            times(&mut Criterion::default().configure_from_args());
            return;
        }
    };
    if let Err(error) = done {
        eprintln!("sleepy: {error}");
        std::process::exit(1);
    }
}

fn times(c: &mut Criterion) {
    for workload in ALL {
        let mut group = c.benchmark_group(workload.name);
        group
            .sample_size(10)
            .sampling_mode(SamplingMode::Flat)
            .warm_up_time(Duration::from_millis(300))
            .measurement_time(Duration::from_secs(2));
        for (mode, policy) in MODES {
            group.bench_function(mode, |b| {
                b.iter_custom(|turns| (workload.run)(policy(), turns, Duration::ZERO));
            });
        }
        group.finish();
    }
    Criterion::default().final_summary();
}
