//! W12: kinds of wait, each with nothing to collect but what a turn leaves.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use polling::{Event, Events, Poller};
use serde_json::{Value, json};
use sleepy_gc::collections::GcTail;
use sleepy_gc::idle::{Histogram, Interest, Policy, Queue, Sleeper, Watched};
use sleepy_gc::{Arena, Rootable};

use super::stepped::{cpu_ns, wall_ns};
use crate::Result;

pub const VARIANTS: [&str; 6] = [
    "one descriptor",
    "epoll",
    "poll, 1000 descriptors",
    "condition variable",
    "queue",
    "timeout",
];

/// How often a wait with a timeout passes it before its event comes.
const SHORT_TIMEOUT: Duration = Duration::from_micros(300);

/// One byte or notification at a time, 0.3 to 1.7 ms apart; `send` is told when each was sent.
fn send_events(
    waits: u32,
    mut send: impl FnMut() + Send + 'static,
) -> (Arc<AtomicU64>, thread::JoinHandle<()>) {
    let sent_ns = Arc::new(AtomicU64::new(0));
    // Published by the event itself, which the reader has seen before it looks.
    let stamp = Arc::clone(&sent_ns);
    let thread = thread::spawn(move || {
        let mut random = 1u64;
        for _ in 0..waits {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            thread::sleep(Duration::from_micros(300 + random % 1400));
            stamp.store(wall_ns(), Ordering::Relaxed);
            send();
        }
    });
    (sent_ns, thread)
}

struct Reader {
    arena: Arena<Rootable![u32]>,
    sleeper: Sleeper,
    delays: Histogram,
    waits: u32,
}

impl Reader {
    /// Waits so often, by `wait`, for what a thread sends.
    fn drive(
        mut self,
        send: impl FnMut() + Send + 'static,
        mut wait: impl FnMut(&mut Sleeper, &mut Arena<Rootable![u32]>) -> Result<()>,
    ) -> Result<Value> {
        let (sent_ns, sender) = send_events(self.waits, send);
        let before_ns = cpu_ns();
        for _ in 0..self.waits {
            wait(&mut self.sleeper, &mut self.arena)?;
            let delay_ns = wall_ns().saturating_sub(sent_ns.load(Ordering::Relaxed));
            self.delays.record(delay_ns);
            self.arena.mutate(|mc, _| {
                for _ in 0..32 {
                    std::hint::black_box(GcTail::from_slice(mc, (), &[7u8; 1024]));
                }
            });
            self.arena.collect_debt();
        }
        let spent_ns = cpu_ns() - before_ns;
        sender.join().map_err(|_| "the sender has panicked")?;
        Ok(json!({
            "wake_p50_ns": self.delays.quantile(0.5),
            "wake_p99_ns": self.delays.quantile(0.99),
            "cpu_a_wait_ns": spent_ns / u64::from(self.waits),
        }))
    }
}

pub fn run(variant: &str, waits: u32) -> Result<Value> {
    let reader = Reader {
        arena: Arena::new(|_| 0),
        sleeper: Sleeper::new(Policy::default()),
        delays: Histogram::new(),
        waits,
    };
    let (mut ours, mut theirs) = UnixStream::pair()?;
    let send = move || {
        // It fails only if the reader has gone.
        let _ = theirs.write_all(b"x");
    };
    let fd = ours.try_clone()?;
    let mut take = move || ours.read_exact(&mut [0]);
    match variant {
        "one descriptor" => reader.drive(send, |sleeper, arena| {
            sleeper.wait_fd(arena, fd.as_fd(), Interest::Readable, None)?;
            Ok(take()?)
        }),
        "timeout" => reader.drive(send, |sleeper, arena| {
            while !sleeper.wait_fd(arena, fd.as_fd(), Interest::Readable, Some(SHORT_TIMEOUT))? {}
            Ok(take()?)
        }),
        "epoll" => {
            let poller = Poller::new()?;
            // SAFETY: the stream is deleted from the poller before it is closed.
            unsafe { poller.add(&fd, Event::readable(1))? };
            let mut events = Events::new();
            let figures = reader.drive(send, |sleeper, arena| {
                events.clear();
                sleeper.poll(arena, &poller, &mut events, None)?;
                poller.modify(&fd, Event::readable(1))?;
                Ok(take()?)
            });
            poller.delete(&fd)?;
            figures
        }
        "poll, 1000 descriptors" => {
            let (silent, _kept) = UnixStream::pair()?;
            reader.drive(send, |sleeper, arena| {
                let mut fds = vec![Watched::new(silent.as_fd(), Interest::Readable); 999];
                fds.push(Watched::new(fd.as_fd(), Interest::Readable));
                sleeper.wait_fds(arena, &mut fds, None)?;
                Ok(take()?)
            })
        }
        "condition variable" => {
            let shared = Arc::new((Mutex::new(0u32), Condvar::new()));
            let theirs = Arc::clone(&shared);
            let send = move || {
                *theirs.0.lock() += 1;
                theirs.1.notify_one();
            };
            reader.drive(send, |sleeper, arena| {
                let mut count = shared.0.lock();
                sleeper.wait_while(arena, &shared.1, &mut count, |count| *count == 0, None);
                *count -= 1;
                Ok(())
            })
        }
        "queue" => {
            let queue = Arc::new(Queue::unbounded());
            let theirs = Arc::clone(&queue);
            let send = move || {
                // It fails only if the queue is closed, which nobody does.
                let _ = theirs.try_send(());
            };
            reader.drive(
                send,
                |sleeper, arena| Ok(sleeper.recv(arena, &queue, None)?),
            )
        }
        _ => Err(format!("there is no variant '{variant}'").into()),
    }
}
