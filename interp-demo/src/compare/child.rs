//! One run of the script in one mode: a fresh process, watched until it ends.
//!
//! The process leads a group of its own, so that whatever it started (the writer at the other end of
//! the socket) ends with it, and a Ctrl-C on the terminal comes to us alone. Memory and CPU time are
//! those of the process itself, without its children: the CPU time is read from its CPU clock while it
//! is a zombie, since `wait4` would add the children that it has waited for.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant, SystemTime};

use nix::time::{ClockId, clock_getcpuclockid, clock_gettime};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use super::error::CompareError;
use super::interrupt;
use super::mode::Mode;
use super::options::Options;
use super::report::Report;
use super::sampler::{INTERVAL, Sample, Sampler};
use crate::phase_trace::{self, Span};
use crate::stats::Stats;

/// The environment variable that tells a script where to write its report.
const REPORT_VARIABLE: &str = "SLEEPY_REPORT";

/// How much of a failed script's messages is shown.
const STDERR_LINES: usize = 20;

/// What one run has shown.
#[derive(Debug, Default)]
pub(super) struct Run {
    /// Memory over time, up to the moment at which the script was done.
    pub samples: Vec<Sample>,
    /// The most that was ever resident.
    pub peak_rss_bytes: u64,
    /// The most that was resident, but free to be taken by the system.
    pub lazy_free_bytes: u64,
    /// CPU time of all threads of the process, without child processes.
    pub cpu: Duration,
    /// From start to end.
    pub wall: Duration,
    /// The figures that our own interpreter gives of itself.
    pub stats: Option<Stats>,
    /// The collector's phases, if they were traced.
    pub spans: Vec<Span>,
    /// The start in microseconds of the clock that the spans use.
    pub started_us: u64,
    /// The start in seconds since 1970, the clock of the report.
    pub started_unix_s: f64,
    /// What the script reported.
    pub report: Option<Report>,
    /// What the script printed.
    pub stdout: Vec<u8>,
}

/// A started process that does not outlive us, whatever happens.
struct Running {
    child: Child,
    pid: Pid,
}

impl Running {
    /// Ends the whole group. Only to be called before the leader is reaped: until then its number
    /// can't belong to anybody else.
    fn kill_group(&self) {
        // The one error that can occur says that nobody is left.
        let _ = kill_process_group(self.pid, Signal::KILL);
    }

    /// Reaps the process after it has ended.
    fn reap(&mut self) -> io::Result<ExitStatus> {
        self.kill_group();
        self.child.wait()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.kill_group();
            // Nobody is left to be told; the process was killed and will end.
            let _ = self.child.wait();
        }
    }
}

/// Runs the script once.
pub(super) fn run(mode: &Mode, options: &Options, traced: bool) -> Result<Run, CompareError> {
    let folder = tempfile::tempdir().map_err(|error| CompareError::Prepare(error.to_string()))?;
    let path = |name: &str| folder.path().join(name);
    let process_error = |what| {
        move |error| CompareError::Process {
            mode: mode.name.clone(),
            what,
            error,
        }
    };
    let stdout = File::create(path("stdout")).map_err(process_error("create a file for"))?;
    let stderr = File::create(path("stderr")).map_err(process_error("create a file for"))?;

    let mut command = Command::new(&mode.program);
    command.args(&mode.options);
    if mode.own {
        command.arg(file_option("--stats=json:", &path("stats")));
        if traced {
            command.arg(file_option("--gc-trace=json:", &path("trace")));
        }
    }
    command
        .arg(&options.script)
        .args(&options.arguments)
        .env(REPORT_VARIABLE, path("report"))
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(stderr)
        .process_group(0);

    let mut run = Run {
        started_us: phase_trace::now_us(),
        started_unix_s: unix_seconds(SystemTime::now()),
        ..Run::default()
    };
    let started = Instant::now();
    let child = command.spawn().map_err(process_error("start"))?;
    let pid = Pid::from_child(&child);
    let running = Running { child, pid };
    let status = watch(running, started, &mut run).map_err(process_error("watch"))?;
    if interrupt::requested() {
        return Err(CompareError::Interrupted);
    }

    if !status.success() {
        let stderr = fs::read(path("stderr")).map_err(process_error("read the messages of"))?;
        return Err(CompareError::Failed {
            mode: mode.name.clone(),
            status: describe(status),
            stderr: last_lines(&String::from_utf8_lossy(&stderr), STDERR_LINES),
        });
    }
    run.stdout = fs::read(path("stdout")).map_err(process_error("read the output of"))?;
    run.report = read_json(mode, "report", &path("report"), false)?;
    if mode.own {
        run.stats = read_json(mode, "figures", &path("stats"), true)?;
        if traced {
            run.spans =
                phase_trace::read(&path("trace")).map_err(process_error("read the trace of"))?;
        }
    }
    run.end_samples();
    Ok(run)
}

/// Samples the memory until the process has ended, or until somebody wants us to stop.
fn watch(mut running: Running, started: Instant, run: &mut Run) -> io::Result<ExitStatus> {
    let mut sampler = Sampler::new(running.child.id(), started)?;
    let process = pidfd_open(running.pid, PidfdFlags::empty())?;
    let mut next = started;
    loop {
        sampler.sample();
        next = (next + INTERVAL).max(Instant::now());
        let wait = Timespec::try_from(next.saturating_duration_since(Instant::now()))
            .map_err(|_| io::ErrorKind::InvalidInput)?;
        match poll(
            &mut [PollFd::from_borrowed_fd(process.as_fd(), PollFlags::IN)],
            Some(&wait),
        ) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => break,
            Err(error) => return Err(error.into()),
        }
        if interrupt::requested() {
            running.kill_group();
        }
    }
    run.wall = started.elapsed();
    run.cpu = cpu_time(running.pid)?;
    (run.samples, run.peak_rss_bytes, run.lazy_free_bytes) = sampler.finish();
    running.reap()
}

/// The CPU time of all threads that the process has had; it may be a zombie, but not reaped.
fn cpu_time(pid: Pid) -> io::Result<Duration> {
    let clock: ClockId =
        clock_getcpuclockid(nix::unistd::Pid::from_raw(pid.as_raw_nonzero().get()))?;
    Ok(clock_gettime(clock)?.into())
}

impl Run {
    /// The mean over time of the resident memory.
    pub(super) fn mean_rss_bytes(&self) -> f64 {
        let mut area = 0.0;
        for pair in self.samples.windows(2) {
            let mean = (pair[0].rss_bytes + pair[1].rss_bytes) as f64 / 2.0;
            area += mean * (pair[1].at - pair[0].at).as_secs_f64();
        }
        match (self.samples.first(), self.samples.last()) {
            (Some(first), Some(last)) if last.at > first.at => {
                area / (last.at - first.at).as_secs_f64()
            }
            (Some(first), _) => first.rss_bytes as f64,
            (None, _) => 0.0,
        }
    }

    /// The resident memory when the script was done.
    pub(super) fn final_rss_bytes(&self) -> u64 {
        self.samples.last().map_or(0, |sample| sample.rss_bytes)
    }

    /// A moment of the report on the time line of the samples.
    pub(super) fn since_start_s(&self, unix_s: f64) -> f64 {
        unix_s - self.started_unix_s
    }

    /// Ends the samples where the script was done: by its report, else by what our own interpreter says of its end. A
    /// script can be done before the first sample.
    fn end_samples(&mut self) {
        if let Some(done_unix_s) = self.report.as_ref().and_then(|report| report.at) {
            let done_s = self.since_start_s(done_unix_s);
            let keep = |sample: &Sample| sample.at.as_secs_f64() <= done_s;
            let keep = self.samples.partition_point(keep);
            self.samples.truncate(keep.max(1));
        } else if let Some(stats) = &self.stats {
            self.samples.push(Sample {
                at: self.wall,
                rss_bytes: stats.resident_bytes,
            });
        }
    }
}

fn file_option(option: &str, path: &Path) -> std::ffi::OsString {
    let mut word = std::ffi::OsString::from(option);
    word.push(path);
    word
}

fn unix_seconds(time: SystemTime) -> f64 {
    time.duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0.0, |since| since.as_secs_f64())
}

/// Reads a JSON file that the run has written; a missing one is an error if it is `needed`.
fn read_json<T: serde::de::DeserializeOwned>(
    mode: &Mode,
    what: &'static str,
    path: &Path,
    needed: bool,
) -> Result<Option<T>, CompareError> {
    let refuse = |reason: String| CompareError::Result {
        mode: mode.name.clone(),
        what,
        reason,
    };
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if !needed && error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(refuse(error.to_string())),
    };
    serde_json::from_slice(&text)
        .map(Some)
        .map_err(|error| refuse(error.to_string()))
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "it did not end".to_owned(),
    }
}

fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a shell script as if the shell were a peer.
    fn run_shell(script: &str) -> Result<Run, CompareError> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("script.sh");
        fs::write(&path, script).expect("a write");
        let words = [path.into_os_string(), "one".into()];
        let options = Options::parse(words).expect("valid options");
        let mode = Mode {
            name: "shell".into(),
            program: "/bin/sh".into(),
            options: vec![],
            own: false,
        };
        run(&mode, &options, false)
    }

    #[test]
    fn a_run_is_watched_from_outside() {
        let run = run_shell("echo $1; sleep 0.1").expect("a run");
        assert_eq!(run.stdout, b"one\n");
        assert!(run.wall >= Duration::from_millis(100));
        assert!(run.samples.len() > 5, "{} samples", run.samples.len());
        assert!(run.peak_rss_bytes >= run.final_rss_bytes() && run.final_rss_bytes() > 0);
        assert!(run.report.is_none() && run.stats.is_none());
    }

    #[test]
    fn children_do_not_count_as_cpu_time() {
        let burn = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let run = run_shell(&format!("sh -c '{burn}'")).expect("a run");
        assert!(run.cpu * 3 < run.wall, "{:?} of {:?}", run.cpu, run.wall);
    }

    #[test]
    fn a_failure_shows_what_the_script_said() {
        let message = run_shell("echo it broke >&2; exit 3")
            .expect_err("a failure")
            .to_string();
        assert_eq!(
            message,
            "the script failed in mode 'shell' (exit code 3)\n  it broke"
        );
        let message = run_shell("kill -9 $$").expect_err("a failure").to_string();
        assert_eq!(message, "the script failed in mode 'shell' (signal 9)");
    }

    #[test]
    fn what_a_script_leaves_running_ends_with_it() {
        let run = run_shell("sleep 1000 & echo $!").expect("a run");
        let pid = String::from_utf8(run.stdout).expect("a number");
        let state = || fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
        let deadline = Instant::now() + Duration::from_secs(5);
        while state().is_ok_and(|stat| !stat.contains(") Z ")) {
            assert!(Instant::now() < deadline, "still there");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn memory_after_the_report_does_not_count() {
        let script = "printf '{\"at\": %s, \"same\": {\"n\": 1}}' \"$(date +%s.%N)\" > $SLEEPY_REPORT; sleep 0.3";
        let run = run_shell(script).expect("a run");
        let last = run.samples.last().expect("samples").at;
        assert!(last < Duration::from_millis(200), "{last:?}");
        assert_eq!(run.report.expect("a report").same["n"], 1);
    }

    #[test]
    fn a_broken_report_is_an_error() {
        let message = run_shell("echo '{' > $SLEEPY_REPORT")
            .expect_err("no JSON")
            .to_string();
        assert!(
            message.starts_with("mode 'shell': cannot read its report: "),
            "{message}"
        );
    }

    #[test]
    fn the_mean_is_one_over_time() {
        let sample = |ms, rss_bytes| Sample {
            at: Duration::from_millis(ms),
            rss_bytes,
        };
        let run = Run {
            samples: vec![sample(0, 10), sample(10, 40), sample(30, 20)],
            ..Run::default()
        };
        // 10 ms at 25 and 20 ms at 30, on the whole.
        assert!((run.mean_rss_bytes() - 850.0 / 30.0).abs() < 1e-9);
        assert_eq!(Run::default().mean_rss_bytes(), 0.0);
    }
}
