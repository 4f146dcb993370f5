//! A made-up trace of a program's allocations: births, deaths, growth. Written into mappings, so that making it leaves
//! no trace in the allocator under test.

use crate::random::Random;
use peers_common::mapped::Mapped;
use std::io;

/// What happens to a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// It gets a block of that many bytes.
    Birth(usize),
    /// Its block is made that large.
    Growth(usize),
    /// Its block is freed.
    Death,
}

/// Operations on slots, in order.
pub struct Trace {
    packed: Mapped<u64>,
    len: usize,
    slots: usize,
}

const DEATH: u64 = 0;
const BIRTH: u64 = 1;
const GROWTH: u64 = 2;

/// Kind in the low 2 bits, slot in the next 30, bytes above.
fn pack(kind: u64, slot: u32, bytes: usize) -> u64 {
    kind | u64::from(slot) << 2 | (bytes as u64) << 32
}

/// What one object is going to do, made from its number alone.
struct Plan {
    bytes: usize,
    doublings: usize,
    /// Births between its own and its death; `None`: it lives to the end.
    life: Option<usize>,
}

/// The size of an object in which a program with growing buffers starts them.
const GROWING_BYTES: usize = 32;

impl Plan {
    fn of(object: usize, objects: usize) -> Self {
        let mut random = Random::new(object as u64);
        let life = match random.below(10) {
            0..7 => Some(1 + random.below(120)),
            7 | 8 => Some(1 + random.below((objects / 10).max(1))),
            _ => None,
        };
        if random.chance(5) {
            let doublings = random.between(1, 9);
            return Self {
                bytes: GROWING_BYTES,
                doublings,
                life,
            };
        }
        let bytes = match random.below(1000) {
            0..600 => random.between(16, 64),
            600..850 => random.between(65, 256),
            850..950 => random.between(257, 1024),
            950..990 => random.between(1025, 4 << 10),
            990..999 => random.between((4 << 10) + 1, 64 << 10),
            _ => random.between((64 << 10) + 1, 1 << 20),
        };
        Self {
            bytes,
            doublings: 0,
            life,
        }
    }

    /// Calls `event` with the moment and the new size of each growth, and with the moment and 0 of the death, in order,
    /// as far as they come before the end.
    fn events(&self, object: usize, objects: usize, mut event: impl FnMut(usize, usize)) {
        let life = self.life.unwrap_or(objects - object);
        // At most one growth between two births of others, and all of them before the death.
        let doublings = self.doublings.min(life - 1);
        for k in 1..=doublings {
            let moment = object + k * life / (doublings + 1);
            if moment < objects {
                event(moment, self.bytes << k);
            }
        }
        if self.life.is_some() && object + life < objects {
            event(object + life, 0);
        }
    }
}

impl Trace {
    /// A trace with that many births; the same one every time.
    ///
    /// # Errors
    /// Those of `mmap`.
    pub fn new(objects: usize) -> io::Result<Self> {
        // The events of each moment, one moment a birth: counted, then put in their places.
        let mut ends = Mapped::<u32>::new(objects + 1)?;
        for object in 0..objects {
            Plan::of(object, objects).events(object, objects, |moment, _| ends[moment + 1] += 1);
        }
        for moment in 0..objects {
            ends[moment + 1] += ends[moment];
        }
        let count = ends[objects] as usize;
        let mut events = Mapped::<(u32, u32)>::new(count)?;
        for object in 0..objects {
            Plan::of(object, objects).events(object, objects, |moment, bytes| {
                events[ends[moment] as usize] = (object as u32, bytes as u32);
                ends[moment] += 1;
            });
        }
        // Now `ends` is what it says: the events of a moment end there.
        let mut packed = Mapped::<u64>::new(objects + count)?;
        let mut slot_of = Mapped::<u32>::new(objects)?;
        let mut free = Mapped::<u32>::new(objects)?;
        let (mut free_len, mut slots, mut at) = (0, 0, 0);
        let mut len = 0;
        let mut push = |operation| {
            packed[len] = operation;
            len += 1;
        };
        for moment in 0..objects {
            for &(object, bytes) in &events[at..ends[moment] as usize] {
                let slot = slot_of[object as usize];
                if bytes > 0 {
                    push(pack(GROWTH, slot, bytes as usize));
                } else {
                    push(pack(DEATH, slot, 0));
                    free[free_len] = slot;
                    free_len += 1;
                }
            }
            at = ends[moment] as usize;
            let slot = match free_len {
                0 => {
                    slots += 1;
                    slots - 1
                }
                n => {
                    free_len = n - 1;
                    free[n - 1]
                }
            };
            slot_of[moment] = slot;
            push(pack(BIRTH, slot, Plan::of(moment, objects).bytes));
        }
        Ok(Self {
            len,
            packed,
            slots: slots as usize,
        })
    }

    /// The operations, with their slots.
    pub fn operations(&self) -> impl Iterator<Item = (usize, Operation)> + '_ {
        self.packed[..self.len].iter().map(|&packed| {
            let slot = (packed >> 2 & 0x3FFF_FFFF) as usize;
            let bytes = (packed >> 32) as usize;
            let operation = match packed & 3 {
                DEATH => Operation::Death,
                BIRTH => Operation::Birth(bytes),
                _ => Operation::Growth(bytes),
            };
            (slot, operation)
        })
    }

    /// How many slots it needs.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Its own resident memory.
    pub fn resident_bytes(&self) -> u64 {
        self.packed.resident_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_finds_its_slot_as_it_must_be() {
        let trace = Trace::new(20_000).unwrap();
        let mut live: Vec<Option<usize>> = vec![None; trace.slots()];
        let (mut births, mut growths, mut all) = (0, 0, 0);
        for (slot, operation) in trace.operations() {
            all += 1;
            match operation {
                Operation::Birth(bytes) => {
                    births += 1;
                    assert_eq!(live[slot].replace(bytes), None);
                }
                Operation::Growth(bytes) => {
                    growths += 1;
                    assert!(live[slot].replace(bytes).is_some_and(|old| old < bytes));
                }
                Operation::Death => assert!(live[slot].take().is_some()),
            }
        }
        assert_eq!(births, 20_000);
        assert!((3_000..6_000).contains(&growths), "{growths}");
        assert!((40_000..45_000).contains(&all), "{all}");
        let left = live.iter().flatten().count();
        assert!((1_800..3_200).contains(&left), "{left}");
    }
}
