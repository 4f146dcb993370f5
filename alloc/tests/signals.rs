//! No signal handler of the program ever runs on the scavenger thread.

mod common;

use allocator_api2::vec::Vec as HeapVec;
use sleepy_alloc::Heap;
use std::time::Duration;

#[test]
fn the_scavenger_blocks_every_signal_but_faults() {
    let heap = Heap::new().unwrap();
    drop(HeapVec::<u8, _>::with_capacity_in(32 << 20, &heap));
    assert!(
        common::within(Duration::from_secs(2), || common::scavenger_sleeps()
            .is_some()),
        "32 MiB free start it"
    );
    let status = std::fs::read_dir("/proc/self/task")
        .unwrap()
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("status")).ok())
        .find(|status| {
            status
                .lines()
                .next()
                .is_some_and(|name| name.ends_with("sleepy-scavenge"))
        })
        .unwrap();
    let blocked = status
        .lines()
        .find_map(|line| line.strip_prefix("SigBlk:"))
        .unwrap()
        .trim();
    let blocked = u64::from_str_radix(blocked, 16).unwrap();
    let has = |signal: i32| blocked >> (signal - 1) & 1 == 1;
    for signal in [
        libc::SIGINT,
        libc::SIGTERM,
        libc::SIGCHLD,
        libc::SIGALRM,
        libc::SIGUSR1,
        libc::SIGPROF,
    ] {
        assert!(has(signal), "signal {signal} is open");
    }
    for fault in [
        libc::SIGSEGV,
        libc::SIGBUS,
        libc::SIGILL,
        libc::SIGFPE,
        libc::SIGABRT,
    ] {
        assert!(!has(fault), "fault {fault} is blocked");
    }
}
