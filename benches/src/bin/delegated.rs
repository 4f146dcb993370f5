//! Whether to sweep in a wait or to leave that to the scavenger: what each costs, and when the garbage is gone.
//!
//! `cargo run --release -p sleepy-benches --bin delegated -- [--rounds N] [--json FILE]`
//!
//! Every measurement is a process of its own; the ways to sweep take turns. A program of one thread has a live heap, makes garbage
//! without destructors, and waits. The last table is of an owner that takes its arena back while it is swept.

use std::cell::Cell;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sleepy_alloc::{purge_now, stats};
use sleepy_gc::collections::GcVec;
use sleepy_gc::idle::{Policy, Sleeper, Switches};
use sleepy_gc::metrics::Metrics;
use sleepy_gc::{Arena, Budget, CollectionPhase, Gc, Rootable};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

type TestArena = Arena<Rootable![GcVec<'_, Gc<'_, [u64; 4]>>]>;

/// A program's shape.
struct Shape {
    name: &'static str,
    live_bytes: usize,
    garbage_bytes: usize,
    wait: Duration,
    turns: u32,
}

const SHAPES: [Shape; 3] = [
    Shape {
        name: "20 ms",
        live_bytes: 4 << 20,
        garbage_bytes: 1 << 20,
        wait: Duration::from_millis(20),
        turns: 150,
    },
    Shape {
        name: "300 ms",
        live_bytes: 16 << 20,
        garbage_bytes: 8 << 20,
        wait: Duration::from_millis(300),
        turns: 12,
    },
    Shape {
        name: "1 s",
        live_bytes: 64 << 20,
        garbage_bytes: 24 << 20,
        wait: Duration::from_secs(1),
        turns: 4,
    },
];

/// Who sweeps.
const WAYS: [&str; 4] = ["wait", "scavenger", "switch off", "nobody"];

fn policy(way: &str) -> Policy {
    let switches = Switches {
        sweep: way == "wait" || way == "scavenger",
        park: way != "nobody",
        ..Switches::ON
    };
    Policy {
        switches,
        delegate_sweep: way == "scavenger",
        ..Policy::default()
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.first().map(String::as_str) {
        Some("--child") => child(&words[1..]),
        _ => compare(&words),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("delegated: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs every shape in every way, and prints the medians.
fn compare(words: &[String]) -> Result<()> {
    let (mut rounds, mut file) = (5, None);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let value = words
            .next()
            .ok_or_else(|| format!("{word} wants a value"))?;
        match word.as_str() {
            "--rounds" => rounds = value.parse()?,
            "--json" => file = Some(value),
            _ => return Err(format!("no option {word}").into()),
        }
    }
    let mut all = Vec::new();
    println!(
        "| wait | swept by | owner's CPU µs a turn | scavenger's | late p50 / p99 µs | garbage gone after ms | wakes / turns of the scavenger | freed by it % |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (shape, of) in SHAPES.iter().enumerate() {
        let mut runs = vec![Vec::new(); WAYS.len()];
        for _ in 0..rounds {
            for (way, runs) in WAYS.iter().zip(&mut runs) {
                runs.push(run_child(&[&shape.to_string(), way])?);
            }
        }
        for (way, runs) in WAYS.iter().zip(runs) {
            let median = |name: &str| median_of(&runs, name);
            println!(
                "| {} | {way} | {:.0} | {:.0} | {:.0} / {:.0} | {:.0} | {:.0} / {:.0} | {:.0} |",
                of.name,
                median("owner_us"),
                median("scavenger_us"),
                median("late_p50_us"),
                median("late_p99_us"),
                median("gone_ms"),
                median("wakes"),
                median("scavenger_turns"),
                median("delegated_percent"),
            );
            all.push(json!({ "shape": of.name, "way": way, "runs": runs }));
        }
    }
    println!();
    println!(
        "| taken back while swept | sweeper's work after that: p50 / p99 / max ns | whole wait p50 / p99 ns |"
    );
    println!("|---|---|---|");
    let abort = run_child(&["abort"])?;
    let figure = |name: &str| abort[name].as_f64().unwrap_or(f64::NAN);
    println!(
        "| {} of {}, {} of them undisturbed | {:.0} / {:.0} / {:.0} | {:.0} / {:.0} |",
        figure("stopped"),
        figure("rounds"),
        figure("undisturbed"),
        figure("work_p50_ns"),
        figure("work_p99_ns"),
        figure("work_max_ns"),
        figure("wait_p50_ns"),
        figure("wait_p99_ns"),
    );
    all.push(abort);
    if let Some(file) = file {
        fs::write(file, serde_json::to_string_pretty(&Value::from(all))?)?;
    }
    Ok(())
}

fn median_of(runs: &[Value], name: &str) -> f64 {
    let mut values: Vec<f64> = runs.iter().filter_map(|run| run[name].as_f64()).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn run_child(words: &[&str]) -> Result<Value> {
    let child = Command::new(std::env::current_exe()?)
        .arg("--child")
        .args(words)
        .stderr(Stdio::inherit())
        .output()?;
    if !child.status.success() {
        return Err(format!("a measurement failed: {}", child.status).into());
    }
    Ok(serde_json::from_slice(&child.stdout)?)
}

fn child(words: &[String]) -> Result<()> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let figures = match words.as_slice() {
        ["abort"] => abort()?,
        [shape, way] => {
            let shape = SHAPES.get(shape.parse::<usize>()?).ok_or("no such shape")?;
            run(shape, way)?
        }
        _ => return Err("what to measure?".into()),
    };
    println!("{figures}");
    Ok(())
}

/// CPU time of this thread.
fn cpu_us() -> Result<f64> {
    thread_us("/proc/thread-self/schedstat".as_ref())
}

fn thread_us(schedstat: &Path) -> Result<f64> {
    let text = fs::read_to_string(schedstat)?;
    let ns: f64 = text.split(' ').next().ok_or("no figure")?.parse()?;
    Ok(ns / 1000.0)
}

/// CPU time of the scavenger's thread; 0: there is none.
fn scavenger_us() -> Result<f64> {
    match task_named("sleepy-scavenge") {
        Ok(task) => thread_us(&task.join("schedstat")),
        Err(_) => Ok(0.0),
    }
}

/// Where the system tells of a thread of this process.
fn task_named(name: &str) -> Result<PathBuf> {
    // A thread gives itself its name some time after it was started.
    for _ in 0..100 {
        for task in fs::read_dir("/proc/self/task")? {
            let task = task?.path();
            if fs::read_to_string(task.join("comm"))?.trim() == name {
                return Ok(task);
            }
        }
        if name == "sleepy-scavenge" {
            break;
        }
        thread::sleep(Duration::from_millis(1));
    }
    Err("no such thread".into())
}

/// How often a thread has lost its processor.
fn preemptions(task: &Path) -> Result<u64> {
    let status = fs::read_to_string(task.join("status"))?;
    let count = status
        .lines()
        .find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"));
    Ok(count.ok_or("no figure")?.trim().parse()?)
}

/// Makes `bytes` of objects, keeps one in `kept_of`, and puts them where older ones were.
fn make(arena: &mut TestArena, bytes: usize, kept_of: usize, at: &Cell<usize>) {
    arena.mutate(|mc, root| {
        for number in 0..bytes / 32 {
            let object = Gc::new(mc, [number as u64; 4]);
            if number % kept_of == 0 {
                root.set(mc, at.get() % root.len(), object);
                at.set(at.get() + 7919);
            }
        }
    });
}

fn live(bytes: usize) -> TestArena {
    TestArena::new(|mc| {
        let root = GcVec::new();
        for number in 0..bytes / 40 {
            root.push(mc, Gc::new(mc, [number as u64; 4]));
        }
        root
    })
}

fn run(shape: &Shape, way: &str) -> Result<Value> {
    let mut arena = live(shape.live_bytes);
    arena.finish_cycle();
    let mut sleeper = Sleeper::new(policy(way));
    let at = Cell::new(0);
    let metrics = arena.metrics().clone();
    let turn = |sleeper: &mut Sleeper, arena: &mut TestArena| {
        make(arena, shape.garbage_bytes, 16, &at);
        while arena.debt_due() {
            let debt = Budget::Work(arena.allocation_debt());
            sleeper.forced_step(arena, debt);
        }
        let start = Instant::now();
        sleeper.sleep(arena, shape.wait);
        start.elapsed().saturating_sub(shape.wait).as_secs_f64() * 1e6
    };
    turn(&mut sleeper, &mut arena);
    let (before, freed) = (stats(), metrics.freed_bytes());
    let delegated = metrics.delegated_bytes();
    let (owner_us, others_us) = (cpu_us()?, scavenger_us()?);
    let mut late: Vec<f64> = (0..shape.turns)
        .map(|_| turn(&mut sleeper, &mut arena))
        .collect();
    let turns = f64::from(shape.turns);
    let owner_us = (cpu_us()? - owner_us) / turns;
    let scavenger_us = (scavenger_us()? - others_us) / turns;
    let now = stats();
    late.sort_by(f64::total_cmp);
    let freed = metrics.freed_bytes() - freed;
    let delegated = metrics.delegated_bytes() - delegated;

    // Once more, watched from outside, with time enough for whoever is slow.
    arena.finish_cycle();
    make(&mut arena, shape.garbage_bytes, 16, &at);
    let watcher = Watcher::new(metrics);
    sleeper.sleep(&mut arena, shape.wait.max(Duration::from_millis(600)));
    let gone_ms = watcher.end()?;
    Ok(json!({
        "owner_us": owner_us,
        "scavenger_us": scavenger_us,
        "late_p50_us": late[late.len() / 2],
        "late_p99_us": late[late.len() * 99 / 100],
        "gone_ms": gone_ms,
        "wakes": now.park_wakes - before.park_wakes,
        "scavenger_turns": now.scavenger_turns - before.scavenger_turns,
        "delegated_percent": 100.0 * delegated as f64 / freed.max(1) as f64,
    }))
}

/// Watches the size of a heap from another thread.
struct Watcher {
    done: Arc<AtomicBool>,
    thread: thread::JoinHandle<Option<f64>>,
}

impl Watcher {
    fn new(metrics: Metrics) -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let is_done = Arc::clone(&done);
        let watch = move || {
            let mut samples = Vec::new();
            while !is_done.load(Ordering::Relaxed) {
                samples.push((Instant::now(), metrics.heap_bytes()));
                thread::sleep(Duration::from_micros(500));
            }
            // Until it is as small as it gets, or nearly so.
            let &(begun, at_first) = samples.first()?;
            let smallest = samples.iter().map(|&(_, bytes)| bytes).min()?;
            let gone = at_first - smallest;
            let (at, _) = samples
                .iter()
                .find(|(_, bytes)| *bytes <= smallest + gone / 50)?;
            let has_shrunk = gone > at_first / 20;
            has_shrunk.then(|| (*at - begun).as_secs_f64() * 1000.0)
        };
        Self {
            done,
            thread: thread::spawn(watch),
        }
    }

    /// Milliseconds until the heap was down, if it ever was.
    fn end(self) -> Result<Option<f64>> {
        self.done.store(true, Ordering::Relaxed);
        self.thread
            .join()
            .map_err(|_| "the watcher has failed".into())
    }
}

/// Takes an arena back while another thread sweeps it without rest.
fn abort() -> Result<Value> {
    const ROUNDS: u32 = 300;
    let done = Arc::new(AtomicBool::new(false));
    let is_done = Arc::clone(&done);
    let sweeper = thread::Builder::new().name("sweeper".into());
    let sweeper = sweeper.spawn(move || {
        stay_on(0);
        while !is_done.load(Ordering::Relaxed) {
            purge_now();
        }
    })?;
    let clock = clock_of(&sweeper)?;
    let task = task_named("sweeper")?;
    // So that it reads the clock as soon as it has its arena back.
    let is_prompt = stay_on(1) & run_before_others();
    let mut arena = live(16 << 20);
    let at = Cell::new(0);
    let (mut work, mut waits) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        make(&mut arena, 16 << 20, 16, &at);
        arena
            .finish_marking()
            .ok_or("nothing to mark")?
            .start_sweeping();
        arena.step(Budget::Work(1));
        let metrics = arena.metrics().clone();
        let before = (metrics.delegated_bytes(), stats().aborted_sweeps);
        let parked = arena.park();
        let patience = Instant::now();
        let after_bytes = u64::from(round % 50) * 100_000;
        while metrics.delegated_bytes() <= before.0 + after_bytes
            && patience.elapsed() < Duration::from_millis(20)
        {
            std::hint::spin_loop();
        }
        let preempted = preemptions(&task)?;
        let (start, used_ns) = (Instant::now(), clock_ns(clock));
        drop(parked);
        let wait_ns = start.elapsed().as_nanos() as u64;
        let work_ns = (clock_ns(clock) - used_ns).min(wait_ns);
        if arena.collection_phase() != CollectionPhase::Sweeping {
            return Err("the sweep was over".into());
        }
        thread::sleep(Duration::from_micros(50));
        if stats().aborted_sweeps > before.1 {
            waits.push(wait_ns);
            // Where the sweeper lost its processor the owner slept, and read the clock long after.
            if preempted == preemptions(&task)? {
                work.push(work_ns);
            }
        }
        arena.finish_cycle();
    }
    done.store(true, Ordering::Relaxed);
    sweeper.join().map_err(|_| "the sweeper has failed")?;
    work.sort_unstable();
    waits.sort_unstable();
    let quantile = |values: &[u64], percent: usize| {
        let last = values.len().saturating_sub(1);
        values
            .get((values.len() * percent / 100).min(last))
            .copied()
    };
    Ok(json!({
        "rounds": ROUNDS,
        "owner_is_prompt": is_prompt,
        "stopped": waits.len(),
        "undisturbed": work.len(),
        "work_p50_ns": quantile(&work, 50),
        "work_p99_ns": quantile(&work, 99),
        "work_max_ns": quantile(&work, 100),
        "wait_p50_ns": quantile(&waits, 50),
        "wait_p99_ns": quantile(&waits, 99),
    }))
}

/// The CPU clock of another thread.
fn clock_of<T>(thread: &thread::JoinHandle<T>) -> Result<libc::clockid_t> {
    use std::os::unix::thread::JoinHandleExt;
    let mut clock = 0;
    // SAFETY: the handle has not been joined, so the thread's identity is valid; the pointer is to a local.
    match unsafe { libc::pthread_getcpuclockid(thread.as_pthread_t(), &raw mut clock) } {
        0 => Ok(clock),
        error => Err(std::io::Error::from_raw_os_error(error).into()),
    }
}

fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a local.
    unsafe { libc::clock_gettime(clock, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Keeps the calling thread on one processor; false if there is no such one.
fn stay_on(processor: usize) -> bool {
    // SAFETY: a set of processors is a table of bits, for which all zeroes are one.
    let mut processors: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the number is far below the size of the set.
    unsafe { libc::CPU_SET(processor, &mut processors) };
    // SAFETY: 0 means the calling thread; the pointer is to a local of that size.
    unsafe { libc::sched_setaffinity(0, size_of_val(&processors), &raw const processors) == 0 }
}

/// Gives the calling thread a real-time priority; false if the system does not allow it.
fn run_before_others() -> bool {
    let lowest = libc::sched_param { sched_priority: 1 };
    // SAFETY: 0 means the calling thread; the pointer is to a local.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const lowest) == 0 }
}
