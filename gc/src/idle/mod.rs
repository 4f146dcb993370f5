//! Waits that collect: a thread that would sleep first works, then lends its heap, then sleeps.
//!
//! ```text
//!  running ──would sleep──▶ collecting ──nothing left to collect──▶ parked ──event──▶ running
//!                 ▲               │ a bounded step,          (the heap is lent to
//!                 └── event ──────┘ then look again           the scavenger)
//! ```
//!
//! [`Sleeper`] owns the one loop that every kind of wait goes through ([`sleeper`]); a kind of wait
//! adds only two questions: is the event there, and block until it is. The
//! layer knows a [`Collector`], not *our* collector, so that another runtime can sleep the same way.
//! When to start a cycle, how long a step may be and what a wait is expected to last are decided by
//! pure code ([`policy`], `site`, `start`) that takes the time as an argument.
//!
//! # What holds
//!
//! 1. The event is looked for after each step and before anything else; once it has been seen no
//!    step runs. A wait therefore returns at most one step late.
//! 2. A wait that is ready at once starts nothing, steps nothing and lends nothing.
//! 3. A wait whose timeout is zero looks once and does nothing else.
//! 4. A contended interpreter lock is given up at once, never collected under.
//! 5. With all [`Switches`] off a wait is the plain wait: the same system calls, no clock read.
//! 6. With nothing left to collect a wait blocks for as long as it has to: no timer wakes it.
//!
//! # Embedding
//!
//! ```
//! use std::io::{Read, Write};
//! use std::os::fd::AsFd;
//! use std::os::unix::net::UnixStream;
//!
//! use sleepy_gc::collections::{GcStr, GcVec};
//! use sleepy_gc::idle::{Interest, Policy, Sleeper};
//! use sleepy_gc::{Arena, Rootable};
//!
//! let (mut ours, mut theirs) = UnixStream::pair()?;
//! let mut arena = Arena::<Rootable![GcVec<'_, GcStr<'_>>]>::new(|_| GcVec::new());
//! let mut sleeper = Sleeper::new(Policy::default());
//! theirs.write_all(b"one two three")?;
//! drop(theirs);
//!
//! let mut buffer = [0; 4];
//! loop {
//!     // Where the program would sleep it collects first, then lends its heap, then sleeps.
//!     sleeper.wait_fd(&mut arena, ours.as_fd(), Interest::Readable, None)?;
//!     let count = ours.read(&mut buffer)?;
//!     if count == 0 {
//!         break;
//!     }
//!     arena.mutate(|mc, pieces| {
//!         pieces.push(mc, GcStr::new(mc, &String::from_utf8_lossy(&buffer[..count])));
//!     });
//!     // The backstop of a program that hardly ever waits.
//!     arena.collect_debt();
//! }
//! let text = arena.mutate(|_, pieces| pieces.iter().map(GcStr::as_str).collect::<String>());
//! assert_eq!(text, "one two three");
//! # std::io::Result::Ok(())
//! ```

pub mod bell;
pub mod c_waits;
mod child;
mod choice;
mod clock;
pub mod collector;
mod fd;
mod file_lock;
mod foreign;
mod forks;
pub mod gil;
pub mod histogram;
mod machine;
pub mod policy;
mod poll;
pub mod queue;
mod send_arena;
mod site;
pub mod sleeper;
mod stand_in;
mod start;
pub mod stats;
pub mod switches;
mod sync;
#[cfg(test)]
mod test_fork;
mod thread;
mod timer;

pub use bell::{Bell, Bells};
pub use collector::{Collector, IdleHint, StackDepth};
pub use fd::{Interest, Watched};
pub use file_lock::FlockOp;
pub use gil::{Gil, GilGuard};
pub use histogram::Histogram;
pub use policy::Policy;
pub use queue::{Queue, RecvError, SendError};
pub use send_arena::SendArena;
pub use sleeper::Sleeper;
pub use stats::SleepStats;
pub use switches::Switches;
