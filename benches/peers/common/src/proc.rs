//! What the kernel says of this process, read without allocating: looking must not change what is looked at.

use std::ffi::CStr;
use std::io;

/// Reads a file of `/proc` into `buffer` and returns what was read.
///
/// # Errors
/// Those of `open` and `read`.
pub fn read<'b>(path: &CStr, buffer: &'b mut [u8]) -> io::Result<&'b [u8]> {
    // SAFETY: `path` is a C string.
    let fd = unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    let mut used = 0;
    let outcome = loop {
        let rest = &mut buffer[used..];
        if rest.is_empty() {
            break Ok(());
        }
        // SAFETY: `rest` is writable for its length.
        let n = unsafe { libc::read(fd, rest.as_mut_ptr().cast(), rest.len()) };
        match n {
            0 => break Ok(()),
            n if n > 0 => used += n as usize,
            _ => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    break Err(error);
                }
            }
        }
    };
    // SAFETY: `fd` is ours and is not used again.
    unsafe { libc::close(fd) };
    outcome.map(|()| &buffer[..used])
}

/// The number behind `key` in a text of lines `key: number unit`.
fn field(text: &[u8], key: &[u8]) -> Option<u64> {
    let line = text
        .split(|&b| b == b'\n')
        .find(|line| line.starts_with(key))?;
    let mut number = None;
    for &b in &line[key.len()..] {
        if b.is_ascii_digit() {
            number = Some(number.unwrap_or(0) * 10 + u64::from(b - b'0'));
        } else if number.is_some() {
            break;
        }
    }
    number
}

fn status_kib(key: &[u8]) -> u64 {
    let mut buffer = [0; 4096];
    read(c"/proc/self/status", &mut buffer)
        .ok()
        .and_then(|text| field(text, key))
        .unwrap_or(0)
}

/// The resident memory of this process, as the kernel's counters have it (within 64 pages a processor); 0 if it does
/// not say.
pub fn rss_bytes() -> u64 {
    let mut buffer = [0; 256];
    let pages = read(c"/proc/self/statm", &mut buffer)
        .ok()
        .and_then(|text| text.split(|&b| b == b' ').nth(1))
        .and_then(|word| std::str::from_utf8(word).ok()?.parse::<u64>().ok());
    // SAFETY: `sysconf` has no preconditions.
    pages.unwrap_or(0) * unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64
}

/// The largest resident memory since the start or [`reset_peak`]; 0 if the kernel does not say.
pub fn peak_rss_bytes() -> u64 {
    status_kib(b"VmHWM:") * 1024
}

/// The resident memory that comes from files, most of it code; 0 if the kernel does not say.
pub fn file_rss_bytes() -> u64 {
    status_kib(b"RssFile:") * 1024
}

/// Starts a new peak at the present resident memory.
///
/// # Errors
/// Those of writing `/proc/self/clear_refs`.
pub fn reset_peak() -> io::Result<()> {
    // SAFETY: a C string.
    let fd = unsafe {
        libc::open(
            c"/proc/self/clear_refs".as_ptr(),
            libc::O_WRONLY | libc::O_CLOEXEC,
        )
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: one byte of a constant.
    let n = unsafe { libc::write(fd, b"5".as_ptr().cast(), 1) };
    let outcome = if n == 1 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    };
    // SAFETY: `fd` is ours and is not used again.
    unsafe { libc::close(fd) };
    outcome
}

/// Resident memory by a walk of the page tables, and how much of it is `MADV_FREE`d: exact, but it takes a while.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resident {
    /// Everything resident.
    pub rss_bytes: u64,
    /// What the kernel may take without asking.
    pub lazy_free_bytes: u64,
    /// What is in huge pages.
    pub anon_huge_bytes: u64,
}

/// Walks the page tables of this process; zeros if the kernel does not say.
pub fn resident() -> Resident {
    let mut buffer = [0; 4096];
    let Ok(text) = read(c"/proc/self/smaps_rollup", &mut buffer) else {
        return Resident::default();
    };
    let bytes = |key| field(text, key).unwrap_or(0) * 1024;
    Resident {
        rss_bytes: bytes(b"Rss:"),
        lazy_free_bytes: bytes(b"LazyFree:"),
        anon_huge_bytes: bytes(b"AnonHugePages:"),
    }
}

/// A thread of a process, and what it has used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadUse {
    /// Its number.
    pub tid: i32,
    /// Its name.
    pub name: String,
    /// The time that it ran.
    pub cpu_ns: u64,
    /// How often it was put on a processor.
    pub runs: u64,
    /// How often it went to sleep by itself.
    pub sleeps: u64,
}

/// The threads of process `pid`; this one allocates. Threads that end meanwhile are left out.
///
/// # Errors
/// Those of reading `/proc/PID/task`.
pub fn threads(pid: u32) -> io::Result<Vec<ThreadUse>> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let path = entry?.path();
        let read = |file| std::fs::read_to_string(path.join(file));
        let (Ok(name), Ok(sched), Ok(status)) = (read("comm"), read("schedstat"), read("status"))
        else {
            continue;
        };
        let mut words = sched.split_whitespace().map(|w| w.parse().unwrap_or(0));
        let cpu_ns = words.next().unwrap_or(0);
        let runs = words.nth(1).unwrap_or(0);
        all.push(ThreadUse {
            tid: path
                .file_name()
                .and_then(|n| n.to_str()?.parse().ok())
                .unwrap_or(0),
            name: name.trim_end().to_owned(),
            cpu_ns,
            runs,
            sleeps: field(status.as_bytes(), b"voluntary_ctxt_switches:").unwrap_or(0),
        });
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_key() {
        let text = b"Rss:     12 kB\nLazyFree:      7 kB\nEmpty: kB\n";
        assert_eq!(field(text, b"Rss:"), Some(12));
        assert_eq!(field(text, b"LazyFree:"), Some(7));
        assert_eq!(field(text, b"Empty:"), None);
        assert_eq!(field(text, b"Other:"), None);
    }

    #[test]
    fn the_kernel_answers() {
        assert!(rss_bytes() > 0);
        assert!(peak_rss_bytes() > 0);
        assert!(resident().rss_bytes > 0);
        let me = threads(std::process::id()).unwrap();
        assert!(!me.is_empty());
    }
}
