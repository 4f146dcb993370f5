//! One producer that allocates, four consumers that drop (`gc_remote_free_spmc` of Ruby's Feature 14723).

use std::sync::Arc;
use std::thread;

use serde_json::{Value, json};
use sleepy_gc::Rootable;
use sleepy_gc::idle::{Gil, Policy, Queue, SendArena, Sleeper};

const CONSUMERS: usize = 4;
/// Messages that are on their way.
const LIMIT: usize = 256;

type Empty = SendArena<Rootable![u32]>;

/// Passes so many messages of 100 to 4100 bytes; whoever takes one frees it (`remote`), or sends it back to be freed.
pub fn run(remote: bool, messages: usize) -> Value {
    let before_bytes = peak_bytes();
    let gil = Arc::new(Gil::new(Empty::new(|_| 0)));
    let there = Arc::new(Queue::<Vec<u8>>::bounded(LIMIT));
    let back = Arc::new(Queue::<Vec<u8>>::unbounded());
    let consumers: Vec<_> = (0..CONSUMERS)
        .map(|_| {
            let (gil, there, back) = (Arc::clone(&gil), Arc::clone(&there), Arc::clone(&back));
            thread::spawn(move || {
                let mut sleeper = Sleeper::new(Policy::default());
                let mut sum = 0;
                loop {
                    // The interpreter's lock is not held for what needs no interpreter.
                    let message = sleeper.recv(&mut gil.lock(), &there, None);
                    let Ok(message) = message else {
                        return sum;
                    };
                    sum += message.len();
                    if !remote {
                        // It fails only if the producer has gone.
                        let _ = back.try_send(message);
                    }
                }
            })
        })
        .collect();
    let mut sleeper = Sleeper::new(Policy::default());
    for n in 0..messages {
        let message = vec![n as u8; 100 + n * 7919 % 4000];
        // It fails only if the queue is closed, which is done below.
        let _ = sleeper.send(&mut gil.lock(), &there, message, None);
        while back.try_recv().is_ok() {}
    }
    there.close();
    let sum: usize = consumers.into_iter().map(|it| it.join().unwrap_or(0)).sum();
    json!({ "sum": sum, "grown_bytes": peak_bytes() - before_bytes })
}

/// The most that was ever resident.
fn peak_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
