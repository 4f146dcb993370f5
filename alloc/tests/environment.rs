//! What the environment changes, each in a process of its own.

mod common;

use allocator_api2::boxed::Box as HeapBox;
use sleepy_alloc::{AlreadyStarted, Heap, Options, stats};
use std::process::{Command, Output};
use std::time::Duration;

/// Runs test `name` of this file again, in a new process with these variables.
fn again(name: &str, variables: &[(&str, &str)]) -> Output {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env("SLEEPY_TEST_CHILD", "1")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// A figure of the table that is printed at exit.
fn figure(printed: &str, name: &str) -> u64 {
    let mut words = printed
        .lines()
        .map(str::split_whitespace)
        .find_map(|mut words| (words.next() == Some(name)).then_some(words))
        .unwrap_or_else(|| panic!("no {name} in {printed}"));
    words.next().unwrap().parse().unwrap()
}

fn is_child() -> bool {
    std::env::var_os("SLEEPY_TEST_CHILD").is_some()
}

/// Frees most of 8 MB and parks a few times; how much of it is given back.
fn free_and_park() -> u64 {
    let heap = Heap::new().unwrap();
    let mut blocks: Vec<_> = (0..2000)
        .map(|_| HeapBox::new_in([1u8; 4096], &heap))
        .collect();
    let mut nth = 0;
    blocks.retain(|_| {
        nth += 1;
        nth % 16 == 0
    });
    for _ in 0..5 {
        let parked = heap.park();
        std::thread::sleep(Duration::from_millis(120));
        drop(parked);
    }
    stats().purged_bytes
}

#[test]
fn without_a_scavenger_parks_give_memory_back() {
    if is_child() {
        let purged = free_and_park();
        assert!(purged > 6 << 20, "{purged} bytes were given back");
        assert!(common::scavenger_sleeps().is_none(), "there is a scavenger");
        return;
    }
    again(
        "without_a_scavenger_parks_give_memory_back",
        &[("SLEEPY_SCAVENGER", "0")],
    );
}

#[test]
fn the_delay_is_kept() {
    if is_child() {
        assert_eq!(free_and_park(), 0);
        return;
    }
    again("the_delay_is_kept", &[("SLEEPY_PURGE_DELAY_MS", "60000")]);
}

#[test]
fn the_arena_is_as_small_as_asked() {
    if is_child() {
        let heap = Heap::new().unwrap();
        let _blocks: Vec<_> = (0..40).map(|_| heap.alloc_slices(16).unwrap()).collect();
        assert!(stats().arenas >= 3, "{} arenas", stats().arenas);
        return;
    }
    again(
        "the_arena_is_as_small_as_asked",
        &[("SLEEPY_ARENA_MIB", "16")],
    );
}

#[test]
fn figures_are_printed_at_exit() {
    if is_child() {
        free_and_park();
        return;
    }
    let output = again(
        "figures_are_printed_at_exit",
        &[("SLEEPY_STATS", "1"), ("SLEEPY_NONSENSE", "x")],
    );
    let printed = String::from_utf8_lossy(&output.stderr);
    assert_eq!(printed.matches("sleepy-alloc\n").count(), 1, "{printed}");
    let purged = figure(&printed, "purged_bytes");
    assert!(purged > 6 << 20, "{printed}");
    assert_eq!(figure(&printed, "scavenger_starts"), 1, "{printed}");
    figure(&printed, "reclaim_wait_max_ns");
}

#[test]
fn bad_values_are_named_and_ignored() {
    if is_child() {
        let heap = Heap::new().unwrap();
        let _blocks: Vec<_> = (0..40).map(|_| heap.alloc_slices(16).unwrap()).collect();
        assert_eq!(stats().arenas, 1);
        return;
    }
    let output = again(
        "bad_values_are_named_and_ignored",
        &[
            ("SLEEPY_ARENA_MIB", "0"),
            ("SLEEPY_SCAVENGER", "maybe"),
            ("SLEEPY_PURGE_DELAY_MS", ""),
        ],
    );
    let printed = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<_> = printed
        .lines()
        .filter(|line| line.starts_with("sleepy-alloc: "))
        .collect();
    assert_eq!(lines.len(), 2, "{printed}");
    let says = |text| lines.iter().any(|line| line.contains(text));
    assert!(says("SLEEPY_ARENA_MIB=0 is ignored"), "{printed}");
    assert!(says("SLEEPY_SCAVENGER=maybe is ignored"), "{printed}");
}

#[test]
fn the_environment_has_the_last_word() {
    if is_child() {
        let options = Options {
            arena_bytes: 512 << 20,
            ..Options::default()
        };
        options.install().unwrap();
        let heap = Heap::new().unwrap();
        let _blocks: Vec<_> = (0..40).map(|_| heap.alloc_slices(16).unwrap()).collect();
        assert!(stats().arenas >= 3, "{} arenas", stats().arenas);
        return;
    }
    again(
        "the_environment_has_the_last_word",
        &[("SLEEPY_ARENA_MIB", "16")],
    );
}

#[test]
fn figures_are_printed_by_an_exit_from_a_thread() {
    if is_child() {
        free_and_park();
        std::thread::spawn(|| std::process::exit(0)).join().unwrap();
        return;
    }
    let output = again(
        "figures_are_printed_by_an_exit_from_a_thread",
        &[("SLEEPY_STATS", "1")],
    );
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(figure(&printed, "purged_bytes") > 6 << 20, "{printed}");
}

#[test]
fn options_are_fixed_by_the_first_heap() {
    if is_child() {
        let options = Options {
            purge_delay: Duration::from_millis(5),
            ..Options::default()
        };
        assert!(options.clone().install().is_ok());
        let heap = Heap::new().unwrap();
        assert_eq!(options.install(), Err(AlreadyStarted));
        drop(heap);
        return;
    }
    again("options_are_fixed_by_the_first_heap", &[]);
}
