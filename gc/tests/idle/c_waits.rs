//! C code that says when it waits: a library in C, compiled and loaded here. Where there is no C compiler, nothing is checked.

use std::ffi::{CStr, CString, c_int, c_void};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use sleepy_gc::idle::c_waits::{C_WAITS, CWaits, sleepy_wait_end, sleepy_wait_start};
use sleepy_gc::idle::{Gil, Policy, Sleeper};

use crate::recorder::{Call, Recorder, policy};

type Read = unsafe extern "C" fn(c_int) -> c_int;

struct Library {
    handle: *mut c_void,
}

impl Library {
    fn load() -> Option<Self> {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("sleepy-c-waits-{}-{number}.so", std::process::id());
        let built = std::env::temp_dir().join(name);
        let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let output = Command::new(compiler)
            .args([
                "-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC",
            ])
            .arg("-I")
            .arg(here.join("include"))
            .arg("-o")
            .arg(&built)
            .arg(here.join("tests/idle/c/library.c"))
            .output();
        let Ok(output) = output else {
            println!("SKIPPED: no C compiler");
            return None;
        };
        assert!(output.status.success(), "{output:?}");
        let path = CString::new(built.as_os_str().as_bytes()).unwrap();
        // SAFETY: a path; the library has no constructors.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        let _ = std::fs::remove_file(&built);
        assert!(!handle.is_null());
        let library = Self { handle };
        // SAFETY: that is its type in the C source; the table is never freed.
        unsafe {
            let init: unsafe extern "C" fn(*const CWaits) =
                std::mem::transmute(library.symbol(c"library_init"));
            init(&raw const C_WAITS);
        }
        Some(library)
    }

    fn symbol(&self, name: &CStr) -> *mut c_void {
        // SAFETY: the library is loaded, and never unloaded.
        let symbol = unsafe { libc::dlsym(self.handle, name.as_ptr()) };
        assert!(!symbol.is_null(), "{name:?}");
        symbol
    }

    fn reader(&self, name: &CStr) -> Read {
        // SAFETY: that is the type of each of them in the C source.
        unsafe { std::mem::transmute(self.symbol(name)) }
    }
}

fn call(read: Read, fd: &UnixStream) -> c_int {
    // SAFETY: an open descriptor.
    unsafe { read(fd.as_raw_fd()) }
}

#[test]
fn c_code_that_waits_collects_lends_and_takes_back() {
    let Some(library) = Library::load() else {
        return;
    };
    let (ours, theirs) = UnixStream::pair().unwrap();
    let wait = |name: &CStr, c: &mut Recorder| {
        let mut sleeper = Sleeper::new(policy());
        let mut theirs = theirs.try_clone().unwrap();
        let is_lent = Arc::new(AtomicBool::new(false));
        let lent = Arc::clone(&is_lent);
        c.when_lent = Some(Box::new(move || lent.store(true, Ordering::Relaxed)));
        let writer = thread::spawn(move || {
            while !is_lent.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(1));
            }
            theirs.write_all(b"x").unwrap();
        });
        let read = library.reader(name);
        assert_eq!(sleeper.call_c(c, || call(read, &ours)), c_int::from(b'x'));
        writer.join().unwrap();
        c.calls()
    };
    let steps = [Call::Step; 3];
    let parked = [Call::Lend, Call::TakeBack];
    assert_eq!(
        wait(c"library_read", &mut Recorder::working(3)),
        [&steps[..], &parked].concat()
    );
    assert_eq!(
        wait(c"library_read_blindly", &mut Recorder::working(3)),
        [&steps[..1], &parked].concat()
    );
    assert_eq!(
        wait(c"library_read_carelessly", &mut Recorder::working(3)),
        [&steps[..], &parked, &parked].concat()
    );
}

#[test]
fn after_the_event_c_code_makes_no_step() {
    let Some(library) = Library::load() else {
        return;
    };
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let read = library.reader(c"library_read");
    let mut sleeper = Sleeper::new(policy());
    let mut c = Recorder::working(100);
    theirs.write_all(b"a").unwrap();
    assert_eq!(
        sleeper.call_c(&mut c, || call(read, &ours)),
        c_int::from(b'a')
    );
    assert_eq!(c.calls(), []);
    c.in_step = Some(Box::new(move |made| {
        if made == 3 {
            theirs.write_all(b"b").unwrap();
        }
    }));
    assert_eq!(
        sleeper.call_c(&mut c, || call(read, &ours)),
        c_int::from(b'b')
    );
    assert_eq!(c.calls(), [Call::Step; 4]);
}

#[test]
fn c_code_gives_up_the_interpreter_lock_while_it_waits() {
    let Some(library) = Library::load() else {
        return;
    };
    for policy in [policy(), Policy::off()] {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        for name in [c"library_read", c"library_read_carelessly"] {
            let gil = Gil::new(Recorder::default());
            let mut guard = gil.lock();
            let mut sleeper = Sleeper::new(policy.clone());
            let read = library.reader(name);
            let byte = thread::scope(|scope| {
                // It writes what the C code waits for, once it has the lock.
                scope.spawn(|| {
                    let _guard = gil.lock();
                    theirs.write_all(b"x").unwrap();
                });
                sleeper.call_c(&mut guard, || call(read, &ours))
            });
            assert_eq!(byte, c_int::from(b'x'));
            assert!(gil.try_lock().is_none(), "the lock is held again");
        }
    }
}

#[test]
fn without_a_call_from_a_runtime_nothing_happens() {
    // SAFETY: there is nothing to call.
    assert!(!unsafe { sleepy_wait_start(None, std::ptr::null_mut()) });
    sleepy_wait_end();
    let mut c = Recorder::working(3);
    let mut sleeper = Sleeper::new(policy());
    // A panic ends the wait that was begun, and the call.
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        sleeper.call_c(&mut c, || {
            // SAFETY: as above.
            unsafe { sleepy_wait_start(None, std::ptr::null_mut()) };
            std::panic::resume_unwind(Box::new("in the call"));
        })
    }));
    assert!(caught.is_err());
    assert_eq!(c.calls(), [Call::Step, Call::Lend, Call::TakeBack]);
    sleepy_wait_end();
    assert_eq!(c.calls().len(), 3);
}
