//! Errors in the use of the unsafe interface that the allocator notices end the process with a message.
#![cfg(all(debug_assertions, not(asan)))]

use allocator_api2::alloc::Allocator;
use sleepy_alloc::Heap;
use std::alloc::Layout;
use std::process::Command;
use std::ptr::NonNull;

fn block(heap: &Heap, layout: Layout) -> NonNull<u8> {
    heap.allocate(layout).unwrap().cast()
}

/// What a process of its own does wrong.
fn go_wrong(how: &str) {
    let heap = Heap::new().unwrap();
    let small = Layout::from_size_align(100, 8).unwrap();
    let large = Layout::from_size_align(100_000, 8).unwrap();
    // SAFETY: none: these are errors that are to be noticed.
    unsafe {
        match how {
            "twice" => {
                let (first, second) = (block(&heap, small), block(&heap, small));
                (&heap).deallocate(first, small);
                (&heap).deallocate(second, small);
                (&heap).deallocate(second, small);
            }
            "twice, with others between" => {
                let [first, second, third] = [(); 3].map(|()| block(&heap, small));
                let _kept = block(&heap, small);
                for block in [first, second, third, second] {
                    (&heap).deallocate(block, small);
                }
            }
            "twice, a large one" => {
                let first = block(&heap, large);
                (&heap).deallocate(first, large);
                (&heap).deallocate(first, large);
            }
            "into another heap" => {
                let other = Heap::new().unwrap();
                (&other).deallocate(block(&heap, small), small);
            }
            _ => {}
        }
    }
}

#[test]
fn errors_are_noticed() {
    if let Ok(how) = std::env::var("SLEEPY_GO_WRONG") {
        return go_wrong(&how);
    }
    for (how, message) in [
        ("twice", "freed twice"),
        ("twice, with others between", "freed twice"),
        ("twice, a large one", "freed twice"),
        ("into another heap", "does not belong to"),
    ] {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "errors_are_noticed", "--nocapture"])
            .env("SLEEPY_GO_WRONG", how)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && said.contains(message),
            "{how}: {said}"
        );
    }
}
