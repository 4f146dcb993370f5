//! Errors in the use of the process-wide allocator that debug builds notice: they end the process with a message.
#![cfg(all(debug_assertions, not(asan)))]

mod common;

use common::child::{again, how};
use sleepy_alloc::{purge_now, raw};
use std::alloc::Layout;
use std::thread;

/// An address that may go to another thread.
struct Address(*mut u8);

// SAFETY: these tests are about what must not be done.
unsafe impl Send for Address {}
// SAFETY: as above.
unsafe impl Sync for Address {}

fn block(size: usize) -> Address {
    let ptr = raw::alloc(Layout::from_size_align(size, 8).unwrap());
    assert!(!ptr.is_null());
    Address(ptr)
}

fn free(address: &Address) {
    // SAFETY: none: these are errors that are to be noticed.
    unsafe { raw::free(address.0) }
}

fn on_another_thread(f: impl FnOnce() + Send) {
    thread::scope(|scope| {
        scope.spawn(f);
    });
}

fn twice_with_others_between(size: usize) {
    let [first, second, third] = [(); 3].map(|()| block(size));
    let _kept = block(size);
    for address in [&first, &second, &third, &second] {
        free(address);
    }
}

/// The last block of a page of which only the first few were made.
fn never_made(first: &Address) -> Address {
    let page = first.0.addr() & !0xffff;
    let last = page + (65_536 / 5120 - 1) * 5120;
    Address(std::ptr::without_provenance_mut(last))
}

static OURS_NOT: u64 = 7;

/// What a process of its own does wrong.
fn go_wrong(how: &str) {
    // There is something of everything.
    let kept = [block(100), block(5000), block(1_000_000)];
    match how {
        "twice, small" => twice_with_others_between(100),
        "twice, medium" => twice_with_others_between(5000),
        "twice, large" => twice_with_others_between(1_000_000),
        "twice, larger than an arena" => {
            let huge = block(3 << 30);
            free(&huge);
            free(&huge);
        }
        "here and elsewhere" => {
            free(&kept[0]);
            on_another_thread(|| free(&kept[0]));
        }
        "elsewhere and here" => {
            on_another_thread(|| free(&kept[0]));
            free(&kept[0]);
        }
        "here and elsewhere, among others" => {
            let _others = [(); 10].map(|()| block(100));
            free(&kept[0]);
            on_another_thread(|| free(&kept[0]));
        }
        "elsewhere and here, among others" => {
            let _others = [(); 10].map(|()| block(100));
            on_another_thread(|| free(&kept[0]));
            free(&kept[0]);
        }
        "elsewhere twice" => on_another_thread(|| {
            free(&kept[0]);
            free(&kept[0]);
        }),
        "after its thread" => {
            let left = thread::spawn(|| [(); 10].map(|()| block(200)))
                .join()
                .unwrap();
            free(&left[3]);
            free(&left[5]);
            free(&left[3]);
        }
        "the stack" => {
            let mut local = 0u64;
            free(&Address((&raw mut local).cast()));
        }
        "a static" => free(&Address((&raw const OURS_NOT).cast_mut().cast())),
        "another allocator's" => {
            let boxed = Box::new([0u8; 100]);
            free(&Address(Box::into_raw(boxed).cast()));
        }
        "another allocator's, large" => {
            let boxed = vec![0u8; 10 << 20].into_boxed_slice();
            free(&Address(Box::into_raw(boxed).cast()));
        }
        "no address at all" => free(&Address(std::ptr::without_provenance_mut(64))),
        "the middle, small" => free(&Address(kept[0].0.wrapping_add(8))),
        "the middle, odd" => free(&Address(kept[0].0.wrapping_add(1))),
        "the middle, medium" => free(&Address(kept[1].0.wrapping_add(4096))),
        "the middle, large" => free(&Address(kept[2].0.wrapping_add(64))),
        "the middle, a slice on" => free(&Address(kept[2].0.wrapping_add(65_536))),
        "never made" => free(&never_made(&kept[1])),
        "never made, elsewhere" => {
            let _others = [(); 2].map(|()| block(5000));
            on_another_thread(|| free(&never_made(&kept[1])));
        }
        "never mapped, in an arena" => {
            let far = kept[0].0.addr() & !((1 << 30) - 1) | (1000 << 20);
            free(&Address(std::ptr::without_provenance_mut(far)));
        }
        _ => unreachable!("{how}"),
    }
}

#[test]
fn errors_are_noticed() {
    if let Some(how) = how() {
        go_wrong(&how);
        // What another thread did wrong comes out when its owner looks at the page.
        purge_now();
        return;
    }
    let foreign = "a pointer was freed that";
    for (how, message) in [
        ("twice, small", "freed twice"),
        ("twice, medium", "freed twice"),
        ("twice, large", "freed"),
        ("twice, larger than an arena", "freed"),
        ("here and elsewhere", "freed twice"),
        ("elsewhere and here", "freed twice"),
        ("here and elsewhere, among others", "freed twice"),
        ("elsewhere and here, among others", "freed twice"),
        ("elsewhere twice", "freed twice"),
        ("after its thread", "freed twice"),
        ("the stack", foreign),
        ("a static", foreign),
        ("another allocator's", foreign),
        ("another allocator's, large", foreign),
        ("no address at all", foreign),
        ("the middle, small", foreign),
        ("the middle, odd", foreign),
        ("the middle, medium", foreign),
        ("the middle, large", foreign),
        ("the middle, a slice on", foreign),
        ("never made", foreign),
        ("never made, elsewhere", foreign),
        ("never mapped, in an arena", foreign),
    ] {
        let output = again("errors_are_noticed", how, &[]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && said.contains("sleepy-alloc: ") && said.contains(message),
            "{how}: {}: {said}",
            output.status
        );
    }
}
