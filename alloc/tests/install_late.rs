//! A program that frees so much that the scavenger starts can install no options afterwards.

use sleepy_alloc::{AlreadyStarted, Options, SleepyAlloc, stats};

#[global_allocator]
static ALLOCATOR: SleepyAlloc = SleepyAlloc;

#[test]
fn the_scavenger_fixes_options() {
    drop(std::hint::black_box(vec![1u8; 64 << 20]));
    sleepy_alloc::idle_start();
    sleepy_alloc::idle_end();
    assert_eq!(stats().scavenger_starts, 1);
    assert_eq!(Options::default().install(), Err(AlreadyStarted));
}
