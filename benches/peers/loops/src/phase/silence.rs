//! The silence after the work: ticks of a millisecond, resident memory every ten.

use super::Options;
use crate::Result;
use crate::handover::HandOver;
use crate::mix::{self, Block};
use crate::tasks::{Role, Tasks};
use peers_common::proc;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use std::thread;
use std::time::{Duration, Instant};

/// Ticks between two looks.
const TICKS_A_LOOK: u32 = 10;
/// Looks that are kept: 60 s.
const LOOKS: usize = 6_000;
/// Moments of the table.
const MARKS_S: [f64; 7] = [0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0];
/// Objects made and freed at each tick, if told to.
const OBJECTS_A_TICK: usize = 16;

/// What was seen.
pub struct Silence {
    /// Resident when the last object had been freed.
    pub start_bytes: u64,
    /// CPU time of the thread that ticked.
    pub tick_cpu_ns: u64,
    /// The threads at the start, after a second, and at the end.
    pub before: Tasks,
    /// After a second.
    pub after_1_s: Tasks,
    /// At the end.
    pub after: Tasks,
    looks: Box<[(f64, u64)]>,
}

/// Ticks until the silence is over.
pub fn watch(options: &Options, hand_off: HandOver) -> Result<Silence> {
    let mut looks = Vec::with_capacity(LOOKS);
    let mut rng = SmallRng::seed_from_u64(1);
    let before = Tasks::now()?;
    let start_bytes = proc::rss_bytes();
    let start = Instant::now();
    let mut after_1_s = None;
    for tick in 1u32.. {
        hand_off.around(|| thread::sleep(Duration::from_millis(1)));
        if options.tick_alloc {
            let mut objects = [Block::NONE; OBJECTS_A_TICK];
            for object in &mut objects {
                *object = Block::new(mix::size_bytes(&mut rng), tick);
            }
            for object in &mut objects {
                object.free();
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        if tick.is_multiple_of(TICKS_A_LOOK) && looks.len() < LOOKS {
            looks.push((seconds, proc::rss_bytes()));
        }
        if after_1_s.is_none() && seconds >= 1.0 {
            after_1_s = Some(Tasks::now()?);
        }
        if seconds >= options.secs {
            break;
        }
    }
    let after = Tasks::now()?;
    let after_1_s = match after_1_s {
        Some(tasks) => tasks,
        None => Tasks::now()?,
    };
    Ok(Silence {
        start_bytes,
        tick_cpu_ns: after.since(&before, Role::Main).cpu_ns,
        before,
        after_1_s,
        after,
        looks: looks.into_boxed_slice(),
    })
}

impl Silence {
    /// Seconds of the table that the silence reached, with what was resident then.
    pub fn marks(&self) -> impl Iterator<Item = (f64, u64)> {
        MARKS_S.into_iter().filter_map(|mark_s| {
            // The last look of a silence of exactly that length comes a little before its end.
            let near_s = mark_s - 0.02;
            let look = self.looks.iter().find(|(seconds, _)| *seconds >= near_s)?;
            Some((mark_s, look.1))
        })
    }

    /// When resident memory was first at most `bytes`, in milliseconds.
    pub fn first_below(&self, bytes: u64) -> Option<f64> {
        let look = self.looks.iter().find(|(_, resident)| *resident <= bytes)?;
        Some((look.0 * 1e3).round())
    }
}
