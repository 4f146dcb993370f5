//! Both crates at once, for as long as is wanted: threads run random programs on arenas and heaps of their own, while others end and begin,
//! heaps are lent, and memory goes back to the system.
//!
//! `SLEEPY_SOAK_SECONDS` is how long (3 if not said); `SLEEPY_SOAK_SEED` repeats a run, as far as threads allow.

use std::{
    env,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use sleepy_tests::{
    alloc_machine::{self, AllocMachine},
    machine::{self, Machine},
};

/// A generator of numbers that differ enough (xorshift64*, by Marsaglia and Vigna).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn bytes(&mut self, most: u64) -> Vec<u8> {
        let count = self.next() % most;
        (0..count).map(|_| (self.next() >> 56) as u8).collect()
    }
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

fn gc_program(numbers: &mut Numbers) {
    let mut machine = Machine::new();
    for op in &machine::decode(&numbers.bytes(20_000)) {
        machine.run(op);
    }
    machine.finish();
}

fn alloc_program(numbers: &mut Numbers) {
    let mut machine = AllocMachine::new();
    for op in &alloc_machine::decode(&numbers.bytes(5_000)) {
        machine.run(op);
    }
    machine.finish();
}

#[test]
fn soak() {
    let length = Duration::from_secs(number("SLEEPY_SOAK_SECONDS").unwrap_or(3));
    let seed = number("SLEEPY_SOAK_SEED").unwrap_or_else(|| {
        let now = std::time::UNIX_EPOCH
            .elapsed()
            .expect("it is later than 1970");
        now.as_nanos() as u64
    });
    println!("SLEEPY_SOAK_SEED={seed}");
    let end = Instant::now() + length;
    // Each thread runs one program and makes room for the next, so that threads come and go all the time. (The counter hands out
    // seeds and publishes nothing.)
    let programs = AtomicU64::new(seed | 1);
    thread::scope(|scope| {
        for worker in 0..3u64 {
            let programs = &programs;
            scope.spawn(move || {
                while Instant::now() < end {
                    let seed = programs.fetch_add(2, Ordering::Relaxed);
                    let run = thread::Builder::new()
                        .name(format!("program {seed}"))
                        .spawn(move || {
                            let mut numbers = Numbers(seed);
                            if worker == 0 {
                                alloc_program(&mut numbers)
                            } else {
                                gc_program(&mut numbers)
                            }
                        });
                    run.expect("there is room for a thread")
                        .join()
                        .expect("the program ends well");
                }
            });
        }
    });
}
