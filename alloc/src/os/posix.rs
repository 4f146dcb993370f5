//! What every Unix has: mappings, the clock, the environment.

use core::ffi::{CStr, c_char};
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// Stack of the scavenger, which needs a few KiB.
const STACK_BYTES: usize = 128 * 1024;

/// How memory is mapped. Where there is no such flag address space is never charged for.
pub(super) const ANONYMOUS: libc::c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | NORESERVE;
#[cfg(not(any(target_os = "freebsd", target_os = "dragonfly")))]
const NORESERVE: libc::c_int = libc::MAP_NORESERVE;
#[cfg(any(target_os = "freebsd", target_os = "dragonfly"))]
const NORESERVE: libc::c_int = 0;

/// Where aligned mappings are tried, from a place by chance in this range on: far above programs and heaps, far below
/// libraries and stacks.
const HINTS: core::ops::Range<usize> = 4 << 40..20 << 40;

/// Aligned addresses tried before asking for more than is needed and cutting.
const HINT_TRIES: usize = 8;

/// The next aligned address to try, or 0 before the first. Relaxed: a hint only, a lost update costs one try.
static NEXT_HINT: AtomicUsize = AtomicUsize::new(0);

/// Maps `bytes` at `hint` or wherever the kernel likes.
pub(super) fn map(hint: Option<usize>, bytes: usize) -> Option<NonNull<u8>> {
    let address = hint.map_or(ptr::null_mut(), ptr::without_provenance_mut);
    // SAFETY: a new private anonymous mapping without MAP_FIXED replaces nothing.
    let result = unsafe {
        libc::mmap(
            address,
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            ANONYMOUS,
            -1,
            0,
        )
    };
    if result == libc::MAP_FAILED {
        None
    } else {
        NonNull::new(result.cast())
    }
}

/// See [`super::map_aligned`].
pub(super) fn map_aligned(bytes: usize, align_bytes: usize) -> Option<NonNull<u8>> {
    if NEXT_HINT.load(Ordering::Relaxed) == 0 {
        let _ = NEXT_HINT.compare_exchange(0, chance_hint(), Ordering::Relaxed, Ordering::Relaxed);
    }
    let step = bytes.next_multiple_of(align_bytes);
    for _ in 0..HINT_TRIES {
        let hint = NEXT_HINT
            .fetch_add(step, Ordering::Relaxed)
            .next_multiple_of(align_bytes);
        let found = map(Some(hint), bytes)?;
        if found.addr().get().is_multiple_of(align_bytes) {
            return Some(found);
        }
        // SAFETY: just mapped, used by nobody.
        unsafe { unmap(found, bytes) };
    }
    cut_aligned(bytes, align_bytes)
}

/// An address to try that cannot be known beforehand: made from where the kernel has put the stack and the program.
fn chance_hint() -> usize {
    let local = 0u8;
    let seed = (ptr::from_ref(&local).addr() as u64)
        ^ (ptr::from_ref(&NEXT_HINT).addr() as u64).rotate_left(20);
    let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16;
    HINTS.start + mixed as usize % (HINTS.end - HINTS.start)
}

/// Maps more than is needed and unmaps what lies before and after the aligned part.
fn cut_aligned(bytes: usize, align_bytes: usize) -> Option<NonNull<u8>> {
    let whole = map(None, bytes.checked_add(align_bytes)?)?;
    let before = whole.addr().get().next_multiple_of(align_bytes) - whole.addr().get();
    // SAFETY: `before` is less than the alignment, so the aligned part and what surrounds it lie in the mapping.
    let aligned = unsafe { whole.add(before) };
    if before > 0 {
        // SAFETY: a part of the new mapping that nobody uses.
        unsafe { unmap(whole, before) };
    }
    let after = align_bytes - before;
    if after > 0 {
        // SAFETY: as above; `bytes + after` ends at the end of the mapping.
        unsafe { unmap(aligned.add(bytes), after) };
    }
    Some(aligned)
}

/// See [`super::unmap`].
pub(super) unsafe fn unmap(ptr: NonNull<u8>, bytes: usize) {
    // SAFETY: the caller owns the whole range. A failure leaves it mapped, which costs address space only.
    unsafe {
        libc::munmap(ptr.as_ptr().cast(), bytes);
    }
}

/// Bytes in an OS page.
pub(crate) fn page_bytes() -> usize {
    static PAGE_BYTES: AtomicUsize = AtomicUsize::new(0);
    // Relaxed: a number that every thread computes alike.
    match PAGE_BYTES.load(Ordering::Relaxed) {
        0 => {
            // SAFETY: sysconf only reads.
            let found = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
            let bytes = usize::try_from(found).unwrap_or(4096).max(4096);
            PAGE_BYTES.store(bytes, Ordering::Relaxed);
            bytes
        }
        bytes => bytes,
    }
}

/// Whether more than one processor is online; spinning is of no use on one.
pub(crate) fn has_many_cpus() -> bool {
    /// 0 unknown, 1 one, 2 many. Relaxed: a fact that every thread finds alike.
    static CPUS: AtomicU32 = AtomicU32::new(0);
    match CPUS.load(Ordering::Relaxed) {
        0 => {
            // SAFETY: sysconf only reads.
            let many = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) } != 1;
            CPUS.store(1 + u32::from(many), Ordering::Relaxed);
            many
        }
        found => found == 2,
    }
}

/// The monotonic clock.
pub(crate) fn now_ns() -> u64 {
    let mut now = timespec(0);
    // SAFETY: writes one timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// A duration as the C interfaces want it.
#[expect(
    clippy::allow_attributes,
    reason = "the casts are needed on some targets only"
)]
pub(super) fn timespec(ns: u64) -> libc::timespec {
    #[allow(clippy::unnecessary_cast)]
    libc::timespec {
        tv_sec: (ns / 1_000_000_000) as _,
        tv_nsec: (ns % 1_000_000_000) as _,
    }
}

/// Lets another thread run.
pub(crate) fn yield_now() {
    // SAFETY: no arguments, no effect on memory.
    unsafe {
        libc::sched_yield();
    }
}

/// Writes to standard error, as much as it takes at once.
pub(crate) fn write_stderr(text: &[u8]) {
    // SAFETY: reads `text` only.
    unsafe {
        call::write(2, text.as_ptr().cast(), text.len());
    }
}

/// Calls of the C library at which a thread could be cancelled, and would leave a lock of ours behind.
#[cfg(not(target_os = "linux"))]
use libc as call;

/// The same system calls without a look at whether the thread is to be cancelled.
#[cfg(target_os = "linux")]
mod call {
    use core::ffi::{c_char, c_int, c_long, c_void};

    pub(super) unsafe fn write(file: c_int, text: *const c_void, bytes: usize) -> c_long {
        // SAFETY: passed on.
        unsafe { libc::syscall(libc::SYS_write, file, text, bytes) }
    }

    pub(super) unsafe fn open(path: *const c_char, flags: c_int) -> c_int {
        // SAFETY: passed on; without O_CREAT the mode is not looked at.
        unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path, flags, 0) as c_int }
    }

    pub(super) unsafe fn read(file: c_int, buffer: *mut c_void, bytes: usize) -> c_long {
        // SAFETY: passed on.
        unsafe { libc::syscall(libc::SYS_read, file, buffer, bytes) }
    }

    pub(super) unsafe fn close(file: c_int) {
        // SAFETY: passed on.
        unsafe {
            libc::syscall(libc::SYS_close, file);
        }
    }
}

/// See [`super::read_file`].
pub(super) fn read_file(path: &CStr, buffer: &mut [u8]) -> Option<usize> {
    // SAFETY: opens a file by a C string, reads at most the length of the buffer into it, and closes what was opened.
    let length = unsafe {
        let file = call::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return None;
        }
        let length = call::read(file, buffer.as_mut_ptr().cast(), buffer.len());
        call::close(file);
        length
    };
    usize::try_from(length).ok()
}

/// See [`super::exists`].
pub(super) fn exists(path: &CStr) -> bool {
    // SAFETY: reads a C string.
    unsafe { libc::access(path.as_ptr(), libc::F_OK) == 0 }
}

/// Has `f` called when the process exits by `exit` or by returning from `main`. The C library may allocate for this.
pub(crate) fn at_exit(f: extern "C" fn()) {
    // SAFETY: the function may run at any time; without memory for the entry it is not called.
    unsafe {
        libc::atexit(f);
    }
}

/// The array of the environment; null before the C library has set it.
fn environment() -> *const *const c_char {
    #[cfg(target_vendor = "apple")]
    // SAFETY: gives the address of the variable, which lives as long as the process.
    unsafe {
        (*libc::_NSGetEnviron()).cast_const().cast()
    }
    #[cfg(not(target_vendor = "apple"))]
    {
        unsafe extern "C" {
            static mut environ: *const *const c_char;
        }
        // SAFETY: the C library defines it as a pointer.
        unsafe { environ }
    }
}

/// Calls `f` with the rest of the name and the value of each environment variable whose name starts with `prefix`.
///
/// False: there is no environment yet, or none at all. Like `getenv` this must not race with a change of it; it is
/// called once that is true, before the first heap.
pub(crate) fn each_variable(prefix: &[u8], f: impl FnMut(&[u8], &[u8])) -> bool {
    let first = environment();
    if first.is_null() {
        return false;
    }
    // SAFETY: the C library keeps a null-terminated array of C strings here.
    unsafe { each_in(first, prefix, f) };
    true
}

/// One pass over the array: each entry is read once, and of an entry with another name only as much as is equal.
///
/// # Safety
/// `entry` points at a null-terminated array of pointers to C strings, which nobody changes meanwhile.
unsafe fn each_in(mut entry: *const *const c_char, prefix: &[u8], mut f: impl FnMut(&[u8], &[u8])) {
    // SAFETY: the array ends with null, which is not passed.
    while let Some(text) = NonNull::new(unsafe { entry.read() }.cast_mut()) {
        // SAFETY: bytes are read up to the first that differs, so never beyond the null that ends the string.
        let has_prefix =
            (0..prefix.len()).all(|at| unsafe { text.add(at).read() } as u8 == prefix[at]);
        if has_prefix {
            // SAFETY: a C string, as it began with the prefix at least as long.
            let rest = unsafe { CStr::from_ptr(text.as_ptr().add(prefix.len())) }.to_bytes();
            if let Some(equals) = rest.iter().position(|&byte| byte == b'=') {
                f(&rest[..equals], &rest[equals + 1..]);
            }
        }
        // SAFETY: behind an entry that is not null there is another.
        entry = unsafe { entry.add(1) };
    }
}

/// Starts a detached thread with every signal blocked but those of faults. False if there can be none.
pub(crate) fn spawn(main: extern "C" fn(*mut libc::c_void) -> *mut libc::c_void) -> bool {
    // SAFETY: the structures are initialised before they are read; the thread function takes no argument.
    unsafe {
        let mut all: libc::sigset_t = core::mem::zeroed();
        let mut old: libc::sigset_t = core::mem::zeroed();
        libc::sigfillset(&mut all);
        for fault in [
            libc::SIGSEGV,
            libc::SIGBUS,
            libc::SIGILL,
            libc::SIGFPE,
            libc::SIGTRAP,
            libc::SIGABRT,
            libc::SIGSYS,
        ] {
            libc::sigdelset(&mut all, fault);
        }
        if libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut old) != 0 {
            return false;
        }
        let mut thread: libc::pthread_t = core::mem::zeroed();
        let mut attributes: libc::pthread_attr_t = core::mem::zeroed();
        libc::pthread_attr_init(&mut attributes);
        libc::pthread_attr_setdetachstate(&mut attributes, libc::PTHREAD_CREATE_DETACHED);
        libc::pthread_attr_setstacksize(&mut attributes, STACK_BYTES);
        let mut failed = libc::pthread_create(&mut thread, &attributes, main, ptr::null_mut());
        libc::pthread_attr_destroy(&mut attributes);
        if failed == libc::EINVAL {
            // Too small a stack for the program's thread-local data.
            failed = libc::pthread_create(&mut thread, ptr::null(), main, ptr::null_mut());
            if failed == 0 {
                libc::pthread_detach(thread);
            }
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &old, ptr::null_mut());
        failed == 0
    }
}

/// Has `ended` called when the calling thread ends. Without a key to be had it never is.
pub(crate) fn at_thread_end(ended: extern "C" fn(*mut libc::c_void)) {
    /// The key plus one; 0 before there is one. Relaxed: a number, and what is behind it the C library guards itself.
    static KEY: AtomicUsize = AtomicUsize::new(0);
    let mut key = KEY.load(Ordering::Relaxed);
    if key == 0 {
        let mut made: libc::pthread_key_t = 0;
        // SAFETY: the destructor may be called at the end of any thread.
        if unsafe { libc::pthread_key_create(&mut made, Some(destructor(ended))) } != 0 {
            return;
        }
        match KEY.compare_exchange(0, made as usize + 1, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => key = made as usize + 1,
            Err(other) => {
                // SAFETY: nobody has used this key.
                unsafe { libc::pthread_key_delete(made) };
                key = other;
            }
        }
    }
    // SAFETY: the key exists for good; any value but null has the destructor called.
    unsafe {
        libc::pthread_setspecific((key - 1) as libc::pthread_key_t, ptr::without_provenance(1))
    };
}

/// The function as the C library wants it.
fn destructor(ended: extern "C" fn(*mut libc::c_void)) -> unsafe extern "C" fn(*mut libc::c_void) {
    ended
}

/// Has the functions called around every fork, in the parent before and after it, and in the child.
pub(crate) fn at_fork(prepare: extern "C" fn(), parent: extern "C" fn(), child: extern "C" fn()) {
    // SAFETY: the functions may be called at any fork; without memory for the entry they are not called.
    unsafe {
        libc::pthread_atfork(Some(prepare), Some(parent), Some(child));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[&CStr]) -> Vec<(String, String)> {
        let mut entries: Vec<_> = variables.iter().map(|text| text.as_ptr()).collect();
        entries.push(ptr::null());
        let mut found = Vec::new();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        // SAFETY: the array ends with null and lives until the end of this function.
        unsafe {
            each_in(entries.as_ptr(), b"SLEEPY_", |name, value| {
                found.push((text(name), text(value)));
            });
        }
        found
    }

    #[test]
    fn variables_with_the_prefix_are_found_in_one_pass() {
        assert_eq!(found(&[]), []);
        assert_eq!(found(&[c"HOME=/", c"SLEEP=1", c"", c"SLEEPY_"]), []);
        let pairs = found(&[
            c"SLEEPY_A=1",
            c"X=SLEEPY_B=2",
            c"SLEEPY_C=",
            c"SLEEPY_D",
            c"SLEEPY_=e=f",
        ]);
        let expected = [("A", "1"), ("C", ""), ("", "e=f")];
        assert!(
            pairs
                .iter()
                .map(|(name, value)| (&**name, &**value))
                .eq(expected)
        );
    }
}
