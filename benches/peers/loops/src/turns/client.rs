//! The client process of a server: kept-alive connections, one request under way on each.

use super::http;
use crate::{Result, parse};
use clap::Parser;
use peers_common::peer::Peer;
use polling::{Event, Events, Poller};
use serde_json::{Value, json};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// Options of the program.
#[derive(Parser)]
pub struct Options {
    /// Port of the server on this machine.
    #[arg(long)]
    port: u16,
    /// Connections.
    #[arg(long, default_value_t = 16)]
    connections: usize,
    /// Requests on all of them together.
    #[arg(long)]
    requests: u64,
    /// Requests sent at once before the first gap.
    #[arg(long, default_value_t = 0)]
    warm_up: u64,
    /// Time between a response and the next request.
    #[arg(long, default_value_t = 0)]
    gap_ms: u64,
}

struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
    sent_at: Instant,
}

/// Runs the program; the figures are what it prints.
pub fn run(_peer: &Peer, arguments: &[String]) -> Result<Value> {
    let options: Options = parse("client", arguments)?;
    let mut connections = Vec::new();
    // Declared after the streams, so it is dropped before them.
    let poller = Poller::new()?;
    for key in 0..options.connections {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, options.port))?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        // SAFETY: the stream stays in `connections`, which is dropped after the poller.
        unsafe { poller.add(&stream, Event::none(key))? };
        connections.push(Connection {
            stream,
            received: Vec::with_capacity(64 * 1024),
            sent_at: Instant::now(),
        });
    }
    let mut latency = crate::nanoseconds()?;
    let (mut sent, mut answered) = (0, 0);
    for (key, connection) in connections.iter_mut().enumerate() {
        if sent < options.requests {
            connection.send(&poller, key)?;
            sent += 1;
        }
    }
    let mut events = Events::new();
    while answered < options.requests {
        events.clear();
        poller.wait(&mut events, None)?;
        for event in events.iter() {
            let connection = &mut connections[event.key];
            if !connection.receive()? {
                poller.modify(&connection.stream, Event::readable(event.key))?;
                continue;
            }
            if answered >= options.warm_up {
                latency.saturating_record(connection.sent_at.elapsed().as_nanos() as u64);
            }
            answered += 1;
            if sent < options.requests {
                if answered >= options.warm_up {
                    thread::sleep(Duration::from_millis(options.gap_ms));
                }
                connection.send(&poller, event.key)?;
                sent += 1;
            }
        }
    }
    Ok(json!({
        "requests": answered,
        "latency_p50_ns": latency.value_at_quantile(0.5),
        "latency_p99_ns": latency.value_at_quantile(0.99),
        "latency_max_ns": latency.max(),
    }))
}

impl Connection {
    fn send(&mut self, poller: &Poller, key: usize) -> Result<()> {
        self.received.clear();
        self.sent_at = Instant::now();
        // A request is smaller than the empty buffer of a socket.
        self.stream.write_all(http::REQUEST)?;
        poller.modify(&self.stream, Event::readable(key))?;
        Ok(())
    }

    /// True: the response is complete.
    fn receive(&mut self) -> Result<bool> {
        let mut chunk = [0; 16 * 1024];
        loop {
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err("the server has closed a connection".into()),
                Ok(bytes) => self.received.extend_from_slice(&chunk[..bytes]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error.into()),
            }
        }
        let whole = http::response_len(&self.received);
        Ok(whole.is_some_and(|len| self.received.len() >= len))
    }
}
