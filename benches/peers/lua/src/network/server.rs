//! One process that serves the clients, and what it holds meanwhile.

use super::load::{self, CLIENTS};
use super::{Entrant, Plan, Sample};
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long passes between two looks at what is resident.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// How long the server may go on when all clients have gone.
const PATIENCE: Duration = Duration::from_secs(10);

/// The server's process; it is gone when this is dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // One that has ended already can't be ended again, and need not be.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Server {
    /// Starts a server; returns it with its port.
    fn start(entrant: &Entrant) -> io::Result<(Self, u16)> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("network/server.lua");
        let mut child = Command::new(&entrant.peer.program)
            .args(&entrant.peer.arguments)
            .arg(script)
            .args([entrant.mode, &CLIENTS.to_string()])
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take();
        let server = Server(child);
        let mut line = String::new();
        if let Some(output) = output {
            BufReader::new(output).read_line(&mut line)?;
        }
        let port = line.trim_end().strip_prefix("PORT ").map(str::parse);
        match port {
            Some(Ok(port)) => Ok((server, port)),
            _ => Err(io::Error::other(format!(
                "no port in '{}'",
                line.trim_end()
            ))),
        }
    }

    /// Waits for its end, which its last client has brought about.
    fn end(mut self) -> io::Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.0.try_wait()? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(io::Error::other(format!("the server: {status}"))),
                None if Instant::now() > deadline => {
                    return Err(io::Error::other("the server does not end"));
                }
                None => std::thread::sleep(LOOK_EVERY),
            }
        }
    }

    /// The CPU time of all threads so far.
    fn cpu_ns(&self) -> io::Result<u64> {
        let threads = peers_common::proc::threads(self.0.id())?;
        Ok(threads.iter().map(|thread| thread.cpu_ns).sum())
    }

    /// A figure of the process's status, in KiB.
    fn status_kib(&self, name: &str) -> io::Result<f64> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.0.id()))?;
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
            .and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok())
            .ok_or_else(|| io::Error::other(format!("no {name} in the status")))
    }
}

/// Runs a server with its clients.
pub fn measure(entrant: &Entrant, plan: Plan, seed: u64) -> io::Result<Sample> {
    let (server, port) = Server::start(entrant)?;
    let mut clients = load::connect(port, seed)?;
    load::run(&mut clients, plan.warm_up)?;
    let before_ns = server.cpu_ns()?;
    let is_over = AtomicBool::new(false);
    let (delays_ns, resident) = std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut kib = Vec::new();
            // Relaxed: it publishes nothing, the last look may be one too many.
            while !is_over.load(Ordering::Relaxed) {
                kib.push(server.status_kib("VmRSS")?);
                std::thread::sleep(LOOK_EVERY);
            }
            Ok::<_, io::Error>(kib)
        });
        let delays = load::run(&mut clients, plan.requests);
        is_over.store(true, Ordering::Relaxed);
        let resident = watch
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the watch has panicked")));
        (delays, resident)
    });
    let (delays_ns, resident) = (delays_ns?, resident?);
    let cpu_ns = server.cpu_ns()? - before_ns;
    let quantile = |part: f64| {
        let at = (delays_ns.len() as f64 * part) as usize;
        delays_ns.get(at).map_or(0.0, |&ns| ns as f64 / 1e3)
    };
    let sample = Sample {
        mean_mib: resident.iter().sum::<f64>() / resident.len() as f64 / 1024.0,
        peak_mib: server.status_kib("VmHWM")? / 1024.0,
        cpu_us_per_request: cpu_ns as f64 / 1e3 / delays_ns.len() as f64,
        answer_p50_us: quantile(0.5),
        answer_p99_us: quantile(0.99),
    };
    drop(clients);
    server.end()?;
    Ok(sample)
}
