//! How a handle that was kept gets exact counts: it asks the arena, where it is read on the arena's own thread.

use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

thread_local! {
    /// Its address is the thread's name, as long as the thread lives.
    static HERE: u8 = const { 0 };
}

fn this_thread() -> Option<usize> {
    HERE.try_with(|here| std::ptr::from_ref(here).addr()).ok()
}

/// The arena that is asked, if it is one that stays on its thread.
///
/// A thread that died with its arena forgotten may lend its name to a new one. Nobody else uses such an arena then, and
/// its memory is never given back.
#[derive(Debug)]
pub(super) struct Exact {
    asked: OnceLock<Asked>,
    /// The state that `update` is called with; null once the arena is dropped. Relaxed: it is written on the arena's
    /// thread, and used there only.
    context: AtomicPtr<()>,
}

#[derive(Debug)]
struct Asked {
    thread: usize,
    update: unsafe fn(NonNull<()>),
}

impl Exact {
    pub(super) const fn new() -> Self {
        Self {
            asked: OnceLock::new(),
            context: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// # Safety
    ///
    /// `update` may be called with `context` on this thread, outside of the arena's own bookkeeping, until
    /// [`Exact::forget`].
    pub(super) unsafe fn ask(&self, context: NonNull<()>, update: unsafe fn(NonNull<()>)) {
        if let Some(thread) = this_thread()
            && self.asked.set(Asked { thread, update }).is_ok()
        {
            self.context.store(context.as_ptr(), Ordering::Relaxed);
        }
    }

    pub(super) fn forget(&self) {
        self.context.store(std::ptr::null_mut(), Ordering::Relaxed);
    }

    /// Has the arena bring its counters up to date, where that is possible.
    pub(super) fn update(&self) {
        if let Some(context) = NonNull::new(self.context.load(Ordering::Relaxed))
            && let Some(asked) = self.asked.get()
            && this_thread() == Some(asked.thread)
        {
            // SAFETY: this is the thread on which `ask` was called, and `forget` was not.
            unsafe { (asked.update)(context) };
        }
    }
}
