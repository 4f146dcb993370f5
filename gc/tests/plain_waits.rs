//! With all switches off a wait makes the system calls of the plain wait, and no others; with them on and nothing to collect, waits
//! for descriptors and for time do so too. Seen from outside, with strace; where that is not to be had, nothing is checked.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use polling::{Events, Poller};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, read};
use sleepy_gc::idle::{
    Collector, FlockOp, Gil, Interest, Policy, SendArena, Sleeper, Switches, Watched,
};
use sleepy_gc::{Arena, Rootable, Static};

/// What the traced process is told to do.
const CHILD: &str = "SLEEPY_TEST_TRACED";

const TIME: Duration = Duration::from_millis(2);
const TIMESPEC: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 2_000_000,
};

/// What is waited for; all of it in vain.
struct Things {
    stream: UnixStream,
    other: UnixStream,
    poller: Poller,
    events: Events,
    file: File,
    mutex: Mutex<()>,
    condvar: Condvar,
}

impl Things {
    fn new() -> Self {
        // The clock looks for its fast way once.
        let _ = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let (stream, other) = UnixStream::pair().unwrap();
        let path = std::env::temp_dir().join(format!("sleepy-plain-{}", std::process::id()));
        let file = File::create(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        Self {
            stream,
            other,
            poller: Poller::new().unwrap(),
            events: Events::new(),
            file,
            mutex: Mutex::new(()),
            condvar: Condvar::new(),
        }
    }

    fn pollers(&self) -> [PollFd<'_>; 2] {
        [&self.stream, &self.other].map(|stream| PollFd::new(stream, PollFlags::IN))
    }
}

/// A system call that nothing else makes: reading nothing from nowhere. The trace is cut at these.
fn mark() {
    // SAFETY: no descriptor is that large, so it belongs to nobody; to read from it fails.
    let nowhere = unsafe { std::os::fd::BorrowedFd::borrow_raw(i32::MAX - 7) };
    assert_eq!(read(nowhere, &mut [0; 1]).err(), Some(Errno::BADF));
}

/// What anybody would write.
fn wait_plainly(things: &mut Things) {
    mark();
    poll(&mut things.pollers()[..1], Some(&TIMESPEC)).unwrap();
    mark();
    poll(&mut things.pollers(), Some(&TIMESPEC)).unwrap();
    mark();
    let _ = rustix::thread::nanosleep(&TIMESPEC);
    mark();
    things.poller.wait(&mut things.events, Some(TIME)).unwrap();
    mark();
    flock(&things.file, FlockOperation::LockExclusive).unwrap();
    mark();
    let mut guard = things.mutex.lock();
    mark();
    assert!(things.condvar.wait_for(&mut guard, TIME).timed_out());
    mark();
}

/// The same through the layer, in the same order.
fn wait_sleepily<C: Collector>(things: &mut Things, c: &mut C, policy: Policy) {
    let mut sleeper = Sleeper::new(policy);
    let fd = things.stream.as_fd();
    let mut fds =
        [&things.stream, &things.other].map(|s| Watched::new(s.as_fd(), Interest::Readable));
    mark();
    let ready = sleeper.wait_fd(c, fd, Interest::Readable, Some(TIME));
    assert!(!ready.unwrap());
    mark();
    assert_eq!(sleeper.wait_fds(c, &mut fds, Some(TIME)).unwrap(), 0);
    mark();
    sleeper.sleep(c, TIME);
    mark();
    let count = sleeper.poll(c, &things.poller, &mut things.events, Some(TIME));
    assert_eq!(count.unwrap(), 0);
    mark();
    let locked = sleeper.flock(c, &things.file, FlockOp::Exclusive, None);
    assert!(locked.unwrap());
    mark();
    let mut guard = sleeper.lock(c, &things.mutex);
    mark();
    assert!(!sleeper.wait(c, &things.condvar, &mut guard, Some(TIME)));
    mark();
}

/// What is done in the traced process; in others it does nothing.
#[test]
fn traced() {
    let Ok(mode) = std::env::var(CHILD) else {
        return;
    };
    let mut things = Things::new();
    let mut arena = Arena::<Static<u32>>::new(|_| Static(0));
    let gil = Gil::new(SendArena::<Rootable![u32]>::new(|_| 0));
    match mode.as_str() {
        "plain" => wait_plainly(&mut things),
        "off" => wait_sleepily(&mut things, &mut arena, Policy::off()),
        "environment" => {
            let policy = Policy::default();
            assert_eq!(Sleeper::new(policy.clone()).switches(), Switches::OFF);
            wait_sleepily(&mut things, &mut arena, policy);
        }
        "gil" => wait_sleepily(&mut things, &mut gil.lock(), Policy::off()),
        "on" => wait_sleepily(&mut things, &mut arena, Policy::default()),
        mode => panic!("{mode}"),
    }
}

/// The names of the system calls between the marks; `None` where there is no strace, or where it may not trace.
fn trace(mode: &str, environment: &[(&str, &str)]) -> Option<Vec<Vec<String>>> {
    let output = std::env::temp_dir().join(format!("sleepy-trace-{}-{mode}", std::process::id()));
    let status = Command::new("strace")
        .args(["-f", "-qq", "-o"])
        .arg(&output)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "traced", "--nocapture"])
        .env(CHILD, mode)
        // A leak check does not work in a process that is traced.
        .env("ASAN_OPTIONS", "detect_leaks=0")
        .envs(environment.iter().copied())
        .output()
        .ok()?;
    let text = std::fs::read_to_string(&output).unwrap_or_default();
    let _ = std::fs::remove_file(&output);
    if text.is_empty() {
        return None;
    }
    assert!(status.status.success(), "{status:?}");

    // Each line is "thread name(arguments) = result"; what another thread interrupts is in two, the second "<... name resumed>".
    let calls: Vec<(&str, &str)> = text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(thread, call)| (thread, call.trim_start()))
        .filter(|(_, call)| !call.starts_with(['<', '-', '+']))
        .collect();
    let is_mark = |call: &str| call.starts_with("read(2147483640,");
    let (marker, _) = calls.iter().find(|(_, call)| is_mark(call)).unwrap();
    let mut pieces: Vec<Vec<String>> = Vec::new();
    for (_, call) in calls.iter().filter(|(thread, _)| thread == marker) {
        if is_mark(call) {
            pieces.push(Vec::new());
        } else if let Some(piece) = pieces.last_mut() {
            piece.push(call.split('(').next().unwrap().to_owned());
        }
    }
    // What comes behind the last mark is the end of the process.
    pieces.pop();
    Some(pieces)
}

#[test]
fn waits_with_the_switches_off_are_plain() {
    let Some(plain) = trace("plain", &[]) else {
        eprintln!("SKIPPED: no strace");
        return;
    };
    assert_eq!(plain.len(), 7, "{plain:?}");
    assert_eq!(plain[..3], [["ppoll"], ["ppoll"], ["nanosleep"]]);
    assert!(plain[5].is_empty(), "a free mutex costs no system call");

    let all = ["SLEEPY_SWEEP", "SLEEPY_MARK", "SLEEPY_START", "SLEEPY_PARK"];
    let all_off = all.map(|name| (name, "0"));
    for (mode, environment) in [("off", &[][..]), ("environment", &all_off), ("gil", &[])] {
        let traced = trace(mode, environment).unwrap();
        assert_eq!(traced, plain, "{mode}");
    }
    if Switches::BUILT == Switches::OFF {
        assert_eq!(trace("on", &[]).unwrap(), plain, "nothing was built");
    }
    if Switches::BUILT != Switches::ON {
        return;
    }
    // A poller is asked through its own descriptor, and is left alone where nothing comes.
    let on = trace("on", &[]).unwrap();
    assert_eq!(on[..3], plain[..3]);
    assert_eq!(on[3], ["ppoll"]);
    assert_eq!(on[4..6], plain[4..6]);
}
