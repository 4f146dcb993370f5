//! A server on real sockets, with a client in a process of its own; also a server that nobody asks any more.

use super::event_loop::EventLoop;
use super::http;
use super::report::Report;
use crate::handover::HandOver;
use crate::mix::{self, Block};
use crate::usage::Usage;
use crate::{Result, parse};
use clap::{Parser, ValueEnum};
use peers_common::peer::Peer;
use polling::{Event, PollMode};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How a request is answered.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Answer {
    /// The same bytes each time.
    Static,
    /// A body made from parsed headers.
    Handler,
    /// The same as `static`, after 1 MiB of buffers and 0.5 MB of small objects were made and freed.
    Heavy,
}

/// Options of the program.
#[derive(Parser)]
pub struct Options {
    /// How a request is answered.
    #[arg(long, value_enum, default_value = "handler")]
    answer: Answer,
    /// Connections of the client.
    #[arg(long, default_value_t = 16)]
    connections: usize,
    /// Requests on all of them together.
    #[arg(long, default_value_t = 20_000)]
    requests: u64,
    /// Requests before the figures start.
    #[arg(long, default_value_t = 500)]
    warm_up: u64,
    /// Time between a response and the next request, once the figures have started.
    #[arg(long, default_value_t = 0)]
    gap_ms: u64,
    /// Time without requests after the last one; if there is any, the figures are of that time.
    #[arg(long, default_value_t = 0.0)]
    idle_secs: f64,
    /// Tell the allocator of the waits.
    #[arg(long)]
    hand_off: bool,
}

/// Key of the socket that listens.
const LISTENER: usize = usize::MAX - 1;
/// How often a server that has nothing to do looks after itself.
const HOUSEKEEPING: Duration = Duration::from_secs(1);
/// How long a server that is never asked has been up before it is watched.
const SETTLE: Duration = Duration::from_millis(500);

struct Server {
    options: Options,
    events: EventLoop,
    listener: TcpListener,
    connections: HashMap<usize, Connection>,
    next_key: usize,
    rng: SmallRng,
    answered: u64,
    used: Usage,
    /// What each request since the warm-up used.
    uses: Vec<Usage>,
}

struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
    unsent: Vec<u8>,
}

/// Runs the program; the figures are what it prints.
pub fn run(peer: &Peer, arguments: &[String]) -> Result<Value> {
    let options: Options = parse("server", arguments)?;
    let mut server = Server::new(options, peer)?;
    let all = server.options.warm_up + server.options.requests;
    let client = if all > 0 {
        Some(server.start_client()?)
    } else {
        None
    };
    while server.answered < server.options.warm_up {
        server.turn(None)?;
    }
    let report = Report::start(peer)?;
    while server.answered < all {
        server.turn(None)?;
    }
    let mut figures = report.finish(peer, server.options.requests)?;
    let client = match client {
        Some(client) => result_of(client)?,
        None => Value::Null,
    };
    let idle_secs = server.options.idle_secs;
    if idle_secs > 0.0 {
        if all == 0 {
            server.settle()?;
        }
        let end = Instant::now() + Duration::from_secs_f64(idle_secs);
        let report = Report::start(peer)?;
        let mut turns = 0;
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            server.turn(Some(left.min(HOUSEKEEPING)))?;
            turns += 1;
        }
        figures = report.finish(peer, turns)?;
    }
    figures["client"] = client;
    figures["request"] = server.per_request();
    Ok(figures)
}

fn result_of(client: Child) -> Result<Value> {
    let output = client.wait_with_output()?;
    if !output.status.success() {
        return Err("the client failed".into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

impl Server {
    fn new(options: Options, peer: &Peer) -> Result<Self> {
        let events = EventLoop::new(HandOver::new(peer, options.hand_off))?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let interest = Event::readable(LISTENER);
        // SAFETY: the listener is dropped with the server, after the poller: `events` is declared before it.
        unsafe {
            events
                .poller()
                .add_with_mode(&listener, interest, PollMode::Level)?;
        }
        Ok(Self {
            uses: Vec::with_capacity(options.requests as usize + 1),
            options,
            events,
            listener,
            connections: HashMap::new(),
            next_key: 0,
            rng: SmallRng::seed_from_u64(7),
            answered: 0,
            used: Usage::of_thread(),
        })
    }

    /// Lets pass what the start of the program has left behind.
    fn settle(&mut self) -> Result<()> {
        let end = Instant::now() + SETTLE;
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            self.turn(Some(left))?;
        }
        Ok(())
    }

    fn start_client(&self) -> Result<Child> {
        let port = self.listener.local_addr()?.port();
        let requests = self.options.warm_up + self.options.requests;
        let mut client = Command::new(std::env::current_exe()?);
        client.arg("client").stdout(Stdio::piped());
        for (name, value) in [
            ("--port", u64::from(port)),
            ("--connections", self.options.connections as u64),
            ("--requests", requests),
            ("--warm-up", self.options.warm_up),
            ("--gap-ms", self.options.gap_ms),
        ] {
            client.args([name, &value.to_string()]);
        }
        Ok(client.spawn()?)
    }

    /// One poll, and what it brought.
    fn turn(&mut self, timeout: Option<Duration>) -> Result<()> {
        self.events.poll(timeout)?;
        let ready: Vec<usize> = self.events.events().iter().map(|event| event.key).collect();
        for key in ready {
            if key == LISTENER {
                self.accept()?;
            } else {
                self.serve(key)?;
            }
        }
        Ok(())
    }

    fn accept(&mut self) -> Result<()> {
        loop {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            let (key, interest) = (self.next_key, Event::readable(self.next_key));
            // SAFETY: `close` takes the stream out of the poller first; the others are dropped after the poller.
            unsafe {
                self.events
                    .poller()
                    .add_with_mode(&stream, interest, PollMode::Level)?;
            }
            self.next_key += 1;
            let connection = Connection {
                stream,
                received: Vec::new(),
                unsent: Vec::new(),
            };
            self.connections.insert(key, connection);
        }
    }

    fn serve(&mut self, key: usize) -> Result<()> {
        let Some(connection) = self.connections.get_mut(&key) else {
            return Ok(());
        };
        if !connection.receive()? {
            if let Some(connection) = self.connections.remove(&key) {
                self.events.poller().delete(&connection.stream)?;
            }
            return Ok(());
        }
        while let Some(len) = http::head_len(&connection.received) {
            let head: Vec<u8> = connection.received.drain(..len).collect();
            match self.options.answer {
                Answer::Static => connection.unsent.extend_from_slice(http::STATIC_RESPONSE),
                Answer::Handler => connection.unsent.extend(http::handle(&head)),
                Answer::Heavy => {
                    work_hard(&mut self.rng);
                    connection.unsent.extend_from_slice(http::STATIC_RESPONSE);
                }
            }
            if connection.received.is_empty() {
                connection.received = Vec::new();
            }
            self.answered += 1;
            let used = Usage::of_thread();
            if self.answered > self.options.warm_up {
                self.uses.push(used.since(self.used));
            }
            self.used = used;
        }
        connection.send()
    }

    /// What a request used since the one before it was answered: medians, and the mean of the faults.
    fn per_request(&mut self) -> Value {
        let uses = &mut self.uses;
        let faults: u64 = uses.iter().map(|used| used.minor_faults).sum();
        let mean_faults = faults as f64 / uses.len().max(1) as f64;
        let mut median = |field: fn(&Usage) -> u64| {
            uses.sort_by_key(field);
            uses.get(uses.len() / 2).map(field)
        };
        json!({
            "cpu_ns": median(|used| used.cpu_ns),
            "minor_faults": median(|used| used.minor_faults),
            "minor_faults_mean": mean_faults,
        })
    }
}

impl Connection {
    /// Takes what has come; false when the other side has closed.
    fn receive(&mut self) -> Result<bool> {
        let mut chunk = [0; 4096];
        match self.stream.read(&mut chunk) {
            Ok(0) => Ok(false),
            Ok(bytes) => {
                self.received.extend_from_slice(&chunk[..bytes]);
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(true),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends what there is. A response is smaller than the empty buffer of a socket, and each waits for the last.
    fn send(&mut self) -> Result<()> {
        self.stream.write_all(&self.unsent)?;
        self.unsent = Vec::new();
        Ok(())
    }
}

/// 64 buffers of 16 KiB and 4096 small objects, written and freed.
fn work_hard(rng: &mut SmallRng) {
    let mut blocks = Vec::with_capacity(64 + 4096);
    blocks.extend((0..64).map(|n| Block::new(16 * 1024, n)));
    blocks.extend((0..4096).map(|n| Block::new(mix::size_bytes(rng), n)));
    for block in &mut blocks {
        block.free();
    }
}
