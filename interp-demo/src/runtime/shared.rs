//! What the OS threads of one state share, and how one is started.

use std::io;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use sleepy_gc::idle::{Gil, Policy, Sleeper};

use super::worker::Worker;
use super::{Options, WatchedArena};
use crate::vm::roster::ThreadId;

/// The state, behind the interpreter lock, and what does not change.
pub(super) struct Shared {
    pub gil: Gil<WatchedArena>,
    pub options: Options,
    pub started: Instant,
    /// The program ends: threads other than the first stop where they notice it. It is stored and loaded under the interpreter
    /// lock, which orders both; the type makes it shareable.
    closing: AtomicBool,
    /// What a thread other than the first has asked for: the end of the process, with this status. Locked for a moment only.
    exit: Mutex<Option<(i32, bool)>>,
}

impl Shared {
    pub fn new(arena: WatchedArena, options: Options) -> Shared {
        Shared {
            gil: Gil::new(arena),
            options,
            started: Instant::now(),
            closing: AtomicBool::new(false),
            exit: Mutex::new(None),
        }
    }

    pub fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    pub fn set_closing(&self) {
        self.closing.store(true, Ordering::Relaxed);
    }

    pub fn ask_to_exit(&self, code: i32, close: bool) {
        self.exit.lock().get_or_insert((code, close));
    }

    /// Whether there is an exit to be taken.
    pub fn is_exit_asked_for(&self) -> bool {
        self.exit.lock().is_some()
    }

    /// The exit that was asked for by another thread; once.
    pub fn take_exit(&self) -> Option<(i32, bool)> {
        self.exit.lock().take()
    }

    /// A sleeper for one more thread.
    pub fn sleeper(&self) -> Sleeper {
        Sleeper::new(match self.options.sleepy {
            true => Policy::default(),
            false => Policy::off(),
        })
    }

    /// Starts the OS thread that the state has a place for. It begins when it gets the interpreter lock.
    ///
    /// # Errors
    ///
    /// If the system has no thread to spare.
    pub fn start(self: &Arc<Self>, id: ThreadId) -> io::Result<()> {
        let shared = Arc::clone(self);
        let _blocked = Blocked::signals();
        std::thread::Builder::new()
            .name(format!("lua-{id}"))
            .spawn(move || {
                let mut sleeper = shared.sleeper();
                Worker::new(&shared, &mut sleeper, id).run_thread();
            })
            .map(drop)
    }
}

/// Signals that are for the first thread, blocked while another is started, which inherits that.
struct Blocked(libc::sigset_t);

impl Blocked {
    fn signals() -> Blocked {
        let mut ours = MaybeUninit::<libc::sigset_t>::uninit();
        let mut before = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: the first set is made by `sigemptyset` before it is used; the second is written by `pthread_sigmask`, which can't
        // fail for valid arguments.
        unsafe {
            libc::sigemptyset(ours.as_mut_ptr());
            for signal in [libc::SIGINT, libc::SIGTERM] {
                libc::sigaddset(ours.as_mut_ptr(), signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, ours.as_ptr(), before.as_mut_ptr());
            Blocked(before.assume_init())
        }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: the set is that of before.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, std::ptr::null_mut()) };
    }
}
