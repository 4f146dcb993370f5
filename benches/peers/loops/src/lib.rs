//! Programs that wait, run on the allocator that the calling binary installs, and the drivers that compare them.
//!
//! A *program* is the child's side: it runs in a process of its own, under one allocator, and its figures are one line
//! of JSON. A *driver* starts programs under every allocator, round by round, and makes a table of the medians.

pub mod counters;
pub mod driver;
pub mod floor;
pub mod handoff;
pub mod handover;
pub mod lock;
pub mod mix;
pub mod phase;
pub mod tasks;
pub mod turns;
pub mod usage;

use clap::Parser;
use peers_common::peer::Peer;
use peers_common::record::Context;
use serde_json::Value;
use std::error::Error;

/// What can go wrong in a program or driver: the reason is printed, in one place.
pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Runs the program that `arguments` name; `None` if there is none of that name.
pub fn dispatch(peer: &Peer, arguments: &[String]) -> Option<Result<Value>> {
    let (name, rest) = arguments.split_first()?;
    let program = match name.as_str() {
        "phase" => phase::run,
        "turns" => turns::run,
        "server" => turns::run_server,
        "client" => turns::run_client,
        "floor" => floor::run,
        "handoff" => handoff::run,
        "lock" => lock::run,
        _ => return None,
    };
    Some(program(peer, rest))
}

/// Runs every driver.
///
/// # Errors
/// When a program fails or the context's folder cannot be written.
pub fn record(context: &Context) -> Result<()> {
    for driver in driver::ALL {
        driver::run(driver, context, driver::Options::default())?;
    }
    Ok(())
}

fn parse<T: Parser>(name: &str, arguments: &[String]) -> Result<T> {
    let words = std::iter::once(name).chain(arguments.iter().map(String::as_str));
    Ok(T::try_parse_from(words)?)
}

/// A histogram of times up to a minute, to three digits.
fn nanoseconds() -> Result<hdrhistogram::Histogram<u64>> {
    Ok(hdrhistogram::Histogram::new_with_max(60_000_000_000, 3)?)
}
