//! The memory of a process, seen from outside.
//!
//! `/proc/PID/statm` costs a few microseconds and no lock that the process would notice, so it is read
//! for each sample. `VmHWM` (the peak as the kernel kept it, which sees what falls between two samples)
//! comes from `status` now and then. Pages given back by `MADV_FREE` still count as resident until the
//! system wants them; `smaps_rollup` knows them, but walks the page tables, so it is read rarely.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// Time between two samples.
pub(super) const INTERVAL: Duration = Duration::from_millis(5);

/// `VmHWM` is read with each so many-th sample.
const PEAK_EVERY: usize = 5;

/// `LazyFree` is read with each so many-th sample.
const LAZY_FREE_EVERY: usize = 100;

/// A process with less than this has not begun: right after `exec` there is a page or two of its stack.
const LEAST_BYTES: u64 = 64 * 1024;

/// One look at the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    /// Since the start of the process.
    pub at: Duration,
    /// Resident memory.
    pub rss_bytes: u64,
}

/// Watches one process.
#[derive(Debug)]
pub(super) struct Sampler {
    pid: u32,
    statm: File,
    started: Instant,
    page_bytes: u64,
    samples: Vec<Sample>,
    peak_bytes: u64,
    lazy_free_bytes: u64,
}

impl Sampler {
    /// Begins to watch `pid`, which was started at `started`.
    pub(super) fn new(pid: u32, started: Instant) -> io::Result<Self> {
        Ok(Self {
            pid,
            statm: File::open(format!("/proc/{pid}/statm"))?,
            started,
            page_bytes: rustix::param::page_size() as u64,
            samples: Vec::with_capacity(4096),
            peak_bytes: 0,
            lazy_free_bytes: 0,
        })
    }

    /// Takes a sample; one of a process that has not begun or has ended is left out.
    pub(super) fn sample(&mut self) {
        let mut buffer = [0; 128];
        let at = self.started.elapsed();
        let Ok(length) = self.statm.read_at(&mut buffer, 0) else {
            return;
        };
        let Some(pages) = parse_statm(&buffer[..length]) else {
            return;
        };
        let rss_bytes = pages * self.page_bytes;
        if rss_bytes < LEAST_BYTES {
            return;
        }
        self.peak_bytes = self.peak_bytes.max(rss_bytes);
        let count = self.samples.len();
        if count.is_multiple_of(PEAK_EVERY) {
            self.peak_bytes = self.peak_bytes.max(self.field_bytes("status", "VmHWM:"));
        }
        if count % LAZY_FREE_EVERY == LAZY_FREE_EVERY - 1 {
            self.lazy_free_bytes = self
                .lazy_free_bytes
                .max(self.field_bytes("smaps_rollup", "LazyFree:"));
        }
        self.samples.push(Sample { at, rss_bytes });
    }

    /// The samples, the peak and the most that was ever free in the lazy way.
    pub(super) fn finish(self) -> (Vec<Sample>, u64, u64) {
        (self.samples, self.peak_bytes, self.lazy_free_bytes)
    }

    /// A field in kB of a file of the process; 0 when the process is gone or has no such field.
    fn field_bytes(&self, file: &str, field: &str) -> u64 {
        fs::read_to_string(format!("/proc/{}/{file}", self.pid))
            .ok()
            .and_then(|text| parse_field_kb(&text, field))
            .map_or(0, |kilobytes| kilobytes * 1024)
    }
}

/// The second number: resident pages.
fn parse_statm(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text)
        .ok()?
        .split_ascii_whitespace()
        .nth(1)?
        .parse()
        .ok()
}

/// `field` as in `VmHWM:      1700 kB`.
fn parse_field_kb(text: &str, field: &str) -> Option<u64> {
    text.lines()
        .find_map(|line| line.strip_prefix(field))?
        .split_ascii_whitespace()
        .next()?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_proc_are_understood() {
        assert_eq!(parse_statm(b"674 425 397 9 0 112 0\n"), Some(425));
        assert_eq!(parse_statm(b""), None);
        let status = "VmPeak:\t 9 kB\nVmHWM:\t    1700 kB\n";
        assert_eq!(parse_field_kb(status, "VmHWM:"), Some(1700));
        assert_eq!(parse_field_kb(status, "LazyFree:"), None);
    }

    #[test]
    fn our_own_process_can_be_watched() {
        let mut sampler = Sampler::new(std::process::id(), Instant::now()).expect("a process");
        for _ in 0..LAZY_FREE_EVERY {
            sampler.sample();
        }
        let (samples, peak_bytes, _) = sampler.finish();
        assert_eq!(samples.len(), LAZY_FREE_EVERY);
        assert!(
            samples
                .iter()
                .all(|sample| (1..=peak_bytes).contains(&sample.rss_bytes))
        );
    }
}
