//! Every kind of wait in every situation: what is asked of the collector, in which order.
//!
//! | situation | test |
//! |---|---|
//! | ready at once | `ready_at_once_…`, `a_timeout_that_passes_at_once_…`, `a_zero_timeout_…` |
//! | ready during a step | `after_the_event_no_step_runs` |
//! | timeout during a step | `a_timeout_in_a_step_…`, `the_timeout_is_what_is_left_…` |
//! | EINTR | `signals_do_not_end_a_wait`, `signals_do_not_shorten_or_lengthen_a_timeout` |
//! | contended lock | `a_contended_lock_is_given_up_…` |
//! | nothing to collect | `with_nothing_to_collect_…` |
//! | collector finished half-way | `a_collector_that_finishes_is_lent`, `work_that_another_thread_has_done_…` |
//! | event from another thread | `an_event_from_another_thread_ends_the_steps` |
//! | wait for ever | `a_wait_for_ever_is_woken_by_its_event_only`; `gil.rs`: each kind beside a thread that makes garbage |
//!
//! Each runs for each kind in `waits.rs`, by itself and behind an interpreter lock. A sleep, which has no event, a notification, which can't
//! be looked for, and waits in two halves are in `kinds.rs`, `start.rs` and `c_waits.rs`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use crate::recorder::{Call, Recorder, Subject, policy, spin};
use crate::waits::{Trigger, Waiting, all};
use sleepy_gc::idle::{GilGuard, Policy, Sleeper, Switches};

const MS: Duration = Duration::from_millis(1);

/// How a recorder is given to a wait.
type Put = fn(Recorder) -> Subject;

/// Checks each kind of wait, with the collector by itself and behind an interpreter lock.
fn for_all(mut check: impl FnMut(&mut dyn Waiting, &mut Sleeper, Put)) {
    for put in [Subject::Plain as Put, Subject::locked] {
        for mut waiting in all() {
            let mut sleeper = Sleeper::new(policy());
            check(&mut *waiting, &mut sleeper, put);
        }
    }
}

/// As [`for_all`], less the waits that take no timeout.
fn for_all_with_timeout(mut check: impl FnMut(&mut dyn Waiting, &mut Sleeper, Put)) {
    for_all(|waiting, sleeper, put| {
        if !["lock", "about_to_wait"].contains(&waiting.name()) {
            check(waiting, sleeper, put);
        }
    });
}

fn after(delay: Duration, trigger: Trigger) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        thread::sleep(delay);
        trigger();
    })
}

/// Has the event come a little after the heap was lent: however late this thread gets to its wait, the steps are made.
fn once_lent(c: &mut Recorder, trigger: Trigger) {
    let mut trigger = Some(trigger);
    c.when_lent = Some(Box::new(move || {
        if let Some(trigger) = trigger.take() {
            drop(after(5 * MS, trigger));
        }
    }));
}

/// Has the event come a little after step number `nth` (from 0) has begun.
fn once_in_step(c: &mut Recorder, nth: u32, trigger: Trigger) {
    let mut trigger = Some(trigger);
    c.in_step = Some(Box::new(move |made| {
        spin(Duration::from_micros(50));
        if made == nth
            && let Some(trigger) = trigger.take()
        {
            drop(after(5 * MS, trigger));
        }
    }));
}

#[test]
fn ready_at_once_starts_steps_and_lends_nothing() {
    for_all(|waiting, sleeper, put| {
        let mut c = put(Recorder::working(100));
        c.allocated_bytes = 1 << 30;
        waiting.trigger()();
        assert!(waiting.wait(sleeper, &mut c, None), "{}", waiting.name());
        assert_eq!(c.calls(), [], "{}", waiting.name());
    });
}

/// Where a look costs no system call, also a lock that others want is kept.
#[test]
fn ready_at_once_keeps_the_lock() {
    for policy in [policy(), Policy::off()] {
        for mut waiting in all() {
            if !["join", "lock", "recv", "send"].contains(&waiting.name()) {
                continue;
            }
            let mut sleeper = Sleeper::new(policy.clone());
            let mut c = Subject::locked(Recorder::default());
            let Subject::Locked(guard) = &c else {
                unreachable!("it is locked");
            };
            let gil = GilGuard::gil(guard);
            let got_it = Arc::new(AtomicBool::new(false));
            let has_it = Arc::clone(&got_it);
            let other = thread::spawn(move || {
                let _guard = gil.lock();
                has_it.store(true, Ordering::Relaxed);
            });
            while !gil.contended() {
                thread::yield_now();
            }
            waiting.trigger()();
            assert!(waiting.wait(&mut sleeper, &mut c, None));
            assert!(!got_it.load(Ordering::Relaxed), "{}", waiting.name());
            drop(c);
            other.join().unwrap();
        }
    }
}

#[test]
fn a_timeout_that_passes_at_once_hides_no_event() {
    for steps in [0, 100] {
        for_all_with_timeout(|waiting, sleeper, put| {
            let mut c = put(Recorder::working(steps));
            waiting.trigger()();
            assert!(
                waiting.wait(sleeper, &mut c, Some(Duration::from_nanos(1))),
                "{}",
                waiting.name()
            );
            assert_eq!(c.calls(), [], "{}", waiting.name());
        });
    }
}

#[test]
fn after_the_event_no_step_runs() {
    for_all(|waiting, sleeper, put| {
        let mut c = put(Recorder::working(100));
        let mut trigger = Some(waiting.trigger());
        c.in_step = Some(Box::new(move |made| {
            if made == 3 {
                trigger.take().unwrap()();
            }
        }));
        assert!(waiting.wait(sleeper, &mut c, None), "{}", waiting.name());
        assert_eq!(c.calls(), [Call::Step; 4], "{}", waiting.name());
        assert_eq!(sleeper.stats().steps, 4);
        assert_eq!(sleeper.stats().step_overrun.count(), 1);
    });
}

#[test]
fn a_timeout_in_a_step_ends_the_wait() {
    for_all_with_timeout(|waiting, sleeper, put| {
        let mut c = put(Recorder::working(100));
        c.in_step = Some(Box::new(|made| {
            if made == 2 {
                spin(150 * MS);
            }
        }));
        assert!(
            !waiting.wait(sleeper, &mut c, Some(100 * MS)),
            "{}",
            waiting.name()
        );
        assert_eq!(c.calls(), [Call::Step; 3], "{}", waiting.name());
        let overrun = &sleeper.stats().step_overrun;
        assert_eq!(overrun.count(), 1);
        assert!(overrun.max() < 151_000_000, "{overrun:?}");
    });
}

#[test]
fn the_timeout_is_what_is_left_after_steps() {
    for_all_with_timeout(|waiting, sleeper, put| {
        let mut c = put(Recorder::working(3));
        c.in_step = Some(Box::new(|_| spin(60 * MS)));
        let lent_at = Arc::new(OnceLock::new());
        let first_lent = Arc::clone(&lent_at);
        c.when_lent = Some(Box::new(move || {
            first_lent.get_or_init(Instant::now);
        }));
        let begun = Instant::now();
        assert!(!waiting.wait(sleeper, &mut c, Some(360 * MS)));
        let blocked = lent_at.get().unwrap().elapsed();
        assert!(begun.elapsed() >= 360 * MS, "{}", waiting.name());
        assert!(blocked < 300 * MS, "{} {blocked:?}", waiting.name());
        assert_eq!(
            c.calls()[..4],
            [Call::Step, Call::Step, Call::Step, Call::Lend]
        );
    });
}

#[test]
fn with_nothing_to_collect_the_heap_is_lent_at_once() {
    for_all(|waiting, sleeper, put| {
        let mut c = put(Recorder::default());
        once_lent(&mut c, waiting.trigger());
        assert!(waiting.wait(sleeper, &mut c, None), "{}", waiting.name());
        assert_eq!(
            c.calls(),
            [Call::Lend, Call::TakeBack],
            "{}",
            waiting.name()
        );
        assert_eq!(sleeper.stats().parks, 1);
    });
}

#[test]
fn a_wait_for_ever_is_woken_by_its_event_only() {
    for_all(|waiting, sleeper, put| {
        let mut c = put(Recorder {
            // Something is alive and something was allocated, and no cycle is worth it.
            allocated_bytes: 1 << 10,
            live_bytes: 1 << 20,
            cycle_steps: 3,
            ..Recorder::default()
        });
        let mut trigger = Some(waiting.trigger());
        c.when_lent = Some(Box::new(move || {
            if let Some(trigger) = trigger.take() {
                // Longer than what counts as a long wait.
                drop(after(120 * MS, trigger));
            }
        }));
        assert!(waiting.wait(sleeper, &mut c, None), "{}", waiting.name());
        assert_eq!(
            c.calls(),
            [Call::Lend, Call::TakeBack],
            "{}",
            waiting.name()
        );
    });
}

#[test]
fn a_collector_that_finishes_is_lent() {
    for_all(|waiting, sleeper, put| {
        let mut c = put(Recorder::working(5));
        once_lent(&mut c, waiting.trigger());
        assert!(waiting.wait(sleeper, &mut c, None), "{}", waiting.name());
        let mut expected = vec![Call::Step; 5];
        expected.extend([Call::Lend, Call::TakeBack]);
        assert_eq!(c.calls(), expected, "{}", waiting.name());
    });
}

#[test]
fn work_that_another_thread_has_done_is_not_missed() {
    for_all(|waiting, sleeper, put| {
        let mut c = put(Recorder::working(100));
        let done = Arc::clone(&c.done_by_another);
        c.in_step = Some(Box::new(move |made| {
            done.store(made == 2, Ordering::Relaxed)
        }));
        once_lent(&mut c, waiting.trigger());
        assert!(waiting.wait(sleeper, &mut c, None), "{}", waiting.name());
        let mut expected = vec![Call::Step; 3];
        expected.extend([Call::Lend, Call::TakeBack]);
        assert_eq!(c.calls(), expected, "{}", waiting.name());
    });
}

#[test]
fn an_event_from_another_thread_ends_the_steps() {
    for_all(|waiting, sleeper, put| {
        let mut c = put(Recorder::working(u32::MAX));
        once_in_step(&mut c, 3, waiting.trigger());
        assert!(waiting.wait(sleeper, &mut c, None), "{}", waiting.name());
        assert_eq!(c.count(Call::Lend), 0, "{}", waiting.name());
        assert!(c.count(Call::Step) > 0, "{}", waiting.name());
        assert_eq!(sleeper.stats().step_overrun.count(), 1);
    });
}

#[test]
fn a_contended_lock_is_given_up_and_not_collected_under() {
    for_all(|waiting, sleeper, put| {
        let mut c = put(Recorder::working(100));
        c.contended = true;
        let trigger = waiting.trigger();
        let event = match &c {
            Subject::Plain(_) => after(5 * MS, trigger),
            Subject::Locked(guard) => wait_behind(guard, trigger),
        };
        assert!(waiting.wait(sleeper, &mut c, None), "{}", waiting.name());
        assert_eq!(c.count(Call::Step), 0, "{}", waiting.name());
        assert_eq!(c.count(Call::Lend), c.count(Call::TakeBack));
        event.join().unwrap();
    });
}

/// Another thread that waits for the lock, does so when this returns, and has the event happen while it has the lock. It gives it
/// up for good once it is wanted again: by the wait, which is over.
fn wait_behind(guard: &GilGuard<'static, Recorder>, trigger: Trigger) -> thread::JoinHandle<()> {
    let gil = GilGuard::gil(guard);
    let other = thread::spawn(move || {
        let guard = gil.lock();
        // A thread of its own: it may wait for what the wait has got.
        let event = after(5 * MS, trigger);
        while !gil.contended() {
            thread::yield_now();
        }
        drop(guard);
        event.join().unwrap();
    });
    while !gil.contended() {
        thread::yield_now();
    }
    other
}

#[test]
fn a_zero_timeout_looks_and_does_nothing_else() {
    for_all_with_timeout(|waiting, sleeper, put| {
        let mut c = put(Recorder::working(100));
        assert!(!waiting.wait(sleeper, &mut c, Some(Duration::ZERO)));
        assert_eq!(c.calls(), [], "{}", waiting.name());
        waiting.trigger()();
        assert!(waiting.wait(sleeper, &mut c, Some(Duration::ZERO)));
        assert_eq!(c.calls(), [], "{}", waiting.name());
    });
}

#[test]
fn with_all_switches_off_a_wait_is_plain() {
    for_all(|waiting, _, put| {
        let mut sleeper = Sleeper::new(Policy::off());
        let mut c = put(Recorder::working(100));
        let event = after(5 * MS, waiting.trigger());
        assert!(
            waiting.wait(&mut sleeper, &mut c, None),
            "{}",
            waiting.name()
        );
        assert_eq!(c.calls(), [], "{}", waiting.name());
        let stats = sleeper.stats();
        assert_eq!((stats.probes, stats.steps, stats.parks), (0, 0, 0));
        event.join().unwrap();
    });
}

#[test]
fn signals_do_not_end_a_wait() {
    signals::ignore_with_handler();
    for_all(|waiting, sleeper, put| {
        let mut c = put(Recorder::working(2));
        let me = signals::this_thread();
        let trigger = waiting.trigger();
        let event = thread::spawn(move || {
            for _ in 0..5 {
                thread::sleep(2 * MS);
                signals::interrupt(me);
            }
            trigger();
        });
        let begun = Instant::now();
        assert!(waiting.wait(sleeper, &mut c, None), "{}", waiting.name());
        assert!(begun.elapsed() >= 10 * MS, "{}", waiting.name());
        assert_eq!(c.count(Call::Step), 2, "{}", waiting.name());
        assert_eq!(c.count(Call::Lend), c.count(Call::TakeBack));
        event.join().unwrap();
    });
}

#[test]
fn signals_do_not_shorten_or_lengthen_a_timeout() {
    signals::ignore_with_handler();
    for_all_with_timeout(|waiting, sleeper, put| {
        let mut c = put(Recorder::default());
        let me = signals::this_thread();
        let signals = thread::spawn(move || {
            for _ in 0..20 {
                thread::sleep(9 * MS);
                signals::interrupt(me);
            }
        });
        let begun = Instant::now();
        assert!(!waiting.wait(sleeper, &mut c, Some(200 * MS)));
        let took = begun.elapsed();
        assert!(
            took >= 200 * MS && took < 360 * MS,
            "{} {took:?}",
            waiting.name()
        );
        signals.join().unwrap();
    });
}

#[test]
fn each_switch_forbids_its_part() {
    use sleepy_gc::CollectionPhase::{Marking, Sweeping};
    let cases = [
        (
            Switches {
                mark: false,
                ..Switches::ON
            },
            Some(Marking),
            0,
            1,
        ),
        (
            Switches {
                mark: false,
                ..Switches::ON
            },
            Some(Sweeping),
            3,
            1,
        ),
        (
            Switches {
                sweep: false,
                ..Switches::ON
            },
            Some(Sweeping),
            0,
            1,
        ),
        (
            Switches {
                sweep: false,
                ..Switches::ON
            },
            Some(Marking),
            3,
            1,
        ),
        (
            Switches {
                park: false,
                ..Switches::ON
            },
            Some(Marking),
            3,
            0,
        ),
        (
            Switches {
                start: false,
                ..Switches::ON
            },
            Some(Marking),
            3,
            1,
        ),
    ];
    for (switches, phase, steps, lends) in cases {
        for_all(|waiting, _, put| {
            let mut sleeper = Sleeper::new(Policy {
                switches,
                ..policy()
            });
            let mut c = put(Recorder::working(3));
            c.phase = phase;
            match lends {
                0 => once_in_step(&mut c, 2, waiting.trigger()),
                _ => once_lent(&mut c, waiting.trigger()),
            }
            assert!(waiting.wait(&mut sleeper, &mut c, None));
            assert_eq!(
                c.count(Call::Step),
                steps,
                "{} {switches:?}",
                waiting.name()
            );
            assert_eq!(
                c.count(Call::Lend),
                lends,
                "{} {switches:?}",
                waiting.name()
            );
        });
    }
}

/// All sixteen settings, in both phases and between cycles.
#[test]
fn switches_work_alone_and_together() {
    use sleepy_gc::CollectionPhase::{Marking, Sleeping, Sweeping};
    for bits in 0..16 {
        let [sweep, mark, start, park] = [1, 2, 4, 8].map(|bit| bits & bit != 0);
        let switches = Switches {
            sweep,
            mark,
            start,
            park,
        };
        for phase in [Marking, Sweeping, Sleeping] {
            let mut sleeper = Sleeper::new(Policy {
                switches,
                ..policy()
            });
            let mut c = match phase {
                Sleeping => Recorder {
                    cycle_steps: 3,
                    allocated_bytes: 1 << 30,
                    ..Recorder::default()
                },
                _ => Recorder::working(3),
            };
            c.phase = Some(if phase == Sleeping { Marking } else { phase });
            sleeper.sleep(&mut c, MS);
            let starts = phase == Sleeping && start && mark;
            let steps = match phase {
                Sleeping => starts,
                Sweeping => sweep,
                _ => mark,
            };
            let note = format!("{switches:?} {phase:?}");
            assert_eq!(c.count(Call::Start), usize::from(starts), "{note}");
            assert_eq!(c.count(Call::Step) > 0, steps, "{note}");
            assert_eq!(c.count(Call::Lend) > 0, park, "{note}");
        }
    }
}

mod signals {
    //! A signal whose handler does nothing, and which interrupts system calls.

    pub fn ignore_with_handler() {
        extern "C" fn handler(_: libc::c_int) {}
        // SAFETY: an all-zero `sigaction` is valid; the handler does nothing at all.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as *const () as usize;
            assert_eq!(
                libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()),
                0
            );
        }
    }

    pub fn this_thread() -> libc::pthread_t {
        // SAFETY: always sound.
        unsafe { libc::pthread_self() }
    }

    pub fn interrupt(thread: libc::pthread_t) {
        // SAFETY: the thread that is signalled joins the one that signals before it ends.
        assert_eq!(unsafe { libc::pthread_kill(thread, libc::SIGUSR1) }, 0);
    }
}
