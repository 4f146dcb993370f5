//! The interpreter lock beside the locks that one would take otherwise, and what a wait under it costs.
//!
//! `cargo bench -p sleepy-benches --bench idle`

use std::hint::black_box;
use std::io::Write;
use std::ops::DerefMut;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main};
use parking_lot::{FairMutex, FairMutexGuard, Mutex, MutexGuard};
use sleepy_gc::Rootable;
use sleepy_gc::idle::{Gil, GilGuard, Interest, Policy, SendArena, Sleeper};

/// What the locks have in common.
trait Lock: Sync {
    type Guard<'l>: DerefMut<Target = u64>
    where
        Self: 'l;
    fn new() -> Self;
    fn lock(&self) -> Self::Guard<'_>;
    /// Gives the lock to whoever waits for it, and waits for it again.
    fn bump(guard: &mut Self::Guard<'_>);
}

impl Lock for Gil<u64> {
    type Guard<'l> = GilGuard<'l, u64>;
    fn new() -> Self {
        Gil::new(0)
    }
    fn lock(&self) -> Self::Guard<'_> {
        self.lock()
    }
    fn bump(guard: &mut Self::Guard<'_>) {
        Gil::bump(guard);
    }
}

impl Lock for Mutex<u64> {
    type Guard<'l> = MutexGuard<'l, u64>;
    fn new() -> Self {
        Mutex::new(0)
    }
    fn lock(&self) -> Self::Guard<'_> {
        self.lock()
    }
    fn bump(guard: &mut Self::Guard<'_>) {
        MutexGuard::bump(guard);
    }
}

impl Lock for FairMutex<u64> {
    type Guard<'l> = FairMutexGuard<'l, u64>;
    fn new() -> Self {
        FairMutex::new(0)
    }
    fn lock(&self) -> Self::Guard<'_> {
        self.lock()
    }
    fn bump(guard: &mut Self::Guard<'_>) {
        FairMutexGuard::bump(guard);
    }
}

/// About a microsecond of work.
fn work(seed: u64) -> u64 {
    (0..300).fold(seed, |x, n| black_box(x.wrapping_mul(31) ^ n))
}

/// The time in which `threads` do `turns` each, less that to start them.
fn timed(threads: u64, turn: impl Fn(u64) + Sync) -> Duration {
    let barrier = Barrier::new(threads as usize + 1);
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|thread| {
                let (barrier, turn) = (&barrier, &turn);
                scope.spawn(move || {
                    barrier.wait();
                    turn(thread);
                })
            })
            .collect();
        barrier.wait();
        let begun = Instant::now();
        for thread in running {
            thread.join().unwrap();
        }
        begun.elapsed()
    })
}

fn locks<L: Lock>(group: &mut BenchmarkGroup<'_, WallTime>, name: &str) {
    group.bench_function(format!("uncontended/{name}"), |b| {
        let lock = L::new();
        b.iter(|| *lock.lock() += 1);
    });
    group.bench_function(format!("hand to and fro/{name}"), |b| {
        b.iter_custom(|turns| {
            let lock = L::new();
            // Who had it last in the lowest bit, and how often it has changed hands above.
            timed(2, |me| {
                let mut guard = lock.lock();
                while *guard >> 1 < turns {
                    if *guard & 1 != me {
                        *guard = ((*guard >> 1) + 1) << 1 | me;
                    }
                    L::bump(&mut guard);
                }
            })
        });
    });
    for threads in [2, 8] {
        group.bench_function(format!("{threads} threads, 1 us in and out/{name}"), |b| {
            b.iter_custom(|turns| {
                let lock = L::new();
                timed(threads, |thread| {
                    let mut x = thread;
                    for _ in 0..turns.div_ceil(threads) {
                        let mut guard = lock.lock();
                        *guard = work(*guard);
                        drop(guard);
                        x = work(x);
                    }
                    black_box(x);
                })
            });
        });
    }
}

fn all_locks(c: &mut Criterion) {
    let mut group = c.benchmark_group("lock");
    group
        .sample_size(20)
        .measurement_time(Duration::from_secs(3));
    locks::<Gil<u64>>(&mut group, "gil");
    locks::<Mutex<u64>>(&mut group, "parking_lot mutex");
    locks::<FairMutex<u64>>(&mut group, "parking_lot fair mutex");
    group.bench_function("contended/gil", |b| {
        let gil = Gil::new(0u64);
        b.iter(|| gil.contended());
    });
    group.finish();
}

/// A descriptor that is ready: what the layer adds to the system call.
fn waits(c: &mut Criterion) {
    type Empty = SendArena<Rootable![u32]>;
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    theirs.write_all(b"x").unwrap();
    let mut group = c.benchmark_group("wait");
    for (name, policy) in [("off", Policy::off()), ("on", Policy::default())] {
        let mut sleeper = Sleeper::new(policy);
        let mut arena = Empty::new(|_| 0);
        group.bench_function(format!("arena, {name}"), |b| {
            b.iter(|| sleeper.wait_fd(&mut arena, ours.as_fd(), Interest::Readable, None))
        });
        let gil = Gil::new(Empty::new(|_| 0));
        let mut arena = gil.lock();
        group.bench_function(format!("gil, {name}"), |b| {
            b.iter(|| sleeper.wait_fd(&mut arena, ours.as_fd(), Interest::Readable, None))
        });
    }
    group.finish();
}

criterion_group!(benches, all_locks, waits);
criterion_main!(benches);
