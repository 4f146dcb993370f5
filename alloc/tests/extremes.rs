//! The ends of what can be asked for: no bytes at all, more than there is, any alignment.

mod common;

use common::block::Block;
use sleepy_alloc::{raw, stats};
use std::alloc::Layout;

#[test]
fn a_block_of_no_bytes_is_a_block() {
    let _alone = common::alone();
    let before = stats().live_bytes;
    for shift in [0, 3, 4, 12, 16, 21] {
        let layout = Layout::from_size_align(0, 1 << shift).unwrap();
        for block in [raw::alloc(layout), raw::alloc_zeroed(layout)] {
            assert!(!block.is_null() && block.addr().is_multiple_of(1 << shift));
            assert!(raw::is_ours(block));
            // SAFETY: the block is live, grown, shrunk to nothing and given up.
            unsafe {
                let grown = raw::realloc(block, Layout::from_size_align(5000, 8).unwrap());
                grown.write_bytes(1, 5000);
                let shrunk = raw::realloc(grown, layout);
                assert!(!shrunk.is_null() && raw::is_ours(shrunk));
                assert!(raw::usable_bytes(shrunk) < 5000 || shift > 12);
                raw::free(shrunk);
            }
        }
    }
    assert_eq!(stats().live_bytes, before);
}

#[test]
fn what_cannot_be_had_is_null() {
    let _alone = common::alone();
    let before = stats().live_bytes;
    let most = isize::MAX as usize;
    for (size, align) in [
        (most, 1),
        (most - 15, 16),
        (most - 4096, 4096),
        (most / 2, 8),
        (1 << 48, 8),
        (1, 1 << 40),
        (1 << 47, 1 << 46),
        (0, 1 << 62),
    ] {
        let layout = Layout::from_size_align(size, align).unwrap();
        assert!(raw::alloc(layout).is_null(), "{layout:?}");
        assert!(raw::alloc_zeroed(layout).is_null(), "{layout:?}");
        for bytes in [100, 5000, 200_000, 5 << 20] {
            let block = Block::new(bytes, 1);
            // SAFETY: the block is live, and stays so when it cannot be resized.
            let resized = unsafe {
                raw::realloc(
                    std::ptr::with_exposed_provenance_mut(block.address()),
                    layout,
                )
            };
            assert!(resized.is_null(), "{bytes} to {layout:?}");
            block.free();
        }
    }
    assert_eq!(stats().live_bytes, before);
}

#[test]
fn addresses_that_no_block_has_are_not_ours() {
    let local = 1u8;
    let boxed = Box::new(1u8);
    let ours = Block::new(10, 1);
    for foreign in [&raw const local, &raw const *boxed, std::ptr::null()] {
        assert!(!raw::is_ours(foreign));
    }
    for bits in 0..64 {
        // Anything may be asked, also what nothing is mapped at.
        raw::is_ours(std::ptr::without_provenance(1 << bits));
        raw::is_ours(std::ptr::without_provenance(usize::MAX << bits));
    }
    assert!(raw::is_ours(std::ptr::without_provenance(ours.address())));
    ours.free();
}
