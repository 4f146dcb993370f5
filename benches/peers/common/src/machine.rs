//! The machine that the figures were made on.

use serde::Serialize;
use std::fs;

/// What is worth knowing of a machine beside its figures.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// The kernel and its version.
    pub kernel: String,
    /// The name of the processor.
    pub processor: String,
    /// How many processors this process may use.
    pub processors: usize,
    /// Memory.
    pub memory_bytes: u64,
    /// When huge pages are given.
    pub huge_pages: String,
    /// The compiler.
    pub rustc: String,
    /// The load averages when this was made.
    pub load: String,
}

fn text(path: &str) -> String {
    fs::read_to_string(path)
        .map(|t| t.trim().to_owned())
        .unwrap_or_default()
}

/// The load averages over 1, 5 and 15 minutes.
pub fn load() -> String {
    let all = text("/proc/loadavg");
    all.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

impl Machine {
    /// This machine, now.
    pub fn here() -> Self {
        let info = text("/proc/cpuinfo");
        let processor = info
            .lines()
            .find_map(|l| l.strip_prefix("model name")?.split_once(": "))
            .map_or_else(String::new, |(_, name)| name.to_owned());
        let memory_kib = text("/proc/meminfo")
            .lines()
            .next()
            .and_then(|l| l.split_whitespace().nth(1)?.parse::<u64>().ok())
            .unwrap_or(0);
        let rustc = std::process::Command::new("rustc")
            .arg("--version")
            .output()
            .map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned())
            .unwrap_or_default();
        Self {
            kernel: text("/proc/sys/kernel/osrelease"),
            processor,
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: memory_kib * 1024,
            huge_pages: text("/sys/kernel/mm/transparent_hugepage/enabled"),
            rustc,
            load: load(),
        }
    }

    /// One line for the head of a table.
    pub fn line(&self) -> String {
        format!(
            "Linux {}, {} × {}, {:.1} GB, huge pages {}, {}",
            self.kernel,
            self.processors,
            self.processor,
            self.memory_bytes as f64 / 1e9,
            self.huge_pages,
            self.rustc
        )
    }
}
