//! An event loop that lends its heap while it waits: an echo server of one thread, and a client that leaves it idle.
//!
//! `cargo run --release -p sleepy-alloc --example event_loop`
//!
//! The client sends bursts of requests and pauses between them. What the server needs for a burst lies free afterwards;
//! it goes back to the OS while the server waits in `poll`, and the scavenger then sleeps without a timeout.

use sleepy_alloc::SleepyAlloc;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::thread;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: SleepyAlloc = SleepyAlloc;

const BURSTS: usize = 3;
const CONNECTIONS: usize = 64;
const REQUEST_BYTES: usize = 256 << 10;
const PAUSE: Duration = Duration::from_secs(1);

fn main() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let client = thread::spawn(move || client(address));
    serve(&listener, BURSTS * CONNECTIONS)?;
    client.join().expect("the client does not panic")?;
    print!("{}", sleepy_alloc::stats());
    Ok(())
}

/// A connection, and what came in on it.
struct Connection {
    stream: TcpStream,
    request: Vec<u8>,
}

/// Echoes what each connection sends until that many have come and gone.
fn serve(listener: &TcpListener, mut expected: usize) -> io::Result<()> {
    let mut connections: Vec<Connection> = Vec::new();
    while expected > 0 {
        let mut waits = vec![wait_for(listener)];
        waits.extend(
            connections
                .iter()
                .map(|connection| wait_for(&connection.stream)),
        );
        poll(&mut waits)?;

        let mut ready = waits[1..].iter().map(|wait| wait.revents != 0);
        let before = connections.len();
        connections.retain_mut(|connection| {
            !ready.next().unwrap_or(false) || connection.serve().unwrap_or(false)
        });
        expected -= before - connections.len();
        if waits[0].revents != 0 {
            let (stream, _) = listener.accept()?;
            connections.push(Connection {
                stream,
                request: Vec::new(),
            });
        }
    }
    Ok(())
}

impl Connection {
    /// Takes what came in; false once all of it came and was sent back.
    fn serve(&mut self) -> io::Result<bool> {
        let mut part = vec![0; 16 << 10];
        let count = self.stream.read(&mut part)?;
        if count != 0 {
            self.request.extend_from_slice(&part[..count]);
            return Ok(true);
        }
        self.stream.write_all(&self.request)?;
        Ok(false)
    }
}

fn wait_for(source: &impl AsRawFd) -> libc::pollfd {
    libc::pollfd {
        fd: source.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    }
}

/// Waits until something is ready, with the heap lent. This is all that a loop has to do.
fn poll(waits: &mut [libc::pollfd]) -> io::Result<()> {
    loop {
        sleepy_alloc::idle_start();
        // SAFETY: the array is as long as it says.
        let result = unsafe { libc::poll(waits.as_mut_ptr(), waits.len() as libc::nfds_t, -1) };
        sleepy_alloc::idle_end();
        if result >= 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Sends the bursts, and says how much memory the process has at the end of each and at the end of each pause.
fn client(server: SocketAddr) -> io::Result<()> {
    let request = vec![7; REQUEST_BYTES];
    for burst in 1..=BURSTS {
        let mut streams = Vec::new();
        for _ in 0..CONNECTIONS {
            let mut stream = TcpStream::connect(server)?;
            stream.write_all(&request)?;
            streams.push(stream);
        }
        let peak_bytes = sleepy_alloc::stats().committed_bytes;
        for mut stream in streams {
            stream.shutdown(std::net::Shutdown::Write)?;
            let mut answer = vec![0; REQUEST_BYTES];
            stream.read_exact(&mut answer)?;
        }
        // The client has memory to lend, too.
        sleepy_alloc::idle(|| thread::sleep(PAUSE));
        let idle_bytes = sleepy_alloc::stats().committed_bytes;
        println!(
            "burst {burst}: {} KiB held at its height, {} KiB after the pause",
            peak_bytes >> 10,
            idle_bytes >> 10
        );
    }
    Ok(())
}
