//! Waits under an interpreter lock.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::{Duration, Instant};

use crate::recorder::policy;
use parking_lot::{Condvar, Mutex};
use sleepy_gc::collections::{GcStr, GcTail, GcVec};
use sleepy_gc::idle::{
    Bells, Collector, FlockOp, Gil, GilGuard, IdleHint, Interest, Policy, Queue, SendArena,
    Sleeper, StackDepth, Watched,
};
use sleepy_gc::{Budget, CollectionPhase, Progress, Rootable};

const MS: Duration = Duration::from_millis(1);

/// Has work without end; in its fourth step somebody comes to wait for the lock.
#[derive(Default)]
struct Endless {
    steps: u32,
}

static LOCK: LazyLock<Gil<Endless>> = LazyLock::new(|| Gil::new(Endless::default()));
static IN_FOURTH: AtomicBool = AtomicBool::new(false);

impl Collector for Endless {
    fn has_work(&self) -> bool {
        true
    }
    fn wants_cycle(&self, _: &IdleHint) -> bool {
        false
    }
    fn start_cycle(&mut self) {}
    fn step(&mut self, _: Budget) -> Progress {
        self.steps += 1;
        if self.steps == 4 {
            IN_FOURTH.store(true, Ordering::Relaxed);
            while !LOCK.contended() {
                thread::yield_now();
            }
        }
        Progress::new(CollectionPhase::Marking, 1, 0, false)
    }
    fn while_lent<T>(&mut self, _: impl FnOnce() -> T) -> T {
        unreachable!("the lock gives up the lock")
    }
}

#[test]
fn no_step_is_made_while_somebody_waits_for_the_lock() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let other = thread::spawn(move || {
        while !IN_FOURTH.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        let guard = LOCK.lock();
        assert_eq!(guard.steps, 4);
        std::io::Write::write_all(&mut theirs, b"x").unwrap();
        drop(guard);
    });
    let mut guard = LOCK.lock();
    let mut sleeper = Sleeper::new(policy());
    assert!(
        sleeper
            .wait_fd(&mut guard, ours.as_fd(), Interest::Readable, None)
            .unwrap()
    );
    assert_eq!((guard.steps, sleeper.stats().parks), (4, 1));
    drop(guard);
    other.join().unwrap();
}

type Strings = SendArena<Rootable![GcVec<'_, GcStr<'_>>]>;

fn make_garbage(arena: &Strings, bytes: usize) {
    arena.mutate(|mc, _| {
        for _ in 0..bytes / 1024 {
            std::hint::black_box(GcTail::from_slice(mc, (), &[7u8; 1024]));
        }
    });
}

#[test]
fn threads_of_one_arena_collect_for_one_another() {
    let gil = Arc::new(Gil::new(Strings::new(|_| GcVec::new())));
    let threads: Vec<_> = (0..4)
        .map(|n| {
            let gil = Arc::clone(&gil);
            thread::spawn(move || {
                let mut sleeper = Sleeper::new(policy());
                let mut arena = gil.lock();
                let mut most_bytes = 0;
                for turn in 0..30 {
                    make_garbage(&arena, 200 << 10);
                    arena.mutate(|mc, all| all.push(mc, GcStr::new(mc, &format!("{n} {turn}"))));
                    sleeper.sleep(&mut arena, MS);
                    most_bytes = most_bytes.max(arena.heap_bytes());
                }
                most_bytes
            })
        })
        .collect();
    let most_bytes = threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .max();
    // 24 MB of garbage went through.
    assert!(most_bytes < Some(6 << 20), "{most_bytes:?}");
    let mut arena = gil.lock();
    arena.verify().unwrap();
    assert_eq!(arena.mutate(|_, all| all.len()), 120);
}

#[test]
fn the_lock_is_free_while_its_holder_waits() {
    let gil = Gil::new(Strings::new(|_| GcVec::new()));
    let mut sleeper = Sleeper::new(policy());
    let mut off = Sleeper::new(Policy::off());
    for sleeper in [&mut sleeper, &mut off] {
        let mut arena = gil.lock();
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let arena = gil.lock();
                arena.mutate(|mc, all| all.push(mc, GcStr::new(mc, "meanwhile")));
                done.store(true, Ordering::Relaxed);
            });
            let begun = Instant::now();
            while !done.load(Ordering::Relaxed) {
                sleeper.sleep(&mut arena, MS);
                assert!(begun.elapsed() < 20_000 * MS);
            }
        });
    }
    assert_eq!(gil.lock().mutate(|_, all| all.len()), 2);
    assert_eq!(gil.lock().hint().depth, StackDepth::Shallow);
}

/// How often a thread of this process has gone to sleep, and whether it sleeps.
fn sleeps_of(id: i32) -> (u64, bool) {
    let status = std::fs::read_to_string(format!("/proc/self/task/{id}/status")).unwrap();
    let field = |name| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap().trim().to_owned()
    };
    let switches = field("voluntary_ctxt_switches:").parse().unwrap();
    (switches, field("State:").starts_with('S'))
}

/// Does not return before the condition holds.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < 30_000 * MS, "{what}");
        thread::sleep(MS);
    }
}

/// Lets a thread wait for ever, in a way of its own, while another makes garbage and never waits through a sleeper.
fn sleep_beside_a_producer(
    wait: impl FnOnce(&mut Sleeper, &mut GilGuard<'_, Strings>) + Send,
    end: impl FnOnce(),
) {
    /// Ends the wait also where the test fails, which would wait for it otherwise.
    struct End<F: FnOnce()>(Option<F>);

    impl<F: FnOnce()> Drop for End<F> {
        fn drop(&mut self) {
            if let Some(end) = self.0.take() {
                end();
            }
        }
    }

    let gil = Gil::new(Strings::new(|mc| {
        let all = GcVec::new();
        for n in 0..1000 {
            all.push(mc, GcStr::new(mc, &format!("number {n}")));
        }
        all
    }));
    let metrics = gil.lock().metrics().clone();
    thread::scope(|scope| {
        let end = End(Some(end));
        let (id, sleeper_id) = std::sync::mpsc::channel();
        let sleeper = scope.spawn(|| {
            let id = id;
            let mut sleeper = Sleeper::new(policy());
            let mut arena = gil.lock();
            // SAFETY: always sound.
            id.send(unsafe { libc::gettid() }).unwrap();
            wait(&mut sleeper, &mut arena);
            sleeper.stats().clone()
        });
        let id = sleeper_id.recv().unwrap();
        eventually("it sleeps", || gil.try_lock().is_some() && sleeps_of(id).1);

        let mut most_bytes = 0;
        for _ in 0..300 {
            make_garbage(&gil.lock(), 100 << 10);
            most_bytes = most_bytes.max(metrics.heap_bytes());
            thread::sleep(MS / 2);
        }
        // 30 MB were made. What it is at most depends on who ran when; at the end all is gone, without anybody's doing.
        eventually("the heap is small", || metrics.heap_bytes() < 600 << 10);
        assert!(most_bytes < 20 << 20, "{most_bytes}");

        // And then nothing wakes it any more.
        eventually("it sleeps again", || {
            let before = sleeps_of(id);
            thread::sleep(100 * MS);
            before == sleeps_of(id) && before.1
        });
        drop(end);
        let stats = sleeper.join().unwrap();
        assert!(stats.rings > 0 && stats.cycles_started > 0, "{stats:?}");
        assert!(stats.rings < 300, "{stats:?}");
    });
    gil.into_inner().verify().unwrap();
}

#[test]
fn a_thread_that_waits_for_a_descriptor_collects_what_others_leave() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    sleep_beside_a_producer(
        move |sleeper, arena| {
            let ready = sleeper.wait_fd(arena, ours.as_fd(), Interest::Readable, None);
            assert!(ready.unwrap());
        },
        || drop(theirs),
    );
}

#[test]
fn a_thread_that_waits_for_many_collects_what_others_leave() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let (quiet, _end) = UnixStream::pair().unwrap();
    sleep_beside_a_producer(
        move |sleeper, arena| {
            let mut fds =
                [&quiet, &ours].map(|stream| Watched::new(stream.as_fd(), Interest::Readable));
            assert_eq!(sleeper.wait_fds(arena, &mut fds, None).unwrap(), 1);
            assert!(!fds[0].readable && fds[1].readable);
        },
        || drop(theirs),
    );
}

#[test]
fn a_thread_that_polls_collects_what_others_leave() {
    let poller = polling::Poller::new().unwrap();
    sleep_beside_a_producer(
        |sleeper, arena| {
            let mut events = polling::Events::new();
            assert_eq!(sleeper.poll(arena, &poller, &mut events, None).unwrap(), 0);
        },
        || poller.notify().unwrap(),
    );
}

#[test]
fn a_thread_that_waits_for_another_collects_what_others_leave() {
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let other = thread::spawn(move || ended.recv().unwrap_or_default());
    sleep_beside_a_producer(
        |sleeper, arena| assert!(sleeper.join(arena, &other, None)),
        || drop(end),
    );
}

#[test]
fn somebody_collects_for_a_thread_that_waits_for_a_queue() {
    let queue = Queue::<u32>::unbounded();
    sleep_beside_a_producer(
        |sleeper, arena| assert_eq!(sleeper.recv(arena, &queue, None), Ok(7)),
        || queue.try_send(7).unwrap(),
    );
}

#[test]
fn somebody_collects_for_a_thread_that_waits_for_room_in_a_queue() {
    let queue = Queue::bounded(1);
    queue.try_send(6).unwrap();
    sleep_beside_a_producer(
        |sleeper, arena| assert_eq!(sleeper.send(arena, &queue, 7, None), Ok(())),
        || assert_eq!(queue.try_recv(), Ok(6)),
    );
    assert_eq!(queue.try_recv(), Ok(7));
}

#[test]
fn somebody_collects_for_a_thread_that_waits_for_a_mutex() {
    let mutex = Mutex::new(());
    let guard = mutex.lock();
    sleep_beside_a_producer(
        |sleeper, arena| drop(sleeper.lock(arena, &mutex)),
        || drop(guard),
    );
}

#[test]
fn somebody_collects_for_a_thread_that_waits_for_a_condition() {
    let (mutex, condvar) = (Mutex::new(false), Condvar::new());
    sleep_beside_a_producer(
        |sleeper, arena| {
            let mut guard = mutex.lock();
            assert!(sleeper.wait_while(arena, &condvar, &mut guard, |over| !*over, None));
        },
        || {
            *mutex.lock() = true;
            condvar.notify_all();
        },
    );
}

#[test]
fn somebody_collects_for_a_thread_that_waits_for_a_notification() {
    let (mutex, condvar) = (Mutex::new(()), Condvar::new());
    sleep_beside_a_producer(
        |sleeper, arena| {
            let mut guard = mutex.lock();
            assert!(sleeper.wait(arena, &condvar, &mut guard, None));
        },
        || {
            drop(mutex.lock());
            condvar.notify_all();
        },
    );
}

#[test]
fn somebody_collects_for_a_thread_that_waits_for_a_file_lock() {
    let path = std::env::temp_dir().join(format!("sleepy-gil-flock-{}", std::process::id()));
    let [ours, theirs] = [(); 2].map(|()| std::fs::File::create(&path).unwrap());
    std::fs::remove_file(&path).ok();
    let mut nobody = Sleeper::new(Policy::off());
    let mut plain = Strings::new(|_| GcVec::new());
    assert!(
        nobody
            .flock(&mut plain, &theirs, FlockOp::Exclusive, None)
            .unwrap()
    );
    sleep_beside_a_producer(
        |sleeper, arena| {
            let done = sleeper.flock(arena, &ours, FlockOp::Exclusive, None);
            assert!(done.unwrap());
        },
        || {
            assert!(
                nobody
                    .flock(&mut plain, &theirs, FlockOp::Unlock, None)
                    .unwrap()
            );
        },
    );
}

#[test]
fn somebody_collects_for_a_thread_that_waits_in_a_library() {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    sleep_beside_a_producer(
        move |sleeper, arena| {
            let read = || std::io::Read::read(&mut ours, &mut [0]);
            assert_eq!(sleeper.about_to_wait(arena, || false, read).unwrap(), 0);
        },
        || drop(theirs),
    );
}

/// Whoever stands in for a thread is out of the collector before the thread goes on: locks come and go with threads that wait in
/// them, and each is gone at once.
#[test]
fn who_stands_in_for_a_thread_leaves_with_it() {
    for turn in 0..40u32 {
        let gil = Gil::new(Strings::new(|_| GcVec::new()));
        let queue = Queue::unbounded();
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut sleeper = Sleeper::new(policy());
                let mut arena = gil.lock();
                while sleeper.recv(&mut arena, &queue, None).is_ok() {
                    make_garbage(&arena, 1 << 10);
                }
            });
            for n in 0..turn {
                make_garbage(&gil.lock(), 300 << 10);
                if n % 3 == 0 {
                    queue.try_send(n).unwrap();
                }
                std::hint::black_box(n);
            }
            queue.close();
        });
        gil.into_inner().verify().unwrap();
    }
}

#[test]
fn a_cycle_that_a_thread_leaves_half_way_is_finished_by_another() {
    let gil = Gil::new(Strings::new(|_| GcVec::new()));
    let metrics = gil.lock().metrics().clone();
    let (ours, theirs) = UnixStream::pair().unwrap();
    thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            let mut sleeper = Sleeper::new(policy());
            let fd = ours.as_fd();
            let ready = sleeper.wait_fd(&mut gil.lock(), fd, Interest::Readable, None);
            assert!(ready.unwrap());
            sleeper.stats().clone()
        });
        eventually("it has hung its bell", || {
            gil.lock().bells().is_some_and(Bells::any)
        });
        let mut arena = gil.lock();
        make_garbage(&arena, 50 << 10);
        arena.start_cycle();
        drop(arena);
        eventually("the cycle has ended", || metrics.cycles() == 1);
        drop(theirs);
        assert_eq!(sleeper.join().unwrap().cycles_started, 0);
    });
}

/// Threads that hold one lock and want the other, in every way that there is.
#[test]
fn a_mutex_under_the_interpreter_lock_does_not_deadlock() {
    const TURNS: u32 = 300;
    let gil = Gil::new(Strings::new(|_| GcVec::new()));
    let (mutex, turn_over) = (Mutex::new(0u32), Condvar::new());
    thread::scope(|scope| {
        for n in 0..6u32 {
            let (gil, mutex, turn_over) = (&gil, &mutex, &turn_over);
            scope.spawn(move || {
                let mut sleeper = Sleeper::new(policy());
                let mut arena = gil.lock();
                for turn in 0..TURNS {
                    make_garbage(&arena, 4 << 10);
                    let mut guard = sleeper.lock(&mut arena, mutex);
                    if turn % 3 == 0 {
                        // Somebody will; if nobody is left, time passes.
                        let before = *guard;
                        let is_over = sleeper.wait_while(
                            &mut arena,
                            turn_over,
                            &mut guard,
                            |now| *now == before,
                            Some(MS),
                        );
                        assert_eq!(is_over, *guard != before);
                    } else if turn % 7 == n {
                        sleeper.wait(&mut arena, turn_over, &mut guard, Some(MS / 4));
                    }
                    *guard += 1;
                    turn_over.notify_all();
                    drop(guard);
                    if turn % 5 == n {
                        Gil::bump(&mut arena);
                    }
                }
            });
        }
    });
    assert_eq!(mutex.into_inner(), 6 * TURNS);
    gil.into_inner().verify().unwrap();
}

/// Has work without end, and can't be lent at first.
struct Unlendable {
    is_broken: bool,
    works: bool,
    steps: Arc<AtomicU32>,
}

impl Collector for Unlendable {
    fn has_work(&self) -> bool {
        self.works
    }
    fn wants_cycle(&self, _: &IdleHint) -> bool {
        false
    }
    fn start_cycle(&mut self) {}
    fn step(&mut self, _: Budget) -> Progress {
        self.steps.fetch_add(1, Ordering::Relaxed);
        Progress::new(CollectionPhase::Marking, 1, 0, false)
    }
    fn while_lent<T>(&mut self, _: impl FnOnce() -> T) -> T {
        unreachable!("the lock lends")
    }
    fn lend(&mut self) {
        assert!(!self.is_broken, "told to");
    }
}

#[test]
fn nobody_stands_in_for_a_thread_whose_wait_has_panicked() {
    let steps = Arc::new(AtomicU32::new(0));
    let gil = Gil::new(Unlendable {
        is_broken: true,
        works: false,
        steps: Arc::clone(&steps),
    });
    let queue = Queue::<u32>::unbounded();
    let mut guard = gil.lock();
    let waits = catch_unwind(AssertUnwindSafe(|| {
        let _ = Sleeper::new(policy()).recv(&mut guard, &queue, Some(10 * MS));
    }));
    assert!(waits.is_err());
    (guard.is_broken, guard.works) = (false, true);
    // Whoever rings here has a helper collect, which uses a lock that may be gone by then.
    drop(guard);
    thread::sleep(50 * MS);
    drop(gil);
    assert_eq!(steps.load(Ordering::Relaxed), 0);
}

/// For the thread sanitiser: what a shared guard does must not depend on the lock.
#[test]
fn threads_may_share_a_guard_and_ask_it_for_the_bells() {
    let gil = Gil::new(Endless::default());
    let guard = gil.lock();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert!(guard.bells().is_some_and(|bells| !bells.any())));
        }
    });
}
