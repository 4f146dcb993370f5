//! What the benchmarks do.

use std::hint::black_box;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use sleepy_gc::collections::{GcTail, GcVec};
use sleepy_gc::idle::{Gil, GilGuard, Interest, Policy, Queue, SendArena, Sleeper, Watched};
use sleepy_gc::{Budget, Gc, Rootable};

/// One of the five.
pub struct Workload {
    /// As in Ruby's repository.
    pub name: &'static str,
    /// The time for so many turns, without what comes before and after. What is waited for is there at once, or takes so long: the echo to each
    /// turn, the reader to each 16 blocks, the producer to each 16 items.
    pub run: fn(Policy, u64, Duration) -> Duration,
    /// Turns of one run for the table, at once and slowly.
    pub turns: [u64; 2],
}

/// What a slow partner takes.
pub const SLOW: Duration = Duration::from_micros(200);

pub const ALL: [Workload; 5] = [
    Workload {
        name: "gc_io_wait",
        run: io_wait,
        turns: [30_000, 4_000],
    },
    Workload {
        name: "gc_io_select",
        run: io_select,
        turns: [30_000, 4_000],
    },
    Workload {
        name: "gc_join_timeout",
        run: join_timeout,
        turns: [100_000, 50_000],
    },
    Workload {
        name: "gc_remote_free_spmc",
        run: remote_free_spmc,
        turns: [100_000, 50_000],
    },
    Workload {
        name: "gc_szqueue",
        run: szqueue,
        turns: [100_000, 50_000],
    },
];

/// Blocks or items between two pauses of a slow partner.
const BATCH: u64 = 16;

/// What lives: 200,000 objects of 56 bytes, 13 MB in all.
type Heap = SendArena<Rootable![GcVec<'_, Gc<'_, [u64; 7]>>]>;

fn heap() -> Arc<Gil<Heap>> {
    Arc::new(Gil::new(Heap::new(|mc| {
        let all = GcVec::new();
        for n in 0..200_000 {
            all.push(mc, Gc::new(mc, [n; 7]));
        }
        all
    })))
}

/// What a turn leaves: 50 objects, 13 KiB; and the debt for it is paid where waits have not done so.
fn make_garbage(sleeper: &mut Sleeper, arena: &mut GilGuard<'_, Heap>) {
    arena.mutate(|mc, _| {
        for n in 0..50 {
            black_box(GcTail::from_slice(mc, (), &[n; 64]));
        }
    });
    let debt = arena.allocation_debt();
    if debt > 0 {
        sleeper.forced_step(arena, Budget::Work(debt));
    }
}

/// Another thread that sends back each byte.
fn echo(pause: Duration) -> (UnixStream, thread::JoinHandle<()>) {
    let (ours, mut theirs) = UnixStream::pair().expect("a pair of sockets");
    let thread = thread::spawn(move || {
        let mut byte = [0];
        while theirs.read_exact(&mut byte).is_ok() {
            if !pause.is_zero() {
                thread::sleep(pause);
            }
            if theirs.write_all(&byte).is_err() {
                break;
            }
        }
    });
    (ours, thread)
}

/// Garbage, then a wait for one descriptor.
fn io_wait(policy: Policy, turns: u64, pause: Duration) -> Duration {
    let (mut ours, echo) = echo(pause);
    let gil = heap();
    let mut sleeper = Sleeper::new(policy);
    let mut arena = gil.lock();
    let begun = Instant::now();
    for _ in 0..turns {
        ours.write_all(b"x").expect("a write");
        make_garbage(&mut sleeper, &mut arena);
        let ready = sleeper.wait_fd(&mut arena, ours.as_fd(), Interest::Readable, None);
        assert!(ready.expect("a wait"));
        ours.read_exact(&mut [0]).expect("a read");
    }
    let time = begun.elapsed();
    drop(ours);
    echo.join().expect("the echo has ended");
    time
}

/// Garbage, then a wait for several descriptors, of which one becomes ready.
fn io_select(policy: Policy, turns: u64, pause: Duration) -> Duration {
    let (mut ours, echo) = echo(pause);
    let silent: Vec<_> = (0..16)
        .map(|_| UnixStream::pair().expect("a pair"))
        .collect();
    let gil = heap();
    let mut sleeper = Sleeper::new(policy);
    let mut arena = gil.lock();
    let begun = Instant::now();
    for _ in 0..turns {
        ours.write_all(b"x").expect("a write");
        make_garbage(&mut sleeper, &mut arena);
        let mut fds: Vec<_> = silent
            .iter()
            .map(|(stream, _)| Watched::new(stream.as_fd(), Interest::Readable))
            .collect();
        fds.push(Watched::new(ours.as_fd(), Interest::Readable));
        let count = sleeper.wait_fds(&mut arena, &mut fds, None);
        assert_eq!(count.expect("a wait"), 1);
        ours.read_exact(&mut [0]).expect("a read");
    }
    let time = begun.elapsed();
    drop(ours);
    echo.join().expect("the echo has ended");
    time
}

/// One thread joins another in slices of 10 ms; that one reads blocks of 16 KiB, each of them garbage at once.
fn join_timeout(policy: Policy, turns: u64, pause: Duration) -> Duration {
    let gil = heap();
    let begun = Instant::now();
    let reader = {
        let gil = Arc::clone(&gil);
        thread::spawn(move || {
            let mut file = std::fs::File::open("/dev/zero").expect("zeros");
            let mut block = vec![1; 16 << 10];
            for turn in 0..turns {
                if turn % BATCH == 0 && !pause.is_zero() {
                    thread::sleep(pause);
                }
                file.read_exact(&mut block).expect("a read");
                let mut arena = gil.lock();
                arena.mutate(|mc, _| {
                    black_box(GcTail::from_slice(mc, (), &block));
                });
                arena.collect_debt();
            }
        })
    };
    let mut sleeper = Sleeper::new(policy);
    while !sleeper.join(&mut gil.lock(), &reader, Some(Duration::from_millis(10))) {}
    reader.join().expect("the reader has ended");
    begun.elapsed()
}

/// One thread allocates, `consumers` drop what it sends through a queue of that limit.
fn pass_on(
    policy: &Policy,
    turns: u64,
    pause: Duration,
    consumers: usize,
    limit: usize,
) -> Duration {
    let gil = heap();
    let queue = Arc::new(Queue::<Vec<u8>>::bounded(limit));
    let begun = Instant::now();
    let consumers: Vec<_> = (0..consumers)
        .map(|_| {
            let (gil, queue, policy) = (Arc::clone(&gil), Arc::clone(&queue), policy.clone());
            thread::spawn(move || {
                let mut sleeper = Sleeper::new(policy);
                let mut arena = gil.lock();
                while let Ok(item) = sleeper.recv(&mut arena, &queue, None) {
                    drop(black_box(item));
                }
            })
        })
        .collect();
    let mut sleeper = Sleeper::new(policy.clone());
    let mut arena = gil.lock();
    for n in 0..turns {
        if n % BATCH == 0 {
            sleeper.sleep(&mut arena, pause);
        }
        make_garbage(&mut sleeper, &mut arena);
        let item = vec![n as u8; 1000];
        let sent = sleeper.send(&mut arena, &queue, item, None);
        assert!(sent.is_ok());
    }
    queue.close();
    drop(arena);
    for consumer in consumers {
        consumer.join().expect("a consumer has ended");
    }
    begun.elapsed()
}

fn remote_free_spmc(policy: Policy, turns: u64, pause: Duration) -> Duration {
    pass_on(&policy, turns, pause, 4, 1024)
}

fn szqueue(policy: Policy, turns: u64, pause: Duration) -> Duration {
    pass_on(&policy, turns, pause, 1, 16)
}
