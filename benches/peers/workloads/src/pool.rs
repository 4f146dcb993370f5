//! Threads that stay: the same function on each of them at once.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

type Job = Arc<dyn Fn(usize) + Send + Sync>;

/// A number of threads that wait for work; with one, the work is done by the caller.
pub struct Pool {
    lanes: Vec<(Option<Sender<Job>>, JoinHandle<()>)>,
    done: Receiver<()>,
}

impl Pool {
    /// A pool of `threads`.
    pub fn new(threads: usize) -> Self {
        let (finished, done) = channel();
        let spawn = |lane| {
            let (sender, jobs) = channel::<Job>();
            let finished = finished.clone();
            let work = move || {
                for job in jobs {
                    job(lane);
                    // The round's memory must not outlive the round in this thread's hands.
                    drop(job);
                    if finished.send(()).is_err() {
                        break;
                    }
                }
            };
            (Some(sender), std::thread::spawn(work))
        };
        let lanes = match threads {
            0 | 1 => Vec::new(),
            n => (0..n).map(spawn).collect(),
        };
        Self { lanes, done }
    }

    /// Calls `job` with 0, 1, … on each thread at once, and waits for all of them.
    ///
    /// # Panics
    /// When a job panics.
    pub fn run(&self, job: impl Fn(usize) + Send + Sync + 'static) {
        if self.lanes.is_empty() {
            return job(0);
        }
        let job: Job = Arc::new(job);
        for (sender, _) in &self.lanes {
            let sent = sender.as_ref().map(|s| s.send(job.clone()));
            assert!(matches!(sent, Some(Ok(()))), "a job panicked");
        }
        drop(job);
        for _ in &self.lanes {
            self.done.recv().expect("a job panicked");
        }
    }

    /// Calls `wait` on each thread and on the caller's at once.
    ///
    /// # Panics
    /// When `wait` panics.
    pub fn idle(&self, wait: impl Fn() + Send + Sync + Copy + 'static) {
        let lanes = self.lanes.iter().filter_map(|(sender, _)| sender.as_ref());
        let mut sent = 0;
        for sender in lanes {
            sent += usize::from(sender.send(Arc::new(move |_| wait())).is_ok());
        }
        wait();
        for _ in 0..sent {
            self.done.recv().expect("a wait panicked");
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        for (sender, _) in &mut self.lanes {
            *sender = None;
        }
        for (_, thread) in self.lanes.drain(..) {
            // A panic has been reported already.
            drop(thread.join());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn every_lane_works_once_a_run() {
        for threads in [1, 3] {
            let pool = Pool::new(threads);
            // Counts calls; `run` returns after all of them, through the channel.
            let sum = Arc::new(AtomicUsize::new(0));
            for _ in 0..3 {
                let sum = sum.clone();
                pool.run(move |lane| {
                    sum.fetch_add(1 + 10 * lane, Ordering::Relaxed);
                });
            }
            let expected = 3 * (threads + 10 * (threads * (threads - 1) / 2));
            assert_eq!(sum.load(Ordering::Relaxed), expected);
        }
    }
}
