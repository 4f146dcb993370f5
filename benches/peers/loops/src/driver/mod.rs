//! The drivers: each runs its programs under every allocator, round by round, and writes a table and JSON.

mod cases;
mod figure;
mod floor;
mod handoff;
mod hello;
mod lock;
mod locked;
mod median;
mod phase;
mod refault;
mod turns;

use crate::Result;
use peers_common::record::Context;

pub use phase::PhaseOptions;

/// Which drivers there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Driver {
    /// Much memory freed, then silence.
    Phase,
    /// An empty program.
    Hello,
    /// The kinds of turn of an event loop.
    Turns,
    /// Much memory freed at once, for each kind of loop.
    Floor,
    /// The cost of the hand-off in each state.
    Handoff,
    /// What a request costs after a gap.
    Refault,
    /// Locks.
    Lock,
    /// Locks, each around a plain allocator that runs the workloads.
    Locked,
}

/// What the drivers can be told beside the context.
#[derive(Clone, Copy, Default, Debug)]
pub struct Options {
    /// How the phase program runs.
    pub phase: PhaseOptions,
    /// Measure requests after gaps of 30 s, too.
    pub long_gaps: bool,
}

/// All drivers, in the order of the record.
pub const ALL: [Driver; 8] = [
    Driver::Hello,
    Driver::Lock,
    Driver::Locked,
    Driver::Handoff,
    Driver::Turns,
    Driver::Floor,
    Driver::Refault,
    Driver::Phase,
];

/// Runs one driver; its table, which is also in the context's folder.
///
/// # Errors
/// When a program fails or the folder cannot be written.
pub fn run(driver: Driver, context: &Context, options: Options) -> Result<String> {
    match driver {
        Driver::Phase => phase::run(context, options.phase),
        Driver::Hello => hello::run(context),
        Driver::Turns => turns::run(context),
        Driver::Floor => floor::run(context),
        Driver::Handoff => handoff::run(context),
        Driver::Refault => refault::run(context, options.long_gaps),
        Driver::Lock => lock::run(context),
        Driver::Locked => locked::run(context),
    }
}
