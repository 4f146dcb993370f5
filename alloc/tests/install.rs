//! Options of a program that allocates before `main`.

use sleepy_alloc::{AlreadyStarted, Heap, Options, SleepyAlloc, stats};
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: SleepyAlloc = SleepyAlloc;

fn without_scavenger() -> Options {
    Options {
        scavenger: false,
        min_interval: Duration::ZERO,
        ..Options::default()
    }
}

#[test]
fn heaps_of_threads_leave_options_open_and_others_fix_them() {
    let text = std::thread::spawn(|| "allocated by a thread".to_owned())
        .join()
        .unwrap();
    assert_eq!(text.len(), 21);
    assert!(stats().heaps >= 1);
    assert_eq!(without_scavenger().install(), Ok(()));
    assert_eq!(without_scavenger().install(), Ok(()));

    // Enough to have the scavenger started, if there were to be one.
    drop(std::hint::black_box(vec![1u8; 64 << 20]));
    sleepy_alloc::idle_start();
    sleepy_alloc::idle_end();
    assert_eq!(stats().scavenger_starts, 0);

    let heap = Heap::new().unwrap();
    assert_eq!(Options::default().install(), Err(AlreadyStarted));
    drop(heap);
}
