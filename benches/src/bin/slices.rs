//! How long a thread may keep the interpreter lock while another one wants it: what a slice costs, and who waits for it.
//!
//! `cargo run --release -p sleepy-benches --bin slices -- [--seconds N] [--rounds N] [--out FILE]`
//!
//! Busy threads compute under the lock, and at a safe point each 20 µs give it up if it was wanted for a slice, as `sleepy-lua` does
//! (`interp-demo/src/runtime/worker.rs`). Beside them one thread waits for a descriptor, to which another process would write every
//! 2 ms or so, and computes 50 µs for each event. Slices take turns within a round; medians count. All of it has real-time priority where
//! that is allowed, so that nothing else is measured.

use std::error::Error;
use std::hint::black_box;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use sleepy_benches::machine;
use sleepy_gc::Rootable;
use sleepy_gc::idle::{Gil, Histogram, Interest, Policy, SendArena, Sleeper};

type Result<T> = std::result::Result<T, Box<dyn Error>>;
type Lock = Gil<SendArena<Rootable![u32]>>;

const SLICES_US: [u64; 6] = [250, 500, 1000, 2000, 5000, 10_000];
const BUSY: [usize; 3] = [1, 2, 4];

/// Compares slices of the interpreter lock.
#[derive(Debug, Parser)]
struct Options {
    /// How long each run takes.
    #[arg(long, default_value_t = 1)]
    seconds: u64,
    /// How often each slice runs.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Where the table goes, besides standard output.
    #[arg(long)]
    out: Option<PathBuf>,
}

/// What was found in one run.
struct Run {
    /// Work done by the busy threads, in turns of 20 µs, a second.
    turns: f64,
    /// From the write to the moment that the reader has the lock.
    delay_p50_us: f64,
    delay_p99_us: f64,
}

fn main() -> ExitCode {
    match compare(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("slices: {error}");
            ExitCode::FAILURE
        }
    }
}

fn compare(options: &Options) -> Result<()> {
    let time = Duration::from_secs(options.seconds);
    let priority = libc::sched_param { sched_priority: 1 };
    // SAFETY: the parameters are readable; nothing depends on whether it may.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &raw const priority) };
    let mut text = format!(
        "{}; medians of {} rounds\n\n\
         | busy threads | slice ms | work of the busy ones, of one alone | delay p50 ms | p99 ms |\n|---|---|---|---|---|\n",
        machine::description(),
        options.rounds
    );
    for busy in BUSY {
        let mut runs: Vec<Vec<Run>> = SLICES_US.iter().map(|_| Vec::new()).collect();
        let mut alone = Vec::new();
        for _ in 0..options.rounds {
            alone.push(run(1, Duration::MAX, time, false)?.turns);
            for (slice_us, runs) in SLICES_US.iter().zip(&mut runs) {
                runs.push(run(busy, Duration::from_micros(*slice_us), time, true)?);
            }
        }
        let alone = median(alone.into_iter());
        for (slice_us, runs) in SLICES_US.iter().zip(&runs) {
            let line = format!(
                "| {busy} | {} | {:.1} % | {:.3} | {:.3} |\n",
                *slice_us as f64 / 1e3,
                median(runs.iter().map(|run| run.turns)) / alone * 100.0,
                median(runs.iter().map(|run| run.delay_p50_us)) / 1e3,
                median(runs.iter().map(|run| run.delay_p99_us)) / 1e3,
            );
            eprint!("{line}");
            text += &line;
        }
    }
    print!("{text}");
    if let Some(file) = &options.out {
        std::fs::write(file, text)?;
    }
    Ok(())
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// About so long on one processor, in the cache.
fn work(turns: u64, mut x: u64) -> u64 {
    for n in 0..turns * 400 {
        x = black_box(x.wrapping_mul(31) ^ n);
    }
    x
}

fn run(busy: usize, slice: Duration, time: Duration, with_reader: bool) -> Result<Run> {
    let gil = Lock::new(SendArena::new(|_| 0));
    let is_over = AtomicBool::new(false);
    let turns = AtomicU64::new(0);
    let begun = Instant::now();
    let (mut ours, mut theirs) = UnixStream::pair()?;
    let delays = thread::scope(|scope| {
        for _ in 0..busy {
            scope.spawn(|| compute(&gil, slice, &is_over, &turns));
        }
        let reader = with_reader.then(|| {
            scope.spawn(|| -> std::io::Result<Histogram> {
                let mut delays = Histogram::new();
                let mut sleeper = Sleeper::new(Policy::default());
                let mut guard = gil.lock();
                loop {
                    sleeper.wait_fd(&mut guard, ours.as_fd(), Interest::Readable, None)?;
                    let now_ns = ns(begun.elapsed());
                    let mut sent_ns = [0; 8];
                    if ours.read(&mut sent_ns)? == 0 {
                        return Ok(delays);
                    }
                    delays.record(now_ns.saturating_sub(u64::from_ne_bytes(sent_ns)));
                    black_box(work(50, 1));
                }
            })
        });
        let mut random = 1u64;
        while begun.elapsed() < time {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            thread::sleep(Duration::from_micros(500 + random % 3000));
            if with_reader {
                theirs.write_all(&ns(begun.elapsed()).to_ne_bytes())?;
            }
        }
        is_over.store(true, Ordering::Relaxed);
        drop(theirs);
        match reader {
            Some(reader) => Ok::<_, Box<dyn Error>>(reader.join().map_err(|_| "a panic")??),
            None => Ok(Histogram::new()),
        }
    })?;
    Ok(Run {
        turns: turns.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64(),
        delay_p50_us: delays.quantile(0.5) as f64 / 1e3,
        delay_p99_us: delays.quantile(0.99) as f64 / 1e3,
    })
}

/// Computes until it is over.
fn compute(gil: &Lock, slice: Duration, is_over: &AtomicBool, turns: &AtomicU64) {
    let mut guard = gil.lock();
    let mut wanted_since = None;
    let mut done = 0;
    let mut x = 1;
    while !is_over.load(Ordering::Relaxed) {
        x = work(20, x);
        done += 1;
        if gil.contended() && wanted_since.get_or_insert_with(Instant::now).elapsed() >= slice {
            Gil::bump(&mut guard);
            wanted_since = None;
        }
    }
    black_box(x);
    turns.fetch_add(done, Ordering::Relaxed);
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
