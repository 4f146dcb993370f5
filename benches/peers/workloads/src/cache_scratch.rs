//! `cache-scratch`: do threads get small objects from one cache line?

use crate::block::{Block, get, put};
use crate::list::{Rounds, Size};
use std::io;
use std::sync::Arc;

const TIMES: usize = 50;
const WRITES: usize = 2_000_000;

/// The main thread's objects, one for each thread, which frees it first: an allocator that gives it to that thread again
/// has two threads write to one line from then on.
pub fn cache_scratch(size: &Size) -> io::Result<Rounds> {
    let (threads, writes) = (size.threads, size.each(WRITES));
    let pool = size.pool.clone();
    Ok(Rounds::plain(move || {
        let objects: Arc<Vec<Block>> = Arc::new((0..threads).map(|_| Block(get(1))).collect());
        pool.run(move |lane| {
            // SAFETY: one byte each, and each lane frees its own.
            unsafe { put(objects[lane].0, 1) };
            for _ in 0..TIMES {
                let byte = get(1);
                for i in 0..writes {
                    // SAFETY: a live byte of this lane.
                    unsafe {
                        byte.write_volatile(i as u8);
                        byte.read_volatile();
                    }
                }
                // SAFETY: allocated above.
                unsafe { put(byte, 1) };
            }
        });
    }))
}
