//! Cycles that waits start, and the silence after them.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use crate::recorder::{Call, Recorder, policy};
use sleepy_gc::idle::{Interest, Policy, Sleeper, Switches};

const MS: Duration = Duration::from_millis(1);

/// A collector with this much allocated since its last cycle.
fn allocated(bytes: usize) -> Recorder {
    Recorder {
        allocated_bytes: bytes,
        live_bytes: 300 << 10,
        cycle_steps: 4,
        freed_a_step: bytes / 4,
        ..Recorder::default()
    }
}

const CYCLE: [Call; 7] = [
    Call::Start,
    Call::Step,
    Call::Step,
    Call::Step,
    Call::Step,
    Call::Lend,
    Call::TakeBack,
];

fn wait_10_ms(sleeper: &mut Sleeper, c: &mut Recorder) {
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let ready = sleeper
        .wait_fd(c, ours.as_fd(), Interest::Readable, Some(10 * MS))
        .unwrap();
    assert!(!ready);
}

#[test]
fn enough_garbage_starts_a_cycle_before_the_heap_is_lent() {
    let mut sleeper = Sleeper::new(policy());
    let mut c = allocated(384 << 10);
    wait_10_ms(&mut sleeper, &mut c);
    assert_eq!(c.calls(), CYCLE);
    assert_eq!(sleeper.stats().cycles_started, 1);
    assert!(sleeper.stats().freed_bytes > 0);
}

#[test]
fn little_garbage_is_left_in_short_waits() {
    let mut sleeper = Sleeper::new(policy());
    let mut c = allocated(100 << 10);
    wait_10_ms(&mut sleeper, &mut c);
    assert_eq!(c.calls(), [Call::Lend, Call::TakeBack]);
}

#[test]
fn a_sleep_known_to_be_long_collects_first() {
    let mut sleeper = Sleeper::new(policy());
    let mut c = allocated(100 << 10);
    sleeper.sleep(&mut c, 60 * MS);
    assert_eq!(c.calls(), CYCLE);
}

#[test]
fn a_wait_that_turns_out_long_is_woken_once_to_collect() {
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let mut sleeper = Sleeper::new(policy());
    let mut c = allocated(100 << 10);
    let begun = Instant::now();
    let ready = sleeper
        .wait_fd(&mut c, ours.as_fd(), Interest::Readable, Some(200 * MS))
        .unwrap();
    assert!(!ready && begun.elapsed() >= 200 * MS);
    let mut expected = vec![Call::Lend, Call::TakeBack];
    expected.extend(CYCLE);
    assert_eq!(c.calls(), expected);
}

#[test]
fn with_nothing_to_win_nothing_wakes() {
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let mut sleeper = Sleeper::new(policy());
    for bytes in [0, 8 << 10] {
        let mut c = allocated(bytes);
        sleeper
            .wait_fd(&mut c, ours.as_fd(), Interest::Readable, Some(150 * MS))
            .unwrap();
        assert_eq!(c.calls(), [Call::Lend, Call::TakeBack]);
    }
}

#[test]
fn a_collector_that_always_wants_and_never_frees_is_soon_left_alone() {
    let mut sleeper = Sleeper::new(policy());
    let mut c = Recorder {
        cycle_steps: 3,
        ..Recorder::default()
    };
    for _ in 0..100 {
        sleeper.sleep(&mut c, MS / 10);
    }
    assert!(
        (1..=7).contains(&c.count(Call::Start)),
        "{}",
        c.count(Call::Start)
    );
}

#[test]
fn a_collector_whose_steps_do_nothing_is_left_alone() {
    struct Stale(u32);
    impl sleepy_gc::idle::Collector for Stale {
        fn has_work(&self) -> bool {
            true
        }
        fn wants_cycle(&self, _: &sleepy_gc::idle::IdleHint) -> bool {
            true
        }
        fn start_cycle(&mut self) {}
        fn step(&mut self, _: sleepy_gc::Budget) -> sleepy_gc::Progress {
            self.0 += 1;
            sleepy_gc::Progress::new(sleepy_gc::CollectionPhase::Marking, 0, 0, false)
        }
        fn while_lent<T>(&mut self, block: impl FnOnce() -> T) -> T {
            block()
        }
    }
    let mut sleeper = Sleeper::new(policy());
    let mut c = Stale(0);
    sleeper.sleep(&mut c, 300 * MS);
    assert_eq!(c.0, 1000);
}

#[test]
fn without_the_start_switch_only_a_cycle_under_way_goes_on() {
    let mut sleeper = Sleeper::new(Policy {
        switches: Switches {
            start: false,
            ..Switches::ON
        },
        ..policy()
    });
    let mut c = allocated(64 << 20);
    sleeper.sleep(&mut c, 60 * MS);
    assert_eq!(c.calls(), [Call::Lend, Call::TakeBack]);
}

#[test]
fn steps_fit_into_what_is_left() {
    let mut sleeper = Sleeper::new(policy());
    let mut c = Recorder::working(u32::MAX);
    c.in_step = Some(Box::new(|_| crate::recorder::spin(MS / 20)));
    sleeper.sleep(&mut c, 2 * MS);
    let longest = c.budgets.iter().max().unwrap();
    assert_eq!(*longest, Duration::from_micros(100));
    let last = c.budgets.last().unwrap();
    assert!(*last <= Duration::from_micros(100) && c.count(Call::Step) >= 2);
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let mut c = Recorder::working(20);
    sleeper
        .wait_fd(&mut c, ours.as_fd(), Interest::Readable, Some(5 * MS))
        .unwrap();
    assert!(c.budgets.iter().all(|&b| b == Policy::default().step));
}

#[test]
fn forced_steps_are_counted_apart() {
    let mut sleeper = Sleeper::new(policy());
    let mut c = Recorder::working(4);
    sleeper.forced_step(&mut c, sleepy_gc::Budget::Work(1 << 10));
    sleeper.sleep(&mut c, MS);
    let stats = sleeper.stats();
    assert_eq!((stats.forced_steps, stats.steps), (1, 3));
    assert!(stats.idle_share() > 0.0 && stats.idle_share() < 1.0);
}

#[test]
fn what_the_policy_knows_can_be_printed() {
    let mut sleeper = Sleeper::new(policy());
    let mut c = allocated(64 << 20);
    wait_10_ms(&mut sleeper, &mut c);
    let text = sleeper.to_string();
    for part in [
        "may sweep true, mark true, start true, park true",
        "last full cycle ",
        "unproductive in a row ",
        "a young cycle starts after ",
        "FdReadable ",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}
