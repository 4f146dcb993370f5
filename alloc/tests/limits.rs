//! With little address space a heap takes a smaller arena, and fails without harm when there is none left.
#![cfg(not(asan))]

use allocator_api2::alloc::Allocator;
use sleepy_alloc::{Heap, stats};
use std::alloc::Layout;

fn address_space_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').next().unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
fn a_small_address_space_is_enough() {
    let bytes = address_space_bytes() + (120 << 20);
    let limit = libc::rlimit {
        rlim_cur: bytes,
        rlim_max: bytes,
    };
    // SAFETY: sets a limit of this process, which runs this test alone.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);

    let heap = Heap::new().unwrap();
    let heap = &heap;
    let layout = Layout::from_size_align(100_000, 8).unwrap();
    let mut blocks = Vec::with_capacity(2000);
    while let Ok(block) = heap.allocate(layout) {
        blocks.push(block.cast::<u8>());
        assert!(
            blocks.len() < 2000,
            "more blocks than the limit has room for"
        );
    }
    assert!(blocks.len() > 400, "only {} blocks", blocks.len());
    assert!(stats().arenas >= 1);
    assert!(
        heap.allocate(Layout::from_size_align(2 << 30, 8).unwrap())
            .is_err()
    );
    assert!(heap.alloc_slices(4000).is_err());
    // What is freed can be had again.
    let last = blocks.pop().unwrap();
    // SAFETY: allocated above with this layout.
    unsafe { heap.deallocate(last, layout) };
    assert!(heap.allocate(layout).is_ok());
}
