//! A script of everything that the allocator does, run while the OS refuses the k-th call of a kind and all after it, for
//! every k: what fails is null, nothing that lives is lost, and when the OS gives again all is as if nothing had been.
//!
//! Each k has a process of its own, in which nothing is mapped yet, with small arenas, so that mappings are many.

use crate::os::faulty::{self, Call, failing_after};
use crate::{Heap, idle_end, idle_start, purge_now, raw, stats};
use allocator_api2::alloc::Allocator;
use std::alloc::Layout;
use std::process::Command;
use std::thread;

const SUCCESSES: &str = "SLEEPY_TEST_SUCCESSES";
/// The exit code of a process in which no call failed.
const ALL_SUCCEEDED: i32 = 42;
/// So many k are tried at least.
const LEAST: usize = 24;
const MIB: usize = 1 << 20;

/// A block and what it holds.
struct Held {
    start: *mut u8,
    size: usize,
    fill: u8,
}

// SAFETY: whoever has the record may use the block, and free it.
unsafe impl Send for Held {}

impl Held {
    fn fill(self) -> Self {
        for at in self.places() {
            // SAFETY: inside the block.
            unsafe { self.start.add(at).write(self.fill) };
        }
        self
    }

    /// All of a small block, some of a large one, and the last.
    fn places(&self) -> impl Iterator<Item = usize> + use<> {
        let step = match self.size {
            0..8192 => 1,
            8192..MIB => 1024,
            _ => 64 * 1024,
        };
        (0..self.size).step_by(step).chain([self.size - 1])
    }

    fn check(&self) {
        // SAFETY: inside the block, where `fill` has written.
        let is_whole = |at| unsafe { self.start.add(at).read() } == self.fill;
        assert!(
            self.places().all(is_whole),
            "{} bytes were overwritten",
            self.size
        );
    }

    fn free(self) {
        self.check();
        // SAFETY: the block is live, and gone after this.
        unsafe { raw::free(self.start) };
    }
}

/// What a run of the script has, and how often it was refused something.
#[derive(Default)]
struct Run {
    held: Vec<Held>,
    refused: usize,
}

impl Run {
    fn keep(&mut self, start: *mut u8, size: usize, align: usize) {
        if start.is_null() {
            self.refused += 1;
            return;
        }
        assert!(start.addr().is_multiple_of(align));
        let fill = self.held.len() as u8 | 1;
        self.held.push(Held { start, size, fill }.fill());
    }

    fn alloc(&mut self, size: usize, align: usize) {
        let start = raw::alloc(Layout::from_size_align(size, align).unwrap());
        self.keep(start, size, align);
    }

    fn alloc_zeroed(&mut self, size: usize) {
        let start = raw::alloc_zeroed(Layout::from_size_align(size, 8).unwrap());
        if !start.is_null() {
            // SAFETY: a new block of at least this size.
            let bytes = unsafe { std::slice::from_raw_parts(start, size.min(2 * MIB)) };
            assert!(bytes.iter().all(|&byte| byte == 0), "{size} bytes");
        }
        self.keep(start, size, 8);
    }

    fn resize(&mut self, which: usize, size: usize) {
        let Some(block) = self.held.get_mut(which) else {
            return;
        };
        block.check();
        // SAFETY: the block is live, and replaced by the result, unless that is null.
        let start = unsafe { raw::realloc(block.start, Layout::from_size_align(size, 8).unwrap()) };
        block.check_moved(start, size);
        if start.is_null() {
            self.refused += 1;
        } else {
            let block = self.held.swap_remove(which);
            self.held.push(
                Held {
                    start,
                    size,
                    ..block
                }
                .fill(),
            );
        }
    }

    /// Frees all but every `keep`-th block.
    fn thin_out(&mut self, keep: usize) {
        let mut nth = 0;
        let (kept, gone): (Vec<_>, Vec<_>) = self.held.drain(..).partition(|_| {
            nth += 1;
            nth % keep == 0
        });
        self.held = kept;
        gone.into_iter().for_each(Held::free);
    }

    fn check(&self) {
        self.held.iter().for_each(Held::check);
    }

    fn free_all(&mut self) {
        self.held.drain(..).for_each(Held::free);
    }
}

impl Held {
    /// What both sizes have is where a resize has put the block.
    fn check_moved(&self, start: *mut u8, size: usize) {
        let is_kept = |at| {
            start.is_null()
                // SAFETY: inside the new block.
                || unsafe { start.add(at).read() } == self.fill
        };
        assert!(self.places().filter(|&at| at < size).all(is_kept));
    }
}

/// What a thread leaves behind whose calls fail after as many successes, those of its end included.
fn left_by_a_thread(plan: Option<(Call, usize)>) -> Run {
    let thread = thread::spawn(move || {
        if let Some((call, successes)) = plan {
            faulty::fail_to_the_end(call, successes);
        }
        let mut run = Run::default();
        for nth in 0..400 {
            run.alloc(16 + nth % 5 * 1000, 8);
        }
        run.alloc(3 * MIB, 8);
        run.thin_out(2);
        idle_start();
        run
    });
    thread.join().unwrap()
}

/// A little of everything.
fn script(plan: Option<(Call, usize)>) -> usize {
    let mut run = Run::default();
    for size in [1, 100, 3000, 40_000, 65_536, 100_000, 5 * MIB] {
        for _ in 0..6 {
            run.alloc(size, 8);
        }
    }
    for align in [4096, 65_536, MIB, 4 * MIB] {
        run.alloc(100, align);
    }
    // A mapping of its own, in arenas this small.
    run.alloc(100 * MIB, 8);
    run.alloc_zeroed(70 * MIB);
    for (which, size) in [
        (0, 5000),
        (9, 90_000),
        (30, 6 * MIB),
        (12, 10),
        (20, 80 * MIB),
    ] {
        run.resize(which, size);
    }
    run.check();

    // Full pages that belong to nobody, and a thread that has ended: frees look for a bitmap.
    let left = left_by_a_thread(plan);
    run.refused += left.refused;
    run.held.extend(left.held);
    for _ in 0..3000 {
        run.alloc(500, 8);
    }
    run.thin_out(3);
    idle_start();
    purge_now();
    run.check();
    idle_end();
    run.refused += heaps();
    // What was given back, or should have been, is zero where that is asked.
    for size in [3000, 60_000, 300_000, 5 * MIB] {
        run.alloc_zeroed(size);
    }
    run.thin_out(2);
    purge_now();
    run.check();
    run.free_all();
    purge_now();
    run.refused
}

/// First-class heaps that are dropped with their blocks.
fn heaps() -> usize {
    let mut refused = 0;
    for _ in 0..3 {
        let Ok(heap) = Heap::new() else {
            refused += 1;
            continue;
        };
        for size in [100, 20_000, 2 * MIB, 60 * MIB] {
            let layout = Layout::from_size_align(size, 8).unwrap();
            match (&heap).allocate(layout) {
                // SAFETY: a new block of this size.
                Ok(block) => unsafe { block.cast::<u8>().write_bytes(1, size.min(MIB)) },
                Err(_) => refused += 1,
            }
        }
        refused += usize::from(heap.alloc_slices(300).is_err());
        std::mem::forget(heap.park());
    }
    refused
}

/// One run of the script; true if every call of this kind succeeded.
fn run_with(call: Call, successes: usize) -> bool {
    let (refused, is_exhausted) = failing_after(call, successes, || {
        let refused = script(Some((call, successes)));
        (refused, faulty::is_exhausted())
    });
    let all_freed = |when| {
        let now = stats();
        assert_eq!((now.live_bytes, now.abandoned_pages), (0, 0), "{when}");
    };
    all_freed("after the failures");
    assert_eq!(script(None), 0, "refused, with nothing failing");
    all_freed("in the end");
    if call == Call::Map && successes == 0 {
        assert!(refused > 0, "nothing needs a mapping");
    }
    !is_exhausted
}

/// Runs the script for each of these k in a process of its own, until all calls succeed.
fn for_each_k(name: &str, call: Call, ks: impl Iterator<Item = usize>) {
    if let Ok(successes) = std::env::var(SUCCESSES) {
        let all_succeeded = run_with(call, successes.parse().unwrap());
        std::process::exit(if all_succeeded { ALL_SUCCEEDED } else { 0 });
    }
    for successes in ks {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env(SUCCESSES, successes.to_string())
            .env("SLEEPY_ARENA_MIB", "32")
            .env("SLEEPY_SCAVENGER", "0")
            .output()
            .unwrap();
        match output.status.code() {
            Some(0) => {}
            // The second thread counts its own calls, which are fewer than this.
            Some(ALL_SUCCEEDED) if successes >= LEAST => return,
            Some(ALL_SUCCEEDED) => {}
            _ => panic!(
                "after {successes} successes: {}\n{}",
                output.status,
                String::from_utf8_lossy(&output.stderr)
            ),
        }
    }
    panic!("the script makes more calls than expected");
}

#[test]
fn every_mapping_may_fail() {
    for_each_k("faults::every_mapping_may_fail", Call::Map, 0..1000);
}

#[test]
fn every_discard_may_fail() {
    // There are hundreds, of a few kinds.
    let step = if std::env::var_os("SLEEPY_EVERY_K").is_some() {
        1
    } else {
        11
    };
    let ks = (0..LEAST).chain((LEAST..10_000).step_by(step));
    for_each_k("faults::every_discard_may_fail", Call::Discard, ks);
}
