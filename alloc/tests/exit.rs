//! A process that ends allocates and frees to the last: in `atexit` handlers, while other threads work, from any thread,
//! and while parked.

mod common;

use common::block::{Block, blocks, free_all, thin_out};
use common::child::{again_well, end_after, how, say};
use sleepy_alloc::{SleepyAlloc, idle_start, purge_now};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: SleepyAlloc = SleepyAlloc;

const TEST: &str = "a_process_ends_well";

/// Blocks of this thread and of one that has ended, for the handlers.
static KEPT: Mutex<Vec<Block>> = Mutex::new(Vec::new());
static TABLE: OnceLock<Mutex<HashMap<u32, String>>> = OnceLock::new();

thread_local! {
    static LAST: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

extern "C" fn at_exit() {
    let kept = std::mem::take(&mut *KEPT.lock().unwrap());
    let is_whole = kept.into_iter().all(Block::free_quietly);
    let mut table = TABLE.get().unwrap().lock().unwrap();
    table.extend((0..2000).map(|number| (number, number.to_string())));
    table.retain(|number, _| number % 3 == 0);
    idle_start();
    free_all(blocks(300, 3000));
    purge_now();
    if is_whole && table.len() == 667 {
        say("at exit: all is well\n");
    }
}

fn prepare() {
    end_after(120);
    let table: HashMap<u32, String> = (0..100).map(|nth| (nth, format!("number {nth}"))).collect();
    TABLE.set(Mutex::new(table)).unwrap();
    LAST.with_borrow_mut(|list| list.extend((0..100).map(|nth: u32| nth.to_string())));
    let theirs = thread::spawn(|| blocks(500, 700)).join().unwrap();
    KEPT.lock().unwrap().extend(theirs);
    KEPT.lock().unwrap().extend(blocks(500, 800));
    // SAFETY: registers a function that may run at any time.
    assert_eq!(unsafe { libc::atexit(at_exit) }, 0);
}

/// Half a megabyte lies free, so that a park lends the heap.
fn make_dirty() {
    std::mem::forget(thin_out(blocks(200, 4000), 5));
}

fn work_for_ever(seed: usize) -> ! {
    loop {
        let made = blocks(100, 100 + 50 * seed);
        let text: Vec<String> = (0..50).map(|nth| format!("{nth} of {seed}")).collect();
        idle_start();
        free_all(made);
        drop(text);
    }
}

fn child(how: &str) {
    prepare();
    match how {
        "returns" => return,
        "exits" => std::process::exit(0),
        "while parked" => {
            make_dirty();
            idle_start();
        }
        "while parked and swept" => {
            make_dirty();
            idle_start();
            thread::spawn(|| {
                loop {
                    purge_now();
                }
            });
            thread::sleep(Duration::from_millis(20));
        }
        "while others work" => {
            for seed in 0..4 {
                thread::spawn(move || work_for_ever(seed));
            }
            thread::sleep(Duration::from_millis(20));
        }
        "from another thread" => {
            make_dirty();
            idle_start();
            thread::spawn(|| std::process::exit(0)).join().unwrap();
        }
        _ => unreachable!("{how}"),
    }
    std::process::exit(0);
}

#[test]
fn a_process_ends_well() {
    if let Some(how) = how() {
        return child(&how);
    }
    for how in [
        "returns",
        "exits",
        "while parked",
        "while parked and swept",
        "while others work",
        "from another thread",
    ] {
        for _ in 0..5 {
            let said = again_well(TEST, how, &[]);
            assert!(said.contains("at exit: all is well"), "{how}: {said}");
        }
    }
}
