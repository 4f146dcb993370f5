//! One of each kind of wait, with the means to make its event happen.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use polling::{Event, Events, Poller};
use sleepy_gc::idle::{FlockOp, Interest, Policy, Queue, RecvError, SendError, Sleeper, Watched};

use crate::recorder::{Recorder, Subject};

/// Makes the event happen, and returns once it has.
pub type Trigger = Box<dyn FnOnce() + Send>;

/// A wait on something that one trigger makes ready.
pub trait Waiting {
    fn name(&self) -> &'static str;
    fn trigger(&mut self) -> Trigger;
    /// Whether the event came.
    fn wait(&mut self, s: &mut Sleeper, c: &mut Subject, timeout: Option<Duration>) -> bool;
}

/// One of each kind, freshly made.
pub fn all() -> Vec<Box<dyn Waiting>> {
    vec![
        Box::new(Fd::new()),
        Box::new(Fds::new()),
        Box::new(Poll::new()),
        Box::new(Join::new()),
        Box::new(ChildProcess::new()),
        Box::new(FileLock::new()),
        Box::new(RangeLock::new()),
        Box::new(Lock::new()),
        Box::new(Condition::new()),
        Box::new(Recv::new()),
        Box::new(Send_::new()),
        Box::new(Foreign::new()),
    ]
}

struct Fd {
    ours: UnixStream,
    theirs: UnixStream,
}

impl Fd {
    fn new() -> Self {
        let (ours, theirs) = UnixStream::pair().unwrap();
        Self { ours, theirs }
    }
}

fn write_later(stream: &UnixStream) -> Trigger {
    let mut stream = stream.try_clone().unwrap();
    Box::new(move || stream.write_all(b"x").unwrap())
}

impl Waiting for Fd {
    fn name(&self) -> &'static str {
        "wait_fd"
    }
    fn trigger(&mut self) -> Trigger {
        write_later(&self.theirs)
    }
    fn wait(&mut self, s: &mut Sleeper, c: &mut Subject, timeout: Option<Duration>) -> bool {
        s.wait_fd(c, self.ours.as_fd(), Interest::Readable, timeout)
            .unwrap()
    }
}

struct Fds {
    active: Fd,
}

impl Fds {
    fn new() -> Self {
        Self { active: Fd::new() }
    }
}

impl Waiting for Fds {
    fn name(&self) -> &'static str {
        "wait_fds"
    }
    fn trigger(&mut self) -> Trigger {
        self.active.trigger()
    }
    fn wait(&mut self, s: &mut Sleeper, c: &mut Subject, timeout: Option<Duration>) -> bool {
        let (theirs, _kept) = UnixStream::pair().unwrap();
        let mut fds = [
            Watched::new(theirs.as_fd(), Interest::Readable),
            Watched::new(self.active.ours.as_fd(), Interest::Readable),
        ];
        let count = s.wait_fds(c, &mut fds, timeout).unwrap();
        assert!(!fds[0].readable && !fds[1].writable);
        assert_eq!(fds[1].readable, count == 1);
        count == 1
    }
}

struct Poll {
    poller: Poller,
    ours: UnixStream,
    theirs: UnixStream,
}

impl Poll {
    fn new() -> Self {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let poller = Poller::new().unwrap();
        // SAFETY: the stream is deleted from the poller before either is dropped.
        unsafe { poller.add(&ours, Event::readable(7)).unwrap() };
        Self {
            poller,
            ours,
            theirs,
        }
    }
}

impl Drop for Poll {
    fn drop(&mut self) {
        self.poller.delete(&self.ours).unwrap();
    }
}

impl Waiting for Poll {
    fn name(&self) -> &'static str {
        "poll"
    }
    fn trigger(&mut self) -> Trigger {
        write_later(&self.theirs)
    }
    fn wait(&mut self, s: &mut Sleeper, c: &mut Subject, timeout: Option<Duration>) -> bool {
        let mut events = Events::new();
        let count = s.poll(c, &self.poller, &mut events, timeout).unwrap();
        assert_eq!(events.iter().filter(|event| event.key == 7).count(), count);
        count == 1
    }
}

struct Join {
    handle: Arc<JoinHandle<()>>,
    end: mpsc::Sender<()>,
}

impl Join {
    fn new() -> Self {
        let (end, ended) = mpsc::channel();
        let handle = Arc::new(thread::spawn(move || ended.recv().unwrap_or_default()));
        Self { handle, end }
    }
}

impl Waiting for Join {
    fn name(&self) -> &'static str {
        "join"
    }
    fn trigger(&mut self) -> Trigger {
        let (end, handle) = (self.end.clone(), Arc::clone(&self.handle));
        Box::new(move || {
            end.send(()).unwrap();
            while !handle.is_finished() {
                thread::yield_now();
            }
        })
    }
    fn wait(&mut self, s: &mut Sleeper, c: &mut Subject, timeout: Option<Duration>) -> bool {
        s.join(c, &self.handle, timeout)
    }
}

struct ChildProcess {
    child: Child,
}

impl ChildProcess {
    fn new() -> Self {
        let child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        Self { child }
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Waiting for ChildProcess {
    fn name(&self) -> &'static str {
        "wait_child"
    }
    fn trigger(&mut self) -> Trigger {
        let stdin = self.child.stdin.take();
        let stat = format!("/proc/{}/stat", self.child.id());
        Box::new(move || {
            drop(stdin);
            // Until it is a zombie or reaped: then it can be waited for.
            while std::fs::read_to_string(&stat).is_ok_and(|text| !text.contains(") Z")) {
                thread::yield_now();
            }
        })
    }
    fn wait(&mut self, s: &mut Sleeper, c: &mut Subject, timeout: Option<Duration>) -> bool {
        let status = s.wait_child(c, &mut self.child, timeout).unwrap();
        status.is_some_and(|status| status.success())
    }
}

struct FileLock {
    ours: File,
    holder: Option<File>,
}

impl FileLock {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!(
            "sleepy-flock-{}-{:?}",
            std::process::id(),
            thread::current().id()
        ));
        let ours = File::create(&path).unwrap();
        let holder = File::open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        holder.lock().unwrap();
        Self {
            ours,
            holder: Some(holder),
        }
    }
}

impl Waiting for FileLock {
    fn name(&self) -> &'static str {
        "flock"
    }
    fn trigger(&mut self) -> Trigger {
        let holder = self.holder.take();
        Box::new(move || drop(holder))
    }
    fn wait(&mut self, s: &mut Sleeper, c: &mut Subject, timeout: Option<Duration>) -> bool {
        s.flock(c, &self.ours, FlockOp::Exclusive, timeout).unwrap()
    }
}

struct RangeLock {
    ours: File,
    holder: Option<File>,
}

impl RangeLock {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!(
            "sleepy-range-{}-{:?}",
            std::process::id(),
            thread::current().id()
        ));
        let ours = File::create_new(&path)
            .and_then(|_| File::open(&path))
            .unwrap();
        let holder = File::options().write(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let mut sleeper = Sleeper::new(Policy::off());
        let mut c = Recorder::default();
        let done = sleeper.fcntl_lock(&mut c, &holder, FlockOp::Exclusive, .., None);
        assert!(done.unwrap());
        Self {
            ours,
            holder: Some(holder),
        }
    }
}

impl Waiting for RangeLock {
    fn name(&self) -> &'static str {
        "fcntl_lock"
    }
    fn trigger(&mut self) -> Trigger {
        let holder = self.holder.take();
        Box::new(move || drop(holder))
    }
    fn wait(&mut self, s: &mut Sleeper, c: &mut Subject, timeout: Option<Duration>) -> bool {
        s.fcntl_lock(c, &self.ours, FlockOp::Shared, 3..7, timeout)
            .unwrap_or_else(|error| panic!("{error}"))
    }
}

struct Lock {
    mutex: Arc<Mutex<u32>>,
    release: mpsc::Sender<()>,
}

impl Lock {
    fn new() -> Self {
        let mutex = Arc::new(Mutex::new(0));
        let (release, released) = mpsc::channel();
        let (held, is_held) = mpsc::channel();
        let theirs = Arc::clone(&mutex);
        thread::spawn(move || {
            let mut guard = theirs.lock();
            held.send(()).unwrap();
            released.recv().unwrap_or_default();
            *guard = 1;
        });
        is_held.recv().unwrap();
        Self { mutex, release }
    }
}

impl Waiting for Lock {
    fn name(&self) -> &'static str {
        "lock"
    }
    fn trigger(&mut self) -> Trigger {
        let (release, mutex) = (self.release.clone(), Arc::clone(&self.mutex));
        Box::new(move || {
            release.send(()).unwrap();
            drop(mutex.lock());
        })
    }
    /// A lock has no timeout: with one it is taken for timed out, and not waited for.
    fn wait(&mut self, s: &mut Sleeper, c: &mut Subject, timeout: Option<Duration>) -> bool {
        assert_eq!(timeout, None);
        *s.lock(c, &self.mutex) == 1
    }
}

struct Condition {
    pair: Arc<(Mutex<bool>, Condvar)>,
}

impl Condition {
    fn new() -> Self {
        Self {
            pair: Arc::default(),
        }
    }
}

impl Waiting for Condition {
    fn name(&self) -> &'static str {
        "wait_while"
    }
    fn trigger(&mut self) -> Trigger {
        let pair = Arc::clone(&self.pair);
        Box::new(move || {
            *pair.0.lock() = true;
            pair.1.notify_all();
        })
    }
    fn wait(&mut self, s: &mut Sleeper, c: &mut Subject, timeout: Option<Duration>) -> bool {
        let mut guard = self.pair.0.lock();
        s.wait_while(c, &self.pair.1, &mut guard, |done| !*done, timeout)
    }
}

struct Recv {
    queue: Arc<Queue<u32>>,
}

impl Recv {
    fn new() -> Self {
        Self {
            queue: Arc::new(Queue::unbounded()),
        }
    }
}

impl Waiting for Recv {
    fn name(&self) -> &'static str {
        "recv"
    }
    fn trigger(&mut self) -> Trigger {
        let queue = Arc::clone(&self.queue);
        Box::new(move || queue.try_send(5).unwrap())
    }
    fn wait(&mut self, s: &mut Sleeper, c: &mut Subject, timeout: Option<Duration>) -> bool {
        match s.recv(c, &self.queue, timeout) {
            Ok(item) => item == 5,
            Err(RecvError::Timeout) => false,
            Err(RecvError::Closed) => panic!("nobody closed it"),
        }
    }
}

struct Send_ {
    queue: Arc<Queue<u32>>,
}

impl Send_ {
    fn new() -> Self {
        let queue = Queue::bounded(1);
        queue.try_send(1).unwrap();
        Self {
            queue: Arc::new(queue),
        }
    }
}

impl Waiting for Send_ {
    fn name(&self) -> &'static str {
        "send"
    }
    fn trigger(&mut self) -> Trigger {
        let queue = Arc::clone(&self.queue);
        Box::new(move || assert!(queue.try_recv().is_ok()))
    }
    fn wait(&mut self, s: &mut Sleeper, c: &mut Subject, timeout: Option<Duration>) -> bool {
        match s.send(c, &self.queue, 2, timeout) {
            Ok(()) => true,
            Err(SendError::Timeout(2)) => false,
            Err(error) => panic!("{error}"),
        }
    }
}

/// A wait that a library hides, between two calls of ours.
struct Foreign {
    flag: Arc<AtomicBool>,
    inner: Fd,
}

impl Foreign {
    fn new() -> Self {
        Self {
            flag: Arc::default(),
            inner: Fd::new(),
        }
    }
}

impl Waiting for Foreign {
    fn name(&self) -> &'static str {
        "about_to_wait"
    }
    fn trigger(&mut self) -> Trigger {
        let flag = Arc::clone(&self.flag);
        let write = self.inner.trigger();
        Box::new(move || {
            flag.store(true, Ordering::Relaxed);
            write();
        })
    }
    fn wait(&mut self, s: &mut Sleeper, c: &mut Subject, timeout: Option<Duration>) -> bool {
        assert_eq!(timeout, None, "the library's own");
        let (flag, stream) = (&self.flag, &mut self.inner.ours);
        s.about_to_wait(
            c,
            || flag.load(Ordering::Relaxed),
            || stream.read_exact(&mut [0]),
        )
        .unwrap();
        true
    }
}
