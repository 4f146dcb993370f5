//! Waits of C code: the two halves around a wait, as C functions. `include/sleepy_waits.h` declares them.
//!
//! C knows neither sleeper nor collector. [`Sleeper::call_c`] leaves both at a place of the thread, for as long as the call takes, where
//! [`sleepy_wait_start`] and [`sleepy_wait_end`] find them. The collector is borrowed for the call, so nothing else uses it meanwhile.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;

use super::collector::Collector;
use super::site::{Kind, SiteId};
use super::sleeper::Sleeper;
use super::stand_in::StandIn;

/// Looks whether what is waited for is there, without waiting.
pub type Ready = unsafe extern "C" fn(data: *mut c_void) -> bool;

/// The two calls, for libraries that are loaded into a program which does not export its symbols (`sleepy_waits_t`).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CWaits {
    /// [`sleepy_wait_start`].
    pub start: unsafe extern "C" fn(ready: Option<Ready>, data: *mut c_void) -> bool,
    /// [`sleepy_wait_end`].
    pub end: extern "C" fn(),
}

/// The table to give to C.
pub static C_WAITS: CWaits = CWaits {
    start: sleepy_wait_start,
    end: sleepy_wait_end,
};

thread_local! {
    /// The innermost call that is under way, while it is not being used. Whoever uses it takes it out, so that what that calls finds none.
    static CALL: Cell<Option<NonNull<dyn Halves>>> = const { Cell::new(None) };
}

impl Sleeper {
    /// Calls C code that says when it waits, by `sleepy_wait_start` and `sleepy_wait_end` of `include/sleepy_waits.h`: the collector works
    /// until what is waited for is there, then the heap is lent and the interpreter lock given up for as long as the C code waits.
    ///
    /// When this returns, or unwinds, the lock is held and the heap taken back, whatever halves were called.
    ///
    /// ```
    /// # use std::ffi::c_int;
    /// # use sleepy_gc::{Rootable, idle::{Gil, Policy, SendArena, Sleeper}};
    /// # extern "C" fn pg_fetch_rows() -> c_int { 3 }
    /// let gil = Gil::new(SendArena::<Rootable![u32]>::new(|_| 0));
    /// let mut sleeper = Sleeper::new(Policy::default());
    /// let mut arena = gil.lock();
    /// // `pg_fetch_rows` is written in C.
    /// let rows = sleeper.call_c(&mut arena, || pg_fetch_rows());
    /// assert_eq!(rows, 3);
    /// ```
    pub fn call_c<C: Collector, T>(&mut self, c: &mut C, call: impl FnOnce() -> T) -> T {
        let mut scope = Scope {
            sleeper: self,
            collector: c,
            waits: None,
        };
        let halves: NonNull<dyn Halves + '_> = NonNull::from(&mut scope);
        // SAFETY: only the lifetime is left out: `Restore` takes the pointer away before `scope` ends, and before its borrows do.
        let halves: NonNull<dyn Halves> = unsafe { std::mem::transmute(halves) };
        let restore = Restore {
            before: CALL.replace(Some(halves)),
            halves,
        };
        let value = call();
        drop(restore);
        value
    }
}

/// Ends a call: a wait that was left open is over, and C finds what it found before.
struct Restore {
    before: Option<NonNull<dyn Halves>>,
    halves: NonNull<dyn Halves>,
}

impl Drop for Restore {
    fn drop(&mut self) {
        CALL.set(self.before);
        // SAFETY: the scope is alive, and nobody else has a reference to it: what is called here does not find it any more.
        unsafe { self.halves.as_mut() }.end();
    }
}

/// What a call from C can ask for.
trait Halves {
    /// Whether what is waited for is there.
    fn start(&mut self, site: u64, ready: Option<&mut dyn FnMut() -> bool>) -> bool;
    fn end(&mut self);
}

struct Scope<'s, C> {
    sleeper: &'s mut Sleeper,
    collector: &'s mut C,
    /// Whether the first half was called, and who stands in meanwhile.
    waits: Option<Option<Arc<StandIn>>>,
}

impl<C: Collector> Halves for Scope<'_, C> {
    fn start(&mut self, site: u64, ready: Option<&mut dyn FnMut() -> bool>) -> bool {
        self.end();
        let site = SiteId::new(Kind::Foreign, site);
        if self.sleeper.half_begins(self.collector, site, ready) {
            return true;
        }
        self.waits = Some(self.sleeper.hang_stand_in(self.collector));
        // SAFETY: until `end` nothing is done with the collector, which is borrowed for as long as this lives.
        unsafe { self.collector.give_up() };
        false
    }

    fn end(&mut self) {
        let Some(stand_in) = self.waits.take() else {
            return;
        };
        if let Some(stand_in) = &stand_in {
            // Before the lock is taken, for which a helper may be waiting.
            stand_in.end();
        }
        // SAFETY: it was given up.
        unsafe { self.collector.retake() };
        if let Some(stand_in) = &stand_in {
            self.sleeper.take_down_stand_in(self.collector, stand_in);
        }
        self.sleeper.wait_ends(self.collector);
    }
}

/// Uses the call under way, if there is one, which is not found meanwhile.
fn with_call<T>(use_it: impl FnOnce(&mut dyn Halves) -> T) -> Option<T> {
    let mut halves = CALL.take()?;
    // SAFETY: it is there until `Restore` takes it away, on this thread; and it was taken out, so that this is the only reference.
    let value = use_it(unsafe { halves.as_mut() });
    CALL.set(Some(halves));
    Some(value)
}

/// Before a wait: collects for as long as `ready` says that the caller would have to wait, then lends the heap and gives up the interpreter
/// lock. `true`: what is waited for is there, and nothing was lent.
///
/// Without `ready` one step is made at most. Outside of [`Sleeper::call_c`] this does nothing, and says no. A panic of the collector ends
/// the process.
///
/// # Safety
///
/// - `ready` may be called with `data`, on this thread, until this returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleepy_wait_start(ready: Option<Ready>, data: *mut c_void) -> bool {
    let site = ready.map_or(0, |ready| ready as usize as u64);
    let mut look = ready.map(|ready| {
        move || {
            // SAFETY: the caller's contract.
            unsafe { ready(data) }
        }
    });
    let look = look.as_mut().map(|look| look as &mut dyn FnMut() -> bool);
    with_call(|halves| halves.start(site, look)).unwrap_or(false)
}

/// After a wait: takes the interpreter lock and the heap back. Does nothing where no wait was begun.
#[unsafe(no_mangle)]
pub extern "C" fn sleepy_wait_end() {
    with_call(|halves| halves.end());
}
