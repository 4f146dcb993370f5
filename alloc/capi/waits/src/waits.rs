//! The functions in which programs wait.
//!
//! They may be unwound through, when the thread is cancelled while it waits.

use crate::heap;
use crate::next::Next;
use core::ffi::{c_int, c_uint, c_void};
use core::mem::transmute;
use libc::{
    clockid_t, epoll_event, fd_set, nfds_t, pid_t, pollfd, pthread_cond_t, pthread_mutex_t,
    pthread_t, rusage, sem_t, sigset_t, timespec, timeval, useconds_t,
};

/// Exports functions that lend the heap and go on to the next of their name.
macro_rules! waits {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(
            #[doc = concat!("The C library's `", stringify!($name), "`, with the heap lent meanwhile.")]
            ///
            /// # Safety
            /// As the C library says.
            #[unsafe(no_mangle)]
            pub unsafe extern "C-unwind" fn $name($($argument: $type),*) -> $result {
                static NEXT: Next = Next::new(
                    match core::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                        Ok(name) => name,
                        Err(_) => unreachable!(),
                    },
                );
                // SAFETY: functions of this name have this type.
                let next = unsafe {
                    transmute::<*mut c_void, unsafe extern "C-unwind" fn($($type),*) -> $result>(NEXT.get())
                };
                // SAFETY: the arguments are the caller's.
                heap::lent_for(|| unsafe { next($($argument),*) })
            }
        )*
    };
}

waits! {
    poll(fds: *mut pollfd, count: nfds_t, timeout_ms: c_int) -> c_int;
    ppoll(fds: *mut pollfd, count: nfds_t, timeout: *const timespec, mask: *const sigset_t) -> c_int;
    select(count: c_int, read: *mut fd_set, write: *mut fd_set, other: *mut fd_set, timeout: *mut timeval) -> c_int;
    pselect(count: c_int, read: *mut fd_set, write: *mut fd_set, other: *mut fd_set, timeout: *const timespec, mask: *const sigset_t) -> c_int;
    epoll_wait(fd: c_int, events: *mut epoll_event, count: c_int, timeout_ms: c_int) -> c_int;
    epoll_pwait(fd: c_int, events: *mut epoll_event, count: c_int, timeout_ms: c_int, mask: *const sigset_t) -> c_int;
    epoll_pwait2(fd: c_int, events: *mut epoll_event, count: c_int, timeout: *const timespec, mask: *const sigset_t) -> c_int;

    nanosleep(time: *const timespec, rest: *mut timespec) -> c_int;
    clock_nanosleep(clock: clockid_t, flags: c_int, time: *const timespec, rest: *mut timespec) -> c_int;
    sleep(time_s: c_uint) -> c_uint;
    usleep(time_us: useconds_t) -> c_int;

    pthread_cond_wait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) -> c_int;
    pthread_cond_timedwait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, until: *const timespec) -> c_int;
    pthread_cond_clockwait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, clock: clockid_t, until: *const timespec) -> c_int;
    pthread_join(thread: pthread_t, result: *mut *mut c_void) -> c_int;
    sem_wait(semaphore: *mut sem_t) -> c_int;
    sem_timedwait(semaphore: *mut sem_t, until: *const timespec) -> c_int;
    sem_clockwait(semaphore: *mut sem_t, clock: clockid_t, until: *const timespec) -> c_int;

    wait(status: *mut c_int) -> pid_t;
    waitpid(child: pid_t, status: *mut c_int, options: c_int) -> pid_t;
    wait3(status: *mut c_int, options: c_int, usage: *mut rusage) -> pid_t;
    wait4(child: pid_t, status: *mut c_int, options: c_int, usage: *mut rusage) -> pid_t;
}
