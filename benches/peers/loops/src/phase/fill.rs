//! One worker's objects: made, freed in random order, made again.

use super::{Options, Survivors};
use crate::mix::{self, Block};
use peers_common::mapped::Mapped;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use std::io;

/// One of this many objects or sessions survives.
const SURVIVES_ONE_IN: usize = 16;
/// No size of the mix is smaller.
const LEAST_BYTES: u64 = 100;

/// The objects of one worker.
pub struct Part {
    goal_bytes: u64,
    rng: SmallRng,
    blocks: Mapped<Block>,
    /// Numbers of the blocks, survivors first once the work is done.
    order: Mapped<u32>,
    made: usize,
    kept: usize,
}

impl Part {
    /// Room for `goal_bytes` of objects.
    pub fn new(seed: u64, goal_bytes: u64) -> io::Result<Self> {
        // The mean of a million sizes is within a percent of 123.
        let room = (goal_bytes / LEAST_BYTES) as usize + 1000;
        Ok(Self {
            goal_bytes,
            rng: SmallRng::seed_from_u64(seed + 1),
            blocks: Mapped::new(room)?,
            order: Mapped::new(room)?,
            made: 0,
            kept: 0,
        })
    }

    /// Resident bytes of the tables.
    pub fn tables_bytes(&self) -> u64 {
        self.blocks.resident_bytes() + self.order.resident_bytes()
    }

    /// Makes the objects and frees those that do not survive; bytes of the survivors.
    pub fn work(&mut self, options: &Options) -> u64 {
        self.work_with(options.survivors, options.session_kib)
    }

    /// As [`Part::work`].
    pub fn work_with(&mut self, survivors: Survivors, session_kib: u64) -> u64 {
        self.fill();
        let order = &mut self.order[..self.made];
        for (number, slot) in order.iter_mut().enumerate() {
            *slot = number as u32;
        }
        self.kept = match survivors {
            Survivors::None => 0,
            Survivors::Scattered => {
                order.shuffle(&mut self.rng);
                order.len() / SURVIVES_ONE_IN
            }
            Survivors::Sessions => self.choose_sessions(session_kib * 1024),
        };
        let (kept, freed) = self.order[..self.made].split_at_mut(self.kept);
        freed.shuffle(&mut self.rng);
        for number in freed {
            self.blocks[*number as usize].free();
        }
        let bytes = kept
            .iter()
            .map(|number| self.blocks[*number as usize].bytes());
        bytes.sum()
    }

    fn fill(&mut self) {
        let mut bytes = 0;
        while bytes < self.goal_bytes {
            let size_bytes = mix::size_bytes(&mut self.rng);
            self.blocks[self.made] = Block::new(size_bytes, self.made as u32);
            self.made += 1;
            bytes += u64::from(size_bytes);
        }
    }

    /// Puts the objects of the sessions that survive first in the order; how many they are.
    fn choose_sessions(&mut self, session_bytes: u64) -> usize {
        let sessions = (self.goal_bytes.div_ceil(session_bytes) as usize).max(1);
        let mut survives = vec![false; sessions];
        survives[..(sessions / SURVIVES_ONE_IN).max(1)].fill(true);
        survives.shuffle(&mut self.rng);
        let (mut front, mut bytes) = (0, 0);
        for number in 0..self.made {
            let session = (bytes / session_bytes) as usize;
            bytes += self.blocks[number].bytes();
            if survives.get(session).copied().unwrap_or(false) {
                self.order.swap(front, number);
                front += 1;
            }
        }
        front
    }

    /// How many survivors do not hold what was written to them.
    pub fn count_damaged(&self) -> usize {
        let kept = self.order[..self.kept].iter();
        kept.filter(|number| !self.blocks[**number as usize].holds(**number))
            .count()
    }

    /// Allocates the freed objects again.
    pub fn refill(&mut self) {
        for number in &self.order[self.kept..self.made] {
            let size_bytes = mix::size_bytes(&mut self.rng);
            self.blocks[*number as usize] = Block::new(size_bytes, *number);
        }
    }
}
