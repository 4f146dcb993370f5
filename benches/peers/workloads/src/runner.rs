//! One run of a workload: a warm-up that is not timed, for those with a fixed amount of work, then the round that is.

use crate::list::{Extra, Kind, Size, find};
use crate::pool::Pool;
use peers_common::peer::Peer;
use peers_common::proc;
use peers_common::usage::measure;
use serde_json::json;
use std::io;
use std::rc::Rc;
use std::time::Duration;

/// Why there is no figure.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The command line is wrong.
    #[error("{0}")]
    Arguments(#[from] pico_args::Error),
    /// Part of it means nothing.
    #[error("what is {0:?}?")]
    Left(Vec<std::ffi::OsString>),
    /// There is no such workload.
    #[error("no workload {0}")]
    Unknown(String),
    /// The tables could not be mapped, or the peak not be reset.
    #[error("{0}")]
    System(#[from] io::Error),
}

/// Runs what `args` ask for: `WORKLOAD [--threads T] [--percent P] [--warm-ups N] [--settle-ms N]`.
///
/// With `--settle-ms` the process waits that long after the round, as programs wait: its threads lend their heaps where
/// the allocator knows of such a thing; then it looks at its memory once more.
///
/// # Errors
/// [`RunError`], boxed as all parts' are.
pub fn run(peer: &Peer, args: &[String]) -> Result<serde_json::Value, Box<dyn std::error::Error>> {
    Ok(measured(peer, args)?)
}

fn measured(peer: &Peer, args: &[String]) -> Result<serde_json::Value, RunError> {
    let mut args = pico_args::Arguments::from_vec(args.iter().map(Into::into).collect());
    let threads = args.opt_value_from_str("--threads")?.unwrap_or(1);
    let percent = args.opt_value_from_str("--percent")?.unwrap_or(100);
    let warm_ups: Option<usize> = args.opt_value_from_str("--warm-ups")?;
    let settle_ms: Option<u64> = args.opt_value_from_str("--settle-ms")?;
    let name: String = args.free_from_str()?;
    let left = args.finish();
    if !left.is_empty() {
        return Err(RunError::Left(left));
    }
    let workload = find(&name).ok_or(RunError::Unknown(name))?;

    // What waits for something to happen must not find it already under way.
    let warm_ups = warm_ups.unwrap_or(usize::from(workload.kind == Kind::Work));
    let pool = Rc::new(Pool::new(threads));
    let size = Size {
        threads,
        percent,
        pool: pool.clone(),
    };
    let mut rounds = (workload.make)(&size)?;
    // The tables have been made: what they took meanwhile is not the workload's.
    proc::reset_peak()?;
    let start_bytes = proc::rss_bytes();
    for _ in 0..warm_ups {
        (rounds.round)();
    }
    let (extra, used, wall_ns) = measure(|| (rounds.round)());
    let peak_bytes = proc::peak_rss_bytes();
    let file_bytes = proc::file_rss_bytes();
    let end = proc::resident();
    let settled = settle_ms.map(|ms| {
        let (start, end) = (peer.idle_start, peer.idle_end);
        pool.idle(move || {
            if let Some(start) = start {
                start();
            }
            std::thread::sleep(Duration::from_millis(ms));
            if let Some(end) = end {
                end();
            }
        });
        proc::resident()
    });
    let own = |bytes: u64| bytes.saturating_sub(rounds.table_bytes);
    Ok(json!({
        "workload": workload.name,
        "threads": threads,
        "peer": peer.name,
        "version": (peer.version)(),
        "counts": workload.kind == Kind::Work,
        "usage": used,
        "wall_ns": wall_ns,
        "start_bytes": own(start_bytes),
        "peak_bytes": own(peak_bytes),
        "file_bytes": file_bytes,
        "end_bytes": own(end.rss_bytes),
        "end_lazy_free_bytes": end.lazy_free_bytes,
        "settled_bytes": settled.map(|r| own(r.rss_bytes)),
        "settled_lazy_free_bytes": settled.map(|r| r.lazy_free_bytes),
        "table_bytes": rounds.table_bytes,
        "shrink_ns": match extra {
            Some(Extra::ShrinkNs(ns)) => ns,
            None => None,
        },
    }))
}
