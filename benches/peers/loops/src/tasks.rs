//! The threads of this process: what each has used and how often it went to sleep.
//!
//! Reading them allocates nothing, so that it does not disturb the allocator that is watched.

use crate::usage::clock_ns;
use peers_common::proc;
use rustix::fs::{CWD, Mode, OFlags, RawDir, openat};
use rustix::time::ClockId;
use std::ffi::CStr;
use std::io;
use std::io::Write;
use std::mem::MaybeUninit;

/// How many threads are looked at.
const TASKS: usize = 64;

/// Whose work a thread does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The program's first thread.
    Main,
    /// Another thread that the program started and named so: `pool` or `worker`.
    Own,
    /// Any other: a thread of the allocator.
    Helper,
}

/// One thread at one moment.
#[derive(Clone, Copy)]
struct Task {
    id: i32,
    role: Role,
    cpu_ns: u64,
    sleeps: u64,
}

/// All threads at one moment.
pub struct Tasks {
    tasks: [Option<Task>; TASKS],
}

/// What the threads of one role did between two moments.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Work {
    /// Threads that exist at the end.
    pub threads: u64,
    /// CPU time.
    pub cpu_ns: u64,
    /// Times that a thread gave the processor up to wait: its voluntary context switches.
    pub sleeps: u64,
}

impl Tasks {
    /// Looks at every thread.
    pub fn now() -> io::Result<Self> {
        let mut tasks = [None; TASKS];
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(CWD, "/proc/self/task", flags, Mode::empty())?;
        let mut space = [MaybeUninit::uninit(); 2048];
        let mut entries = RawDir::new(&folder, &mut space);
        let mut free = tasks.iter_mut();
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else {
                continue;
            };
            let Ok(id) = name.parse() else { continue };
            // A thread that has ended meanwhile has nothing to say.
            if let (Ok(task), Some(slot)) = (Task::read(id), free.next()) {
                *slot = Some(task);
            }
        }
        Ok(Self { tasks })
    }

    /// What the threads of `role` did since `before`.
    pub fn since(&self, before: &Self, role: Role) -> Work {
        let mut work = Work::default();
        for task in self.tasks.iter().flatten().filter(|t| t.role == role) {
            let then = before.tasks.iter().flatten().find(|t| t.id == task.id);
            work.threads += 1;
            work.cpu_ns += task.cpu_ns - then.map_or(0, |then| then.cpu_ns);
            work.sleeps += task.sleeps - then.map_or(0, |then| then.sleeps);
        }
        work
    }
}

impl Task {
    fn read(id: i32) -> io::Result<Self> {
        let mut space = [0; 4096];
        // What the kernel says of a thread that runs is as old as its last tick; of its own time a thread can ask a clock.
        let cpu_ns = if id == own_id() {
            clock_ns(ClockId::ThreadCPUTime)
        } else {
            first_number(read_file(id, "schedstat", &mut space)?)
        };
        let name = read_file(id, "comm", &mut space)?;
        let is_first = id == rustix::process::getpid().as_raw_nonzero().get();
        let role = match name {
            _ if is_first => Role::Main,
            name if name.starts_with(b"pool") || name.starts_with(b"worker") => Role::Own,
            _ => Role::Helper,
        };
        let sleeps = status(id, b"\nvoluntary_ctxt_switches:\t", &mut space)?;
        Ok(Self {
            id,
            role,
            cpu_ns,
            sleeps,
        })
    }
}

/// Times that the processor was taken away from a thread of this process.
pub fn preemptions_of(id: i32) -> io::Result<u64> {
    status(id, b"\nnonvoluntary_ctxt_switches:\t", &mut [0; 4096])
}

fn status(id: i32, key: &[u8], space: &mut [u8]) -> io::Result<u64> {
    let status = read_file(id, "status", space)?;
    let at = status.windows(key.len()).position(|part| part == key);
    Ok(at.map_or(0, |at| first_number(&status[at + key.len()..])))
}

/// The calling thread's number.
pub fn own_id() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

fn first_number(text: &[u8]) -> u64 {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |number, digit| number * 10 + u64::from(digit - b'0'))
}

fn read_file<'s>(id: i32, file: &str, space: &'s mut [u8]) -> io::Result<&'s [u8]> {
    let mut path = [0; 64];
    write!(&mut path[..], "/proc/self/task/{id}/{file}\0")?;
    let path = CStr::from_bytes_until_nul(&path).map_err(io::Error::other)?;
    proc::read(path, space)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_sleeps_is_seen_to_sleep() {
        let before = Tasks::now().unwrap();
        let worker = std::thread::Builder::new().name("worker".into());
        let (tell, told) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel();
        let worker = worker
            .spawn(move || {
                for _ in 0..5 {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
                tell.send(()).unwrap();
                ended.recv().unwrap();
            })
            .unwrap();
        told.recv().unwrap();
        let work = Tasks::now().unwrap().since(&before, Role::Own);
        end.send(()).unwrap();
        worker.join().unwrap();
        assert_eq!(work.threads, 1);
        assert!(work.sleeps >= 5, "{work:?}");
    }
}
