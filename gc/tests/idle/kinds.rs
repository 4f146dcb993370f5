//! What is particular to single kinds of wait.

use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::recorder::{Call, Recorder, policy};
use parking_lot::{Condvar, Mutex};
use polling::{Events, Poller};
use sleepy_gc::idle::{FlockOp, Interest, Policy, Queue, RecvError, SendError, Sleeper};

const MS: Duration = Duration::from_millis(1);

fn sleeper() -> Sleeper {
    Sleeper::new(policy())
}

#[test]
fn a_notification_of_the_poller_ends_the_wait_even_while_stepping() {
    let poller = Arc::new(Poller::new().unwrap());
    for steps in [0, u32::MAX] {
        let mut c = Recorder::working(steps);
        let notifier = Arc::clone(&poller);
        let thread = thread::spawn(move || {
            thread::sleep(10 * MS);
            notifier.notify().unwrap();
        });
        let mut events = Events::new();
        let count = sleeper().poll(&mut c, &poller, &mut events, None).unwrap();
        assert_eq!(count, 0);
        thread.join().unwrap();
    }
}

#[test]
fn a_notification_before_the_wait_is_not_lost() {
    let poller = Poller::new().unwrap();
    poller.notify().unwrap();
    let mut c = Recorder::working(10);
    let count = sleeper()
        .poll(&mut c, &poller, &mut Events::new(), None)
        .unwrap();
    assert_eq!((count, c.calls()), (0, vec![]));
}

#[test]
fn a_closed_peer_is_readable_and_a_full_one_not_writable() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut c = Recorder::default();
    let mut wait = |interest, timeout| {
        sleeper()
            .wait_fd(&mut c, ours.as_fd(), interest, Some(timeout))
            .unwrap()
    };
    assert!(wait(Interest::Writable, MS));
    assert!(wait(Interest::Both, MS));
    assert!(!wait(Interest::Readable, MS));
    drop(theirs);
    // Not at once: a child that another test starts holds a copy until it runs its program.
    assert!(wait(Interest::Readable, Duration::from_secs(10)));
}

#[test]
fn a_listener_is_readable_when_somebody_connects() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let client = thread::spawn(move || std::net::TcpStream::connect(address).unwrap());
    let mut c = Recorder::working(1000);
    assert!(
        sleeper()
            .wait_fd(&mut c, listener.as_fd(), Interest::Readable, None)
            .unwrap()
    );
    client.join().unwrap();
}

#[test]
fn a_descriptor_that_is_not_open_is_an_error() {
    // SAFETY: far above any limit on open files, so it belongs to nobody; nothing is done with it
    // but a `poll` that is expected to fail.
    let fd = unsafe { BorrowedFd::borrow_raw(i32::MAX - 1) };
    let mut c = Recorder::working(5);
    let error = sleeper()
        .wait_fd(&mut c, fd, Interest::Readable, None)
        .unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EBADF));
    assert_eq!(c.calls(), []);
}

#[test]
fn a_sleep_is_never_short_and_a_huge_timeout_is_no_error() {
    let mut c = Recorder::working(2);
    let begun = Instant::now();
    sleeper().sleep(&mut c, 3 * MS);
    assert!(begun.elapsed() >= 3 * MS);
    sleeper().sleep(&mut c, Duration::ZERO);
    let (ours, theirs) = UnixStream::pair().unwrap();
    let closer = thread::spawn(move || {
        thread::sleep(5 * MS);
        drop(theirs);
    });
    assert!(
        sleeper()
            .wait_fd(
                &mut c,
                ours.as_fd(),
                Interest::Readable,
                Some(Duration::MAX)
            )
            .unwrap()
    );
    closer.join().unwrap();
}

#[test]
fn a_foreign_wait_collects_until_it_is_ready() {
    let mut c = Recorder::working(100);
    let mut looks = 0;
    let value = sleeper().about_to_wait(
        &mut c,
        || {
            looks += 1;
            looks == 4
        },
        || "rows",
    );
    assert_eq!((value, c.calls()), ("rows", vec![Call::Step; 3]));
    let mut c = Recorder::working(2);
    assert_eq!(sleeper().about_to_wait(&mut c, || false, || 5), 5);
    let expected = [Call::Step, Call::Step, Call::Lend, Call::TakeBack];
    assert_eq!(c.calls(), expected);
}

#[test]
fn a_wait_in_two_halves_collects_lends_and_takes_back() {
    let mut c = Recorder::working(3);
    let mut sleeper = sleeper();
    assert!(!sleeper.wait_begins(&mut c, || false));
    let steps = [Call::Step; 3];
    assert_eq!(c.calls(), [&steps[..], &[Call::Lend]].concat());
    sleeper.wait_ends(&mut c);
    assert_eq!(
        c.calls(),
        [&steps[..], &[Call::Lend, Call::TakeBack]].concat()
    );

    // What comes in the middle of the steps ends them, and nothing is lent.
    let mut c = Recorder::working(100);
    let mut looks = 0;
    let is_there = sleeper.wait_begins(&mut c, || {
        looks += 1;
        looks == 3
    });
    assert!(is_there);
    assert_eq!(c.calls(), [Call::Step; 2]);

    // Contended: no step. Off: nothing at all.
    let mut c = Recorder::working(100);
    c.contended = true;
    assert!(!sleeper.wait_begins(&mut c, || false));
    assert_eq!(c.calls(), [Call::Lend]);
    let mut c = Recorder::working(100);
    let mut off = Sleeper::new(Policy::off());
    assert!(!off.wait_begins(&mut c, || true));
    assert_eq!(c.calls(), []);
}

#[test]
fn a_notified_condition_variable_makes_one_step_at_most() {
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let theirs = Arc::clone(&pair);
    let mut c = Recorder::working(100);
    let mut guard = pair.0.lock();
    let notifier = thread::spawn(move || {
        *theirs.0.lock() = true;
        theirs.1.notify_one();
    });
    while !*guard {
        assert!(sleeper().wait(&mut c, &pair.1, &mut guard, None));
    }
    assert!(c.count(Call::Step) <= 1);
    notifier.join().unwrap();
    let begun = Instant::now();
    assert!(!sleeper().wait(&mut c, &pair.1, &mut guard, Some(10 * MS)));
    assert!(begun.elapsed() >= 10 * MS);
}

#[test]
fn a_condition_that_panics_leaves_the_mutex_to_its_guard() {
    let pair = (Mutex::new(1), Condvar::new());
    let mut c = Recorder::default();
    let mut guard = pair.0.lock();
    let mut looks = 0;
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let panics = |_: &mut i32| {
            looks += 1;
            match looks {
                1 => true,
                _ => std::panic::resume_unwind(Box::new("in the condition")),
            }
        };
        sleeper().wait_while(&mut c, &pair.1, &mut guard, panics, None)
    }));
    assert!(caught.is_err() && pair.0.is_locked());
    *guard = 2;
    drop(guard);
    assert_eq!(*pair.0.try_lock().unwrap(), 2);
}

#[test]
fn a_closed_queue_ends_both_kinds_of_wait() {
    let mut c = Recorder::working(3);
    let queue = Arc::new(Queue::bounded(1));
    let theirs = Arc::clone(&queue);
    let closer = thread::spawn(move || {
        thread::sleep(10 * MS);
        theirs.close();
    });
    assert_eq!(sleeper().send(&mut c, &queue, 1, None), Ok(()));
    assert_eq!(
        sleeper().send(&mut c, &queue, 2, None),
        Err(SendError::Closed(2))
    );
    assert_eq!(sleeper().recv(&mut c, &queue, None), Ok(1));
    assert_eq!(sleeper().recv(&mut c, &queue, None), Err(RecvError::Closed));
    assert_eq!(
        sleeper().recv(&mut c, &Queue::<u8>::unbounded(), Some(MS)),
        Err(RecvError::Timeout)
    );
    closer.join().unwrap();
}

#[test]
fn a_queue_hands_over_everything_in_order() {
    let queue = Arc::new(Queue::bounded(4));
    let theirs = Arc::clone(&queue);
    let producer = thread::spawn(move || {
        let mut c = Recorder::working(u32::MAX);
        let mut sleeper = sleeper();
        for n in 0..2000 {
            sleeper.send(&mut c, &theirs, n, None).unwrap();
        }
        theirs.close();
    });
    let mut c = Recorder::working(100);
    let mut sleeper = sleeper();
    let mut next = 0;
    while let Ok(n) = sleeper.recv(&mut c, &queue, None) {
        assert_eq!(n, next);
        next += 1;
    }
    assert_eq!(next, 2000);
    producer.join().unwrap();
}

#[test]
fn unlocking_a_file_never_waits() {
    let path = std::env::temp_dir().join(format!("sleepy-unlock-{}", std::process::id()));
    let file = std::fs::File::create(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let mut c = Recorder::working(3);
    for how in [FlockOp::Shared, FlockOp::Exclusive, FlockOp::Unlock] {
        assert!(sleeper().flock(&mut c, &file, how, None).unwrap());
    }
    assert_eq!(c.calls(), []);
}

#[test]
fn ranges_of_a_file_are_locked_each_by_itself() {
    let path = std::env::temp_dir().join(format!("sleepy-ranges-{}", std::process::id()));
    let open = || {
        std::fs::File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .unwrap()
    };
    let (one, other) = (open(), open());
    std::fs::remove_file(&path).unwrap();
    let mut c = Recorder::default();
    let mut lock = |file, how, range: std::ops::Range<u64>| {
        sleeper()
            .fcntl_lock(&mut c, file, how, range, Some(5 * MS))
            .unwrap()
    };
    assert!(lock(&one, FlockOp::Exclusive, 0..10));
    assert!(lock(&other, FlockOp::Exclusive, 10..20));
    assert!(!lock(&other, FlockOp::Shared, 5..12));
    assert!(lock(&one, FlockOp::Shared, 0..10));
    assert!(lock(&other, FlockOp::Shared, 5..10));
    assert!(!lock(&one, FlockOp::Exclusive, 0..10));
    assert!(lock(&other, FlockOp::Unlock, 0..10));
    assert!(lock(&one, FlockOp::Exclusive, 0..10));

    let mut fails = |file: &std::fs::File, range: std::ops::Range<u64>| {
        let done = sleeper().fcntl_lock(&mut c, file, FlockOp::Exclusive, range, None);
        done.unwrap_err().raw_os_error()
    };
    assert_eq!(fails(&one, 3..3), Some(libc::EINVAL));
    let readable = std::fs::File::open("/proc/self/exe").unwrap();
    assert_eq!(fails(&readable, 0..1), Some(libc::EBADF));
}

#[test]
fn joining_a_thread_wakes_up_for_its_end_only() {
    let mut c = Recorder::default();
    let handle = thread::spawn(|| thread::sleep(60 * MS));
    assert!(!sleeper().join(&mut c, &handle, Some(5 * MS)));
    assert!(sleeper().join(&mut c, &handle, None));
    // Once for each wait where the kernel has descriptors of threads; naps otherwise.
    assert!(c.count(Call::Lend) == 2 || c.count(Call::Lend) > 8);
    handle.join().unwrap();
    assert!(sleeper().join(&mut c, &thread::spawn(|| ()), None));
}

/// Sends this thread a signal in a while, for which it has a handler.
fn signal_soon(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) -> thread::JoinHandle<()> {
    // SAFETY: an all-zero `sigaction` is valid; the handlers only store to an atomic.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        assert_eq!(libc::sigaction(signal, &action, std::ptr::null_mut()), 0);
    }
    // SAFETY: always sound.
    let me = unsafe { libc::pthread_self() };
    thread::spawn(move || {
        thread::sleep(20 * MS);
        // SAFETY: that thread joins this one before it ends.
        assert_eq!(unsafe { libc::pthread_kill(me, signal) }, 0);
    })
}

#[test]
fn an_interrupt_ends_the_wait() {
    static STOP: AtomicBool = AtomicBool::new(false);
    extern "C" fn handler(_: libc::c_int) {
        STOP.store(true, Ordering::Relaxed);
    }
    let signaller = signal_soon(libc::SIGUSR2, handler);
    let mut sleeper = sleeper();
    sleeper.interrupt_when(Some(|| STOP.load(Ordering::Relaxed)));
    let begun = Instant::now();
    sleeper.sleep(&mut Recorder::working(2), Duration::from_secs(20));
    assert!(begun.elapsed() < Duration::from_secs(10));
    signaller.join().unwrap();
}

#[test]
fn an_interrupt_ends_the_wait_for_a_poller_with_all_switches_off() {
    static STOP: AtomicBool = AtomicBool::new(false);
    extern "C" fn handler(_: libc::c_int) {
        STOP.store(true, Ordering::Relaxed);
    }
    let signaller = signal_soon(libc::SIGUSR1, handler);
    let mut sleeper = Sleeper::new(Policy::off());
    sleeper.interrupt_when(Some(|| STOP.load(Ordering::Relaxed)));
    let (poller, begun) = (Poller::new().unwrap(), Instant::now());
    let timeout = Some(Duration::from_secs(20));
    let count = sleeper
        .poll(
            &mut Recorder::default(),
            &poller,
            &mut Events::new(),
            timeout,
        )
        .unwrap();
    assert_eq!(count, 0);
    assert!(begun.elapsed() < Duration::from_secs(10));
    signaller.join().unwrap();
}
