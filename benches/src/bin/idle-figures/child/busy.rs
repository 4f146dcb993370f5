//! A process that is busy all the time.

use std::hint::black_box;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Counts how often some work could be done in that time: a few microseconds of it, half of them in memory of 1 MiB.
pub fn run(seconds: u64) -> Value {
    let mut memory = vec![1u64; 1 << 17];
    let end = Instant::now() + Duration::from_secs(seconds);
    let (mut turns, mut x) = (0u64, 1u64);
    while Instant::now() < end {
        for _ in 0..500 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (x >> 47) as usize;
            memory[at] = memory[at].wrapping_add(x);
        }
        turns += 1;
    }
    black_box(memory);
    json!({ "turns": turns })
}
