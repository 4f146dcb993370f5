//! Two threads that do jobs for an event loop, and lend their heaps while they wait for some.

use crate::handover::HandOver;
use polling::Poller;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

type Job = Box<dyn FnOnce() -> u64 + Send>;

/// Threads of a pool.
const THREADS: usize = 2;

#[derive(Default)]
struct Queues {
    jobs: VecDeque<Job>,
    results: VecDeque<u64>,
}

#[derive(Default)]
struct Shared {
    queues: Mutex<Queues>,
    more: Condvar,
}

/// See the module's documentation. Its threads end with the process.
pub struct Pool {
    shared: Arc<Shared>,
}

impl Pool {
    /// A pool that notifies `waker` of each result.
    pub fn new(hand_off: HandOver, waker: Arc<Poller>) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        for _ in 0..THREADS {
            let (shared, waker) = (shared.clone(), waker.clone());
            let thread = thread::Builder::new().name("pool".into());
            thread.spawn(move || {
                loop {
                    let job = shared.next_job(hand_off);
                    let result = job();
                    shared.lock().results.push_back(result);
                    // It fails only when the loop's poller is gone, and the process with it.
                    let _ = waker.notify();
                }
            })?;
        }
        Ok(Self { shared })
    }

    /// Has a thread run `job`.
    pub fn post(&self, job: impl FnOnce() -> u64 + Send + 'static) {
        self.shared.lock().jobs.push_back(Box::new(job));
        self.shared.more.notify_one();
    }

    /// The result of a job that is done.
    pub fn take_result(&self) -> Option<u64> {
        self.shared.lock().results.pop_front()
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next_job(&self, hand_off: HandOver) -> Job {
        let mut queues = self.lock();
        loop {
            if let Some(job) = queues.jobs.pop_front() {
                return job;
            }
            queues = hand_off
                .around(|| self.more.wait(queues))
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}
