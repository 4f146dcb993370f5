//! The clients: each sends a document, waits for its answer, and is then away for as long as a slow line would take.

use super::document::Documents;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

/// How many clients there are.
pub const CLIENTS: u32 = 4;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Connects all clients to `port`.
pub fn connect(port: u16, seed: u64) -> io::Result<Vec<Client>> {
    (0..CLIENTS)
        .map(|number| Client::connect(port, number, seed))
        .collect()
}

/// Has the clients make `requests` requests in all, at the same time. Returns the times to the answers in
/// nanoseconds, rising.
pub fn run(clients: &mut [Client], requests: u32) -> io::Result<Vec<u64>> {
    let each = requests / clients.len() as u32;
    let mut delays_ns = Vec::with_capacity(requests as usize);
    std::thread::scope(|scope| {
        let threads: Vec<_> = clients
            .iter_mut()
            .map(|client| scope.spawn(move || client.run(each)))
            .collect();
        for thread in threads {
            let delays = thread
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("a client has panicked")))?;
            delays_ns.extend(delays);
        }
        Ok::<_, io::Error>(())
    })?;
    delays_ns.sort_unstable();
    Ok(delays_ns)
}

/// A client and its connection.
pub struct Client {
    stream: BufReader<TcpStream>,
    documents: Documents,
    /// The number of the next document; clients count by their number.
    next_id: u32,
}

impl Client {
    fn connect(port: u16, number: u32, seed: u64) -> io::Result<Self> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self {
            stream: BufReader::new(stream),
            documents: Documents::new(seed * u64::from(CLIENTS) + u64::from(number)),
            next_id: number,
        })
    }

    fn run(&mut self, requests: u32) -> io::Result<Vec<u64>> {
        let mut delays_ns = Vec::with_capacity(requests as usize);
        let mut line = String::new();
        for _ in 0..requests {
            let document = self.documents.next(self.next_id);
            self.next_id += CLIENTS;
            std::thread::sleep(Duration::from_micros(self.documents.latency_us()));
            let sent = Instant::now();
            self.stream
                .get_mut()
                .write_all(document.request.as_bytes())?;
            line.clear();
            self.stream.read_line(&mut line)?;
            delays_ns.push(sent.elapsed().as_nanos() as u64);
            if !line.starts_with(&document.answer) {
                return Err(io::Error::other(format!(
                    "the answer is '{}' where '{}' was expected",
                    line.trim_end(),
                    document.answer
                )));
            }
        }
        Ok(delays_ns)
    }
}
