//! Our own collector behind the waits.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::recorder::policy;
use sleepy_gc::collections::{GcStr, GcTail, GcVec};
use sleepy_gc::idle::{Collector, Interest, Policy, Sleeper, Switches};
use sleepy_gc::{Arena, Budget, Rootable};

const MS: Duration = Duration::from_millis(1);

type Strings = Arena<Rootable![GcVec<'_, GcStr<'_>>]>;

fn arena(live: usize) -> Strings {
    Arena::new(|mc| {
        let strings = GcVec::new();
        for i in 0..live {
            strings.push(mc, GcStr::new(mc, &format!("live string number {i}")));
        }
        strings
    })
}

fn make_garbage(arena: &Strings, bytes: usize) {
    arena.mutate(|mc, _| {
        for _ in 0..bytes / 1024 {
            std::hint::black_box(GcTail::from_slice(mc, (), &[7u8; 1024]));
        }
    });
}

fn wait(sleeper: &mut Sleeper, arena: &mut Strings, time: Duration) {
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let ready = sleeper
        .wait_fd(arena, ours.as_fd(), Interest::Readable, Some(time))
        .unwrap();
    assert!(!ready);
}

#[test]
fn garbage_is_gone_after_a_wait_and_what_lives_is_not() {
    let mut arena = arena(1000);
    let mut sleeper = Sleeper::new(policy());
    wait(&mut sleeper, &mut arena, 100 * MS);
    let floor_bytes = arena.hint().live_bytes;
    for _ in 0..5 {
        make_garbage(&arena, 600 << 10);
        assert!(arena.hint().allocated_bytes_since_cycle >= 600 << 10);
        wait(&mut sleeper, &mut arena, 60 * MS);
        assert!(!arena.has_work());
        assert!(arena.hint().live_bytes < floor_bytes + (64 << 10));
    }
    let stats = sleeper.stats();
    assert!(stats.cycles_started >= 5 && stats.steps > 0, "{stats:?}");
    assert!(stats.freed_bytes >= 5 * (600 << 10), "{stats:?}");
    arena.mutate(|_, strings| {
        assert_eq!(strings.len(), 1000);
        assert_eq!(strings.get(999).unwrap().as_str(), "live string number 999");
    });
}

#[test]
fn with_nothing_new_no_cycle_starts() {
    let mut arena = arena(1000);
    let mut sleeper = Sleeper::new(policy());
    make_garbage(&arena, 600 << 10);
    wait(&mut sleeper, &mut arena, 100 * MS);
    let started = sleeper.stats().cycles_started;
    for _ in 0..20 {
        wait(&mut sleeper, &mut arena, MS);
    }
    wait(&mut sleeper, &mut arena, 100 * MS);
    assert_eq!(sleeper.stats().cycles_started, started);
}

#[test]
fn steps_beside_a_big_live_heap_are_short() {
    let mut arena = arena(200_000);
    let mut sleeper = Sleeper::new(policy());
    for _ in 0..8 {
        make_garbage(&arena, 2 << 20);
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let writer = std::thread::spawn(move || {
            std::thread::sleep(MS);
            std::io::Write::write_all(&mut theirs, b"x").unwrap();
            theirs
        });
        assert!(
            sleeper
                .wait_fd(&mut arena, ours.as_fd(), Interest::Readable, None)
                .unwrap()
        );
        drop(writer.join().unwrap());
    }
    let stats = sleeper.stats();
    assert!(stats.steps > 20, "{stats:?}");
    // The figures to keep are measured in release builds; this is a debug build on a busy machine.
    assert!(stats.step_overrun.max() < 2_000_000, "{stats:?}");
}

#[test]
fn an_arena_without_idle_work_keeps_its_garbage_until_a_step_is_due() {
    let mut arena = arena(10);
    let mut sleeper = Sleeper::new(Policy {
        switches: Switches::OFF,
        ..policy()
    });
    make_garbage(&arena, 100 << 10);
    let before = arena.hint().allocated_bytes_since_cycle;
    wait(&mut sleeper, &mut arena, 5 * MS);
    assert_eq!(arena.hint().allocated_bytes_since_cycle, before);
    assert_eq!(sleeper.stats().steps, 0);
}

#[test]
fn forced_steps_collect_where_nobody_waits() {
    let mut arena = arena(10);
    let mut sleeper = Sleeper::new(Policy::off());
    let mut most_bytes = 0;
    for _ in 0..2000 {
        make_garbage(&arena, 16 << 10);
        if arena.debt_due() {
            let debt = arena.allocation_debt();
            sleeper.forced_step(&mut arena, Budget::Work(debt));
        }
        most_bytes = most_bytes.max(arena.metrics().heap_bytes());
    }
    assert!(sleeper.stats().forced_steps > 0);
    assert!(most_bytes < 4 << 20, "{most_bytes} of 32 MiB");
}
