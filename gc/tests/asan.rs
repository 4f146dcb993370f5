//! AddressSanitizer sees the use of a cell that is free: run with `ci/slow asan`.

#![cfg(asan)]

use std::process::Command;

use sleepy_gc::collections::GcVec;
use sleepy_gc::{Arena, Budget, Gc, GcWeak, Rootable, Static};

/// What is read after it was freed.
const WHICH: &str = "SLEEPY_TEST_READS";

type Root<'gc> = GcVec<'gc, GcWeak<'gc, Static<u64>>>;

/// The address of an object that is freed, in a way of that name.
fn freed(which: &str, arena: &mut Arena<Rootable![Root<'_>]>) -> *const u64 {
    let address = arena.mutate(|mc, weak| {
        let neighbour = Gc::new(mc, Static(1_u64));
        weak.push(mc, Gc::downgrade(neighbour));
        match which {
            "plain" => Gc::as_ptr(Gc::new(mc, Static(7_u64))).cast(),
            "dropped" => Gc::as_ptr(Gc::new(mc, Static(Box::new(7_u64)))).cast(),
            "held" => {
                let object = Gc::new(mc, Static(7_u64));
                weak.push(mc, Gc::downgrade(object));
                Gc::as_ptr(object).cast()
            }
            "large" => Gc::as_ptr(Gc::new(mc, Static([7_u64; 5000]))).cast(),
            "outgrown" => {
                let vec = GcVec::new();
                vec.push(mc, 7_u64);
                let first = vec.as_ptr();
                vec.try_reserve(mc, 100).unwrap();
                first
            }
            _ => panic!("no such way"),
        }
    });
    arena.start_cycle();
    while arena.has_work() {
        arena.step(Budget::Work(1000));
    }
    address
}

#[test]
fn a_free_cell_may_not_be_read() {
    if let Ok(which) = std::env::var(WHICH) {
        let mut arena = Arena::new(|_| GcVec::new());
        let address = freed(&which, &mut arena);
        // SAFETY: none, which is the point: the process ends here.
        println!("read {}", unsafe { address.read_volatile() });
        return;
    }
    for which in ["plain", "dropped", "held", "large", "outgrown"] {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_free_cell_may_not_be_read", "--nocapture"])
            .env(WHICH, which)
            .output()
            .unwrap();
        let report = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && report.contains("use-after-poison"),
            "{which}: {}\n{report}",
            output.status
        );
    }
}
