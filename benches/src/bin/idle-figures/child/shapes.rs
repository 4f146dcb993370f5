//! W8: heaps of unkind shapes, collected while events come.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use sleepy_benches::graph::chain_arena;
use sleepy_gc::collections::{GcTail, GcVec, LateStack};
use sleepy_gc::ephemeron::{EphemeronMap, Weakness};
use sleepy_gc::finalize::FinalizerQueue;
use sleepy_gc::idle::{Collector, Interest, Policy, Sleeper};
use sleepy_gc::{Arena, Budget, Collect, Gc, Mutation, Root, Rootable};

use super::stepped::Stepped;
use crate::Result;

pub const SHAPES: [&str; 6] = [
    "array",
    "buffer",
    "list",
    "ephemerons",
    "finalizers",
    "stack",
];

type Number<'gc> = Gc<'gc, u64>;

/// Waits for so many events beside a heap of that shape, and returns how long the steps were.
pub fn run(shape: &str, events: u32) -> Result<Value> {
    match shape {
        "array" => drive(array(1_000_000), events, |_, _| ()),
        "buffer" => drive(buffer(64 << 20), events, |_, _| ()),
        "list" => drive(chain_arena(10_000_000), events, |_, _| ()),
        "ephemerons" => drive(ephemerons(200_000), events, |_, _| ()),
        "finalizers" => drive(finalizers(), events, |mc, queue| {
            // Those that are due allocate, and there are new ones.
            while let Some(object) = queue.pop(mc) {
                std::hint::black_box(GcTail::from_slice(mc, (), &[*object; 16]));
            }
            for n in 0..200 {
                queue.register(mc, Gc::new(mc, n));
            }
        }),
        "stack" => drive(stack(10_000), events, |mc, stack| {
            // The frames on top run between the waits.
            for slot in stack
                .slots(mc, stack.top() - 100..stack.top())
                .unwrap_or(&[])
            {
                slot.set(Some(Gc::new(mc, 1)));
            }
        }),
        _ => Err(format!("there is no shape '{shape}'").into()),
    }
}

type ArrayArena = Arena<Rootable![GcVec<'_, Number<'_>>]>;

fn array(len: u64) -> ArrayArena {
    Arena::new(|mc| {
        let all = GcVec::new();
        for n in 0..len {
            all.push(mc, Gc::new(mc, n));
        }
        all
    })
}

type BufferArena = Arena<Rootable![GcTail<'_, (), u8>]>;

fn buffer(bytes: usize) -> BufferArena {
    Arena::new(|mc| GcTail::from_slice(mc, (), &vec![1; bytes]))
}

type Map<'gc> = EphemeronMap<'gc, Number<'gc>, Number<'gc>>;

type EphemeronsArena = Arena<Rootable![(Gc<'_, Map<'_>>, Number<'_>)]>;

/// Each value is the key of the next entry, and only the first key is known otherwise.
fn ephemerons(len: u64) -> EphemeronsArena {
    Arena::new(|mc| {
        let map = EphemeronMap::new(mc, Weakness::Keys);
        let first = Gc::new(mc, 0);
        let mut key = first;
        for n in 1..len {
            let value = Gc::new(mc, n);
            map.insert(mc, key, value);
            key = value;
        }
        (Gc::new(mc, map), first)
    })
}

type FinalizersArena = Arena<Rootable![FinalizerQueue<'_, u64>]>;

fn finalizers() -> FinalizersArena {
    Arena::new(|mc| FinalizerQueue::new(mc))
}

type Slot<'gc> = Option<Number<'gc>>;

type StackArena = Arena<Rootable![LateStack<'_, Slot<'_>>]>;

/// Frames of 20 slots.
fn stack(frames: usize) -> StackArena {
    let len = frames * 20;
    Arena::new(|mc| {
        let stack = LateStack::new(mc, len, None);
        for slot in stack.slots(mc, 0..len).unwrap_or(&[]) {
            slot.set(Some(Gc::new(mc, 7)));
        }
        stack.set_top(mc, len);
        stack
    })
}

/// Cycles are started however much is alive: what they cost is not what is asked here.
fn policy() -> Policy {
    Policy {
        start_bytes: 64 << 10,
        price_ns_per_kib: 1 << 40,
        long_price_ns_per_kib: 1 << 40,
        ..Policy::default()
    }
}

fn drive<R>(
    mut arena: Arena<R>,
    events: u32,
    turn: impl for<'gc> Fn(&'gc Mutation<'gc>, &'gc Root<'gc, R>),
) -> Result<Value>
where
    R: for<'a> Rootable<'a>,
    for<'a> Root<'a, R>: Sized + Collect<'a>,
{
    // What was built is collected once, so that all begins with the heap as it stays.
    arena.finish_cycle();
    let (mut ours, mut theirs) = UnixStream::pair()?;
    let writer = thread::spawn(move || {
        let mut random = 1u64;
        for _ in 0..events {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            thread::sleep(Duration::from_micros(300 + random % 1400));
            if theirs.write_all(b"x").is_err() {
                return;
            }
        }
    });
    let mut arena = Stepped::new(arena);
    let mut sleeper = Sleeper::new(policy());
    for _ in 0..events {
        sleeper.wait_fd(&mut arena, ours.as_fd(), Interest::Readable, None)?;
        ours.read_exact(&mut [0])?;
        arena.inner.mutate(|mc, root| {
            for _ in 0..32 {
                std::hint::black_box(GcTail::from_slice(mc, (), &[7u8; 1024]));
            }
            turn(mc, root);
        });
        let debt = arena.inner.allocation_debt();
        if debt > 0 {
            sleeper.forced_step(&mut arena, Budget::Work(debt));
        }
    }
    writer.join().map_err(|_| "the writer has panicked")?;
    let (stats, steps) = (sleeper.stats(), &arena.steps);
    let overrun = &stats.step_overrun;
    Ok(json!({
        "cycles": arena.inner.metrics().cycles(),
        "works": arena.has_work(),
        "overruns": overrun.count(),
        "overrun_p50_ns": overrun.quantile(0.5),
        "overrun_p99_ns": overrun.quantile(0.99),
        "overrun_max_ns": overrun.max(),
        "steps": steps.count(),
        "step_p50_ns": steps.quantile(0.5),
        "step_p99_ns": steps.quantile(0.99),
        "step_p999_ns": steps.quantile(0.999),
        "step_max_ns": steps.max(),
        "longest": format!("{:?}", arena.longest),
    }))
}
