//! What the machine is short of, and what that does to prices.
//!
//! An idle process is not an idle machine: what it collects while it waits it takes from whoever else could run. So the prices that a
//! cycle may cost fall where processors are waited for, and rise where memory is. [`Reading`] is pure; [`read`] asks the kernel.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use parking_lot::Mutex;

use super::forks::PerProcess;
use super::policy::Policy;

/// What the kernel says of the last ten seconds (of the last minute, for the load).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Reading {
    /// The share of time in which somebody waited for a processor, in percent.
    pub(super) cpu_percent: Option<f32>,
    /// How many threads ran or wanted to, for each processor. Counts where there is no better.
    pub(super) load_per_cpu: Option<f32>,
    /// The share of time in which somebody waited for memory, in percent.
    pub(super) memory_percent: Option<f32>,
}

/// Below this share processors are not scarce: two threads meet on one now and then while another is free.
const BUSY_FROM_PERCENT: f32 = 50.0;

/// From here on memory counts as wholly short: much of the time goes into finding some.
const SHORT_AT_PERCENT: f32 = 10.0;

impl Reading {
    /// What is left, or becomes, of the policy's prices, in percent of them.
    pub(super) fn price_percent(&self, policy: &Policy) -> u32 {
        let waited_percent = match (self.cpu_percent, self.load_per_cpu) {
            (Some(percent), _) => percent,
            // A load of twice the processors is as busy as it gets; one of as many is not busy yet.
            (None, Some(load)) => BUSY_FROM_PERCENT + (load - 1.0) * (100.0 - BUSY_FROM_PERCENT),
            (None, None) => 0.0,
        };
        let busy = (waited_percent - BUSY_FROM_PERCENT) / (100.0 - BUSY_FROM_PERCENT);
        let short = self.memory_percent.unwrap_or(0.0) / SHORT_AT_PERCENT;
        let towards = |percent: u16, share: f32| {
            let share = if share.is_nan() { 0.0 } else { share };
            100.0 + (f32::from(percent) - 100.0) * share.clamp(0.0, 1.0)
        };
        let braked = towards(policy.busy_price_percent.min(100), busy);
        let spurred = towards(policy.short_memory_price_percent.max(100), short);
        // Both are positive and small: at most 100, and 65,535.
        (braked * spurred / 100.0).round() as u32
    }
}

/// The figure behind `avg10=` in the line of `some`.
fn pressure_of(text: &str) -> Option<f32> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let average = some
        .split_whitespace()
        .find_map(|field| field.strip_prefix("avg10="))?;
    average.parse().ok()
}

/// The first figure of `/proc/loadavg`.
fn load_of(text: &str) -> Option<f32> {
    text.split_whitespace().next()?.parse().ok()
}

/// The cgroup of version 2, in the text of `/proc/self/cgroup`.
fn cgroup_of(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.strip_prefix("0::"))
}

/// The files, open: reading one costs a system call.
#[derive(Debug)]
struct Machine {
    cpu: Option<File>,
    load: Option<File>,
    memory: Option<File>,
    cpus: f32,
    read_at_ns: u64,
    reading: Reading,
}

/// For how long a reading holds: the kernel makes it anew every two seconds.
pub(super) const HOLDS_NS: u64 = 1_000_000_000;

/// One reading serves all threads of a process. No other lock is taken under this one.
static MACHINE: PerProcess<Mutex<Option<Machine>>> = PerProcess::new();

/// What the machine is short of; a second old at most.
pub(super) fn read(now_ns: u64) -> Reading {
    let mut machine = MACHINE.get().lock();
    let machine = machine.get_or_insert_with(Machine::open);
    if machine.read_at_ns == 0 || now_ns.saturating_sub(machine.read_at_ns) >= HOLDS_NS {
        machine.read_at_ns = now_ns;
        machine.reading = machine.read();
    }
    machine.reading
}

impl Machine {
    fn open() -> Self {
        let open = |path: &Path| File::open(path).ok();
        // The limits that count are those of our own group, where it has any.
        let own_memory = std::fs::read_to_string("/proc/self/cgroup")
            .ok()
            .and_then(|text| {
                let group = cgroup_of(&text)?.trim_start_matches('/').to_owned();
                let path = Path::new("/sys/fs/cgroup").join(group);
                open(&path.join("memory.pressure"))
            });
        Self {
            cpu: open(Path::new("/proc/pressure/cpu")),
            load: open(Path::new("/proc/loadavg")),
            memory: own_memory.or_else(|| open(Path::new("/proc/pressure/memory"))),
            cpus: std::thread::available_parallelism().map_or(1.0, |count| count.get() as f32),
            read_at_ns: 0,
            reading: Reading::default(),
        }
    }

    fn read(&self) -> Reading {
        let text = |file: &Option<File>| read_start(file.as_ref()?).ok();
        let pressure = |file| text(file).and_then(|text| pressure_of(&text));
        let cpu_percent = pressure(&self.cpu);
        let load = match cpu_percent {
            Some(_) => None,
            None => text(&self.load).and_then(|text| load_of(&text)),
        };
        Reading {
            cpu_percent,
            load_per_cpu: load.map(|load| load / self.cpus),
            memory_percent: pressure(&self.memory),
        }
    }
}

fn read_start(file: &File) -> io::Result<String> {
    let mut buffer = [0; 256];
    let count = file.read_at(&mut buffer, 0)?;
    Ok(String::from_utf8_lossy(&buffer[..count]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::super::test_fork::in_child;
    use super::*;
    use proptest::prelude::*;

    fn percent(cpu: Option<f32>, load: Option<f32>, memory: Option<f32>) -> u32 {
        Reading {
            cpu_percent: cpu,
            load_per_cpu: load,
            memory_percent: memory,
        }
        .price_percent(&Policy::default())
    }

    #[test]
    fn prices_stay_where_nothing_is_short_or_known() {
        assert_eq!(percent(None, None, None), 100);
        assert_eq!(percent(Some(0.0), Some(50.0), Some(0.0)), 100);
        assert_eq!(percent(Some(50.0), None, None), 100);
        assert_eq!(percent(None, Some(0.2), None), 100);
        assert_eq!(percent(None, Some(1.0), None), 100);
    }

    #[test]
    fn they_fall_where_processors_are_waited_for_and_rise_where_memory_is() {
        assert_eq!(percent(Some(75.0), None, None), 63);
        assert_eq!(percent(Some(100.0), None, None), 25);
        assert_eq!(percent(None, Some(2.0), None), 25);
        assert_eq!(percent(None, Some(90.0), None), 25);
        assert_eq!(percent(Some(0.0), None, Some(5.0)), 250);
        assert_eq!(percent(Some(0.0), None, Some(60.0)), 400);
        assert_eq!(
            percent(Some(100.0), None, Some(60.0)),
            100,
            "short of both: as ever"
        );
    }

    proptest! {
        /// Whatever the kernel says, also nonsense.
        #[test]
        fn prices_stay_within_the_policy(cpu: Option<f32>, load: Option<f32>, memory: Option<f32>) {
            prop_assert!((25..=400).contains(&percent(cpu, load, memory)));
        }

        #[test]
        fn a_busier_machine_is_never_collected_more(cpu in 0f32..100.0, more in 0f32..100.0, memory in 0f32..100.0) {
            let (less, more) = (Some(cpu.min(more)), Some(cpu.max(more)));
            prop_assert!(percent(more, None, Some(memory)) <= percent(less, None, Some(memory)));
        }

        #[test]
        fn no_text_is_too_odd(text in ".*") {
            let _ = (pressure_of(&text), load_of(&text), cgroup_of(&text));
        }
    }

    #[test]
    fn the_kernels_texts_are_understood() {
        let text = "some avg10=99.16 avg60=99.02 avg300=98.95 total=9449044647\nfull avg10=1.00 avg60=0.00 avg300=0.00 total=0\n";
        assert_eq!(pressure_of(text), Some(99.16));
        assert_eq!(pressure_of("full avg10=1.00"), None);
        assert_eq!(load_of("17.22 14.89 12.40 20/226 25318\n"), Some(17.22));
        assert_eq!(
            cgroup_of("4:memory:/x\n0::/user.slice\n"),
            Some("/user.slice")
        );
        assert_eq!(cgroup_of("4:memory:/x\n"), None);
    }

    #[test]
    fn a_child_reads_for_itself_whatever_its_parent_was_doing() {
        let parents = MACHINE.get().lock();
        in_child(|| {
            read(1);
        });
        drop(parents);
    }

    #[test]
    fn a_reading_holds_for_a_second() {
        let first = read(1);
        assert_eq!(read(HOLDS_NS), first);
        let machine = Machine::open();
        assert!(machine.cpus >= 1.0);
    }
}
