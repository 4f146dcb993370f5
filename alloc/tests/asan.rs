//! The sanitizer sees into our heap: `RUSTFLAGS="-Zsanitizer=address --cfg asan" cargo +nightly test … --test asan`.
#![cfg(asan)]

use allocator_api2::vec::Vec as HeapVec;
use sleepy_alloc::Heap;
use std::hint::black_box;
use std::process::Command;

/// What a process of its own does wrong.
fn go_wrong(how: &str) {
    let heap = Heap::new().unwrap();
    let mut bytes: HeapVec<u8, _> = HeapVec::with_capacity_in(100, &heap);
    bytes.resize(100, 1);
    let ptr = bytes.as_ptr();
    match how {
        "after the free" => drop(bytes),
        "after the end" => {
            // SAFETY: none: this is what the sanitizer is to find.
            black_box(unsafe { ptr.add(101).read() });
        }
        _ => return,
    }
    // SAFETY: none, as above.
    black_box(unsafe { ptr.add(50).read() });
}

#[test]
fn wrong_reads_are_found() {
    if let Ok(how) = std::env::var("SLEEPY_GO_WRONG") {
        return go_wrong(&how);
    }
    for how in ["after the free", "after the end"] {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "wrong_reads_are_found", "--nocapture"])
            .env("SLEEPY_GO_WRONG", how)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && said.contains("ERROR: AddressSanitizer"),
            "{how}: {said}"
        );
    }
}
