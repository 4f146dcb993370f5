//! Streams over a real socket and throws each chunk away: how much memory the garbage holds, with and without
//! collecting while waiting for the next chunk.
//!
//! ```text
//! cargo run --release -p sleepy-gc --example stream [MiB [live strings]]
//! ```
//!
//! A writer process sends chunks of 16 KiB, one to five milliseconds apart. A reader process puts each into its arena,
//! takes 64 slices of it, and drops all. It runs once as a floor (one chunk), once with sleeping off and once with it on.

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::time::Duration;

use sleepy_gc::collections::{GcStr, GcTail, GcVec};
use sleepy_gc::idle::{Interest, Policy, Sleeper};
use sleepy_gc::{Arena, Collect, Rootable};

type Failure = Box<dyn Error>;

const CHUNK_BYTES: usize = 16 << 10;
const SLICE_BYTES: usize = 256;

#[derive(Collect)]
#[collect(no_drop)]
struct Root<'gc> {
    live: GcVec<'gc, GcStr<'gc>>,
}

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, default: usize| args.get(i).map_or(Ok(default), |text| text.parse());
    match args.first().map(String::as_str) {
        Some("writer") => write_chunks(number(1, 0)?),
        Some("reader") => read_chunks(&args[1], number(2, 0)?, number(3, 0)?),
        _ => compare(number(0, 8)?, number(1, 0)?),
    }
}

/// Runs the reader in each way and prints what it used.
fn compare(mib: usize, live: usize) -> Result<(), Failure> {
    let chunks = mib * (1 << 20) / CHUNK_BYTES;
    println!("{mib} MiB in {chunks} chunks beside {live} live strings");
    println!(
        "{:<12}  peak KiB  mean KiB  end KiB  CPU ms  steps  cycles  overrun p99/max us",
        "sleeping"
    );
    for (name, mode, chunks) in [
        ("(one chunk)", "on", 1),
        ("off", "off", chunks),
        ("on", "on", chunks),
    ] {
        let (chunks, live) = (chunks.to_string(), live.to_string());
        let output = Command::new(std::env::current_exe()?)
            .args(["reader", mode, &chunks, &live])
            .stderr(Stdio::inherit())
            .output()?;
        println!("{name:<12}  {}", String::from_utf8(output.stdout)?.trim());
    }
    Ok(())
}

fn write_chunks(chunks: usize) -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?.port());
    let (mut stream, _) = listener.accept()?;
    stream.set_nodelay(true)?;
    let chunk = vec![b'x'; CHUNK_BYTES];
    let mut seed = 14723u64;
    for _ in 0..chunks {
        seed = seed * 16807 % 2147483647;
        std::thread::sleep(Duration::from_micros(1000 + seed % 4000));
        stream.write_all(&chunk)?;
    }
    Ok(())
}

fn read_chunks(mode: &str, chunks: usize, live: usize) -> Result<(), Failure> {
    let mut writer = Command::new(std::env::current_exe()?)
        .args(["writer", &chunks.to_string()])
        .stdout(Stdio::piped())
        .spawn()?;
    let mut port = String::new();
    BufReader::new(writer.stdout.take().ok_or("no pipe")?).read_line(&mut port)?;
    let mut stream = TcpStream::connect(("127.0.0.1", port.trim().parse()?))?;

    let mut sleeper = Sleeper::new(match mode {
        "off" => Policy::off(),
        _ => Policy::default(),
    });
    let mut arena = Arena::<Rootable![Root<'_>]>::new(|mc| {
        let live_strings = GcVec::new();
        for i in 0..live {
            live_strings.push(mc, GcStr::new(mc, &format!("live string number {i}")));
        }
        Root { live: live_strings }
    });

    let mut buffer = vec![0; CHUNK_BYTES];
    let (mut peak, mut sum, mut samples) = (0, 0, 0);
    let cpu_before = cpu_time()?;
    'stream: loop {
        let mut filled = 0;
        while filled < CHUNK_BYTES {
            // The one line that makes the program collect instead of sleeping.
            sleeper.wait_fd(&mut arena, stream.as_fd(), Interest::Readable, None)?;
            match stream.read(&mut buffer[filled..])? {
                0 => break 'stream,
                count => filled += count,
            }
        }
        arena.mutate(|mc, _| {
            let chunk = GcTail::from_slice(mc, (), &buffer);
            for slice in chunk.tail().chunks(SLICE_BYTES) {
                std::hint::black_box(GcTail::from_slice(mc, (), slice));
            }
        });
        arena.collect_debt();
        let resident = resident_kib()?;
        peak = resident.max(peak);
        (sum, samples) = (sum + resident, samples + 1);
    }
    sleeper.sleep(&mut arena, Duration::from_secs(1));
    let cpu_ms = (cpu_time()? - cpu_before).as_millis();
    let stats = sleeper.stats();
    println!(
        "{peak:>8}  {:>8}  {:>7}  {cpu_ms:>6}  {:>5}  {:>6}  {:.1} / {:.1}",
        sum / samples.max(1),
        resident_kib()?,
        stats.steps,
        stats.cycles_started,
        stats.step_overrun.quantile(0.99) as f64 / 1e3,
        stats.step_overrun.max() as f64 / 1e3,
    );
    assert_eq!(arena.mutate(|_, root| root.live.len()), live);
    writer.wait()?;
    Ok(())
}

fn resident_kib() -> Result<usize, Failure> {
    let statm = std::fs::read_to_string("/proc/self/statm")?;
    let pages = statm.split(' ').nth(1).ok_or("no resident size")?;
    Ok(pages.parse::<usize>()? * 4)
}

fn cpu_time() -> Result<Duration, Failure> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Ok(Duration::new(
        time.tv_sec.try_into()?,
        time.tv_nsec.try_into()?,
    ))
}
