//! `message_one` and `message_many`: what one thread allocates, another frees.

use crate::block::{Block, get_cleared, put};
use crate::list::{Rounds, Size};
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

const NODES: usize = 1024;
const NODE_BYTES: usize = 256;
const ARRAY_BYTES: usize = NODES * size_of::<*mut u8>();
const HEADER_BYTES: usize = size_of::<*mut u8>();
/// Messages to a queue between two waits for it.
const IN_FLIGHT: usize = 16;

type Work = Box<dyn FnOnce() + Send>;

/// A thread that does what is posted, in order. An empty closure behind the others ends a wait for all of them.
struct WorkQueue {
    shared: Arc<(Mutex<State>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    work: VecDeque<Work>,
    closed: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl WorkQueue {
    fn new() -> Self {
        let shared = Arc::new((Mutex::<State>::default(), Condvar::new()));
        let own = shared.clone();
        let thread = std::thread::spawn(move || {
            let (state, more) = &*own;
            loop {
                let mut guard = lock(state);
                let work = loop {
                    if let Some(work) = guard.work.pop_front() {
                        break work;
                    }
                    if guard.closed {
                        return;
                    }
                    guard = more.wait(guard).unwrap_or_else(PoisonError::into_inner);
                };
                drop(guard);
                work();
            }
        });
        Self {
            shared,
            thread: Some(thread),
        }
    }

    fn post(&self, work: Work) {
        lock(&self.shared.0).work.push_back(work);
        self.shared.1.notify_one();
    }

    /// Waits until everything that was posted has been done.
    fn sync(&self) {
        let (done, wait) = std::sync::mpsc::sync_channel(1);
        self.post(Box::new(move || {
            // The other end waits for it below.
            done.send(()).ok();
        }));
        wait.recv().expect("the consumer panicked");
    }
}

impl Drop for WorkQueue {
    fn drop(&mut self) {
        lock(&self.shared.0).closed = true;
        self.shared.1.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic has been reported already.
            drop(thread.join());
        }
    }
}

/// A header, which points to an array, which points to nodes.
fn message() -> Block {
    let array: *mut *mut u8 = get_cleared(ARRAY_BYTES).cast();
    for i in 0..NODES {
        // SAFETY: the array has room for that many pointers.
        unsafe { array.add(i).write(get_cleared(NODE_BYTES)) };
    }
    let header: *mut *mut *mut u8 = get_cleared(HEADER_BYTES).cast();
    // SAFETY: the header has room for a pointer.
    unsafe { header.write(array) };
    Block(header.cast())
}

/// Reads and frees a message.
///
/// # Safety
/// `message` is one of [`message`], and is not used again.
unsafe fn consume(message: Block) {
    let header: *mut *mut *mut u8 = message.0.cast();
    // SAFETY: `message` wrote the array there, and the nodes into it, each of which begins with two zeroed u16.
    unsafe {
        let array = header.read();
        let mut sum = 0u32;
        for i in 0..NODES {
            let pair: *const u16 = array.add(i).read().cast();
            sum += u32::from(pair.read() ^ pair.add(1).read());
        }
        assert_eq!(sum, 0, "a message was damaged");
        for i in 0..NODES {
            put(array.add(i).read(), NODE_BYTES);
        }
        put(array.cast(), ARRAY_BYTES);
        put(message.0, HEADER_BYTES);
    }
}

fn send(queues: &[WorkQueue], messages: usize) {
    for i in 0..messages {
        for queue in queues {
            let message = message();
            queue.post(Box::new(move || {
                let message: Block = message;
                // SAFETY: just made, and sent once.
                unsafe { consume(message) };
            }));
        }
        if (i + 1) % IN_FLIGHT == 0 {
            queues.iter().for_each(WorkQueue::sync);
        }
    }
    queues.iter().for_each(WorkQueue::sync);
}

/// One consumer.
pub fn message_one(size: &Size) -> io::Result<Rounds> {
    let messages = size.of(2048);
    let queues = [WorkQueue::new()];
    Ok(Rounds::plain(move || send(&queues, messages)))
}

/// As many consumers as there are threads.
pub fn message_many(size: &Size) -> io::Result<Rounds> {
    let messages = size.of(768);
    let queues: Vec<WorkQueue> = (0..size.threads).map(|_| WorkQueue::new()).collect();
    Ok(Rounds::plain(move || send(&queues, messages)))
}
