//! `replay`: a recorded program, or here one that might have been.

use crate::block::{Block, get_cleared, put, resize};
use crate::list::{Rounds, Size};
use crate::trace::{Operation, Trace};
use peers_common::mapped::{Mapped, Zeroable};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const BIRTHS: usize = 400_000;

// SAFETY: a null pointer.
unsafe impl Zeroable for Block {}

/// A slot: its block and the size of it, if it has one.
type Slot = (Block, usize);

/// Every thread does all of the trace, which is the shorter the more there are.
pub fn replay(size: &Size) -> io::Result<Rounds> {
    let trace = Arc::new(Trace::new(size.each(BIRTHS))?);
    let tables = (0..size.threads)
        .map(|_| Ok(Mutex::new(Mapped::<Slot>::new(trace.slots())?)))
        .collect::<io::Result<Vec<_>>>()?;
    let one: u64 = lock(&tables[0]).resident_bytes();
    let table_bytes = trace.resident_bytes() + one * tables.len() as u64;
    let tables = Arc::new(tables);
    let pool = size.pool.clone();
    let round = move || {
        let (trace, tables) = (trace.clone(), tables.clone());
        pool.run(move |lane| {
            play(&trace, &mut lock(&tables[lane]));
        });
        None
    };
    Ok(Rounds {
        round: Box::new(round),
        table_bytes,
    })
}

fn lock(table: &Mutex<Mapped<Slot>>) -> MutexGuard<'_, Mapped<Slot>> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

fn play(trace: &Trace, slots: &mut [Slot]) {
    const EMPTY: Slot = (Block(std::ptr::null_mut()), 0);
    for (slot, operation) in trace.operations() {
        let slot = &mut slots[slot];
        match operation {
            Operation::Birth(bytes) => *slot = (Block(get_cleared(bytes)), bytes),
            Operation::Growth(bytes) => {
                // SAFETY: the slot's block, of the slot's size; the slot gets the new one.
                let block = unsafe { resize(slot.0.0, slot.1, bytes) };
                *slot = (Block(block), bytes);
            }
            // SAFETY: the slot's block, of the slot's size, which leaves the slot.
            Operation::Death => unsafe {
                let (block, bytes) = std::mem::replace(slot, EMPTY);
                put(block.0, bytes);
            },
        }
    }
    for slot in slots.iter_mut().filter(|slot| !slot.0.0.is_null()) {
        let (block, bytes) = std::mem::replace(slot, EMPTY);
        // SAFETY: as above.
        unsafe { put(block.0, bytes) };
    }
}
