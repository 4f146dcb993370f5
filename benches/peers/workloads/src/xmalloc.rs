//! `xmalloc`: some threads only allocate, others only free.

use crate::block::{Block, get, put};
use crate::list::{Rounds, Size};
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

const OBJECT_BYTES: usize = 64;
const BATCH: usize = 4096;
/// More batches than that are not kept; their makers wait.
const MOST_BATCHES: usize = 100;
/// The batches of all threads in a round.
const BATCHES: usize = 360;

/// A stack of batches.
#[derive(Default)]
struct Stack {
    batches: Mutex<Vec<Box<[Block]>>>,
    not_full: Condvar,
    not_empty: Condvar,
}

impl Stack {
    fn push(&self, batch: Box<[Block]>) {
        let mut all = self.batches.lock().unwrap_or_else(PoisonError::into_inner);
        while all.len() >= MOST_BATCHES {
            all = self
                .not_full
                .wait(all)
                .unwrap_or_else(PoisonError::into_inner);
        }
        all.push(batch);
        drop(all);
        self.not_empty.notify_one();
    }

    fn pop(&self) -> Box<[Block]> {
        let mut all = self.batches.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(batch) = all.pop() {
                drop(all);
                self.not_full.notify_one();
                return batch;
            }
            all = self
                .not_empty
                .wait(all)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Pairs of an allocating and a freeing thread with one stack between all of them.
pub fn xmalloc(size: &Size) -> io::Result<Rounds> {
    let (threads, batches) = (size.threads, size.each(BATCHES));
    Ok(Rounds::plain(move || {
        let stack = Arc::new(Stack::default());
        let mut all = Vec::new();
        for _ in 0..threads {
            let own = stack.clone();
            all.push(std::thread::spawn(move || {
                for _ in 0..batches {
                    own.push((0..BATCH).map(|_| object()).collect());
                }
            }));
            let own = stack.clone();
            all.push(std::thread::spawn(move || {
                for _ in 0..batches {
                    for object in own.pop() {
                        // SAFETY: made by `object`, and in one batch only.
                        unsafe { put(object.0, OBJECT_BYTES) };
                    }
                }
            }));
        }
        for thread in all {
            thread.join().expect("a thread panicked");
        }
    }))
}

fn object() -> Block {
    let object = get(OBJECT_BYTES);
    // SAFETY: the object has that many bytes.
    unsafe { object.write_bytes(1, OBJECT_BYTES) };
    Block(object)
}
