//! Random programs over all containers at once, in all phases and generations: whatever a program can reach is whole.
//!
//! Each object carries a number and the same number masked; what is freed is poisoned, so that an object that was taken
//! for dead shows when it's next looked at. The verifier looks at the whole heap after most steps.
//!
//! A failure names its seed. `SLEEPY_STORM_SEED=n` begins with that one, `SLEEPY_STORM_SEEDS=n` says how many are run,
//! and `SLEEPY_STORM_ROUNDS=n` how many rounds of operations and steps each of them gets.

mod node;
mod ops;
mod run;

use std::env;
use std::panic::{catch_unwind, resume_unwind};

/// A number from the environment.
fn setting(name: &str, default: u64) -> u64 {
    env::var(name).map_or(default, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is not a number: {text}"))
    })
}

#[test]
fn what_is_reachable_stays_whole() {
    // Poison alone: a whole collection at each opportunity would leave nothing to the phases in between.
    sleepy_gc::set_zeal(u32::MAX);
    let first = setting("SLEEPY_STORM_SEED", 0);
    let seeds = setting("SLEEPY_STORM_SEEDS", 24);
    let rounds = setting("SLEEPY_STORM_ROUNDS", 600);
    for seed in first..first + seeds {
        if let Err(panic) = catch_unwind(|| run::run(seed, rounds)) {
            eprintln!("again with SLEEPY_STORM_SEED={seed} SLEEPY_STORM_ROUNDS={rounds}");
            resume_unwind(panic);
        }
    }
}
