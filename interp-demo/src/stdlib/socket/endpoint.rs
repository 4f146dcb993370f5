//! A socket as the system knows it, with what it needs between two calls. Nothing here waits.

use std::io::{self, Read};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

use socket2::{Domain, Protocol, Socket, Type};

use crate::vm::buffer::MakeRoom;

use super::address::Family;
use super::buffer::RecvBuffer;
use super::limit::{Limits, now_ns};

/// What a TCP socket has become. A UDP socket is a client while it has a peer, else a master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Neither connected nor listening.
    Master,
    /// Connected.
    Client,
    /// Listening.
    Server,
}

impl Role {
    /// As the names of the classes have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Master => "master",
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// A socket. The descriptor is closed when this is dropped.
#[derive(Debug)]
pub struct Endpoint {
    /// Never blocking. There is none before the first address is known, and none after `close`.
    socket: Option<Socket>,
    pub(super) role: Role,
    pub(super) family: Family,
    pub(super) limits: Limits,
    pub(super) buffer: RecvBuffer,
    /// Addresses that a connection was not tried to yet, the next one last.
    pub(super) untried: Vec<SocketAddr>,
    pub(super) received_bytes: u64,
    pub(super) sent_bytes: u64,
    /// The local address that was asked for.
    bound: Option<SocketAddr>,
    /// An attempt to connect was begun: if it fails, the next one needs another socket.
    attempted: bool,
    /// An attempt to connect was given up by `connect` when its time was over, and may have ended since.
    pub(super) pending: bool,
    born_ns: i64,
    closed: bool,
}

fn closed() -> io::Error {
    io::Error::from_raw_os_error(libc::EPIPE)
}

impl Endpoint {
    /// A socket for addresses that are not known yet.
    pub fn new(family: Family) -> Self {
        Self {
            socket: None,
            role: Role::Master,
            family,
            limits: Limits::default(),
            buffer: RecvBuffer::default(),
            untried: Vec::new(),
            received_bytes: 0,
            sent_bytes: 0,
            bound: None,
            attempted: false,
            pending: false,
            born_ns: now_ns(),
            closed: false,
        }
    }

    /// As [`new`](Self::new), with the system's socket where the family is known.
    ///
    /// # Errors
    ///
    /// As the system's.
    pub fn open(family: Family, kind: Type) -> io::Result<Self> {
        let mut endpoint = Self::new(family);
        if let Some(address) = family.unspecified() {
            endpoint.open_for(&address, kind)?;
        }
        Ok(endpoint)
    }

    /// The system's socket.
    ///
    /// # Errors
    ///
    /// As a closed connection, when there is none.
    pub fn socket(&self) -> io::Result<&Socket> {
        self.socket.as_ref().ok_or_else(closed)
    }

    /// The descriptor, if there is one.
    pub fn fd(&self) -> Option<RawFd> {
        self.socket.as_ref().map(Socket::as_raw_fd)
    }

    /// Makes the system's socket for `address` unless there is one of that family.
    ///
    /// # Errors
    ///
    /// As the system's; a closed endpoint stays closed.
    pub fn open_for(&mut self, address: &SocketAddr, kind: Type) -> io::Result<&Socket> {
        if self.closed {
            return Err(closed());
        }
        let domain = Domain::for_address(*address);
        let fits = match &self.socket {
            Some(socket) => socket.domain()? == domain,
            None => false,
        };
        if !fits {
            self.socket = Some(open(domain, kind)?);
            self.family = match address {
                SocketAddr::V4(_) => Family::V4,
                SocketAddr::V6(_) => Family::V6,
            };
        }
        self.socket()
    }

    /// Closes the descriptor; what was received and not asked for is lost.
    pub fn close(&mut self) {
        self.socket = None;
        self.closed = true;
        self.buffer = RecvBuffer::default();
        self.untried = Vec::new();
    }

    /// Goes on with a socket of its own on what `fd` stands for, of which nothing was read yet.
    ///
    /// # Errors
    ///
    /// `fd` is no descriptor of a socket, or there is none left.
    pub fn adopt(&mut self, fd: RawFd) -> io::Result<()> {
        if fd < 0 {
            return Err(io::Error::from_raw_os_error(libc::EBADF));
        }
        // SAFETY: a number that is no descriptor is refused by the system; the one that is has been duplicated before it is used, so it
        // need not stay open.
        let own = unsafe { BorrowedFd::borrow_raw(fd) }.try_clone_to_owned()?;
        let socket = Socket::from(own);
        let domain = socket.domain()?;
        socket.set_nonblocking(true)?;
        self.close();
        self.closed = false;
        self.family = match domain {
            Domain::IPV4 => Family::V4,
            Domain::IPV6 => Family::V6,
            _ => Family::Any,
        };
        if socket.peer_addr().is_ok() {
            self.role = Role::Client;
        }
        self.socket = Some(socket);
        Ok(())
    }

    /// Reads once into the buffer; `Ok(0)` at the end of the stream.
    ///
    /// # Errors
    ///
    /// As `recv`; `WouldBlock` when there is nothing, `OutOfMemory` where there is no room for it.
    pub fn read_some(&mut self, wanted: usize, room: MakeRoom<'_>) -> io::Result<usize> {
        let Some(socket) = &self.socket else {
            return Err(closed());
        };
        let mut reader: &Socket = socket;
        let count = self
            .buffer
            .fill(wanted, room, |room| uninterrupted(|| reader.read(room)))?;
        self.received_bytes += count as u64;
        Ok(count)
    }

    /// Writes once.
    ///
    /// # Errors
    ///
    /// As `send`; `WouldBlock` when there is no room.
    pub fn write_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let socket = self.socket()?;
        let count = uninterrupted(|| socket.send_with_flags(bytes, libc::MSG_NOSIGNAL))?;
        self.sent_bytes += count as u64;
        Ok(count)
    }

    /// Takes a connection that is waiting, if there is one.
    ///
    /// # Errors
    ///
    /// As `accept`; `WouldBlock` when there is none.
    pub fn accept_one(&self) -> io::Result<Endpoint> {
        let socket = self.socket()?;
        let (accepted, _) = uninterrupted(|| socket.accept())?;
        accepted.set_nonblocking(true)?;
        let mut endpoint = Endpoint::new(self.family);
        endpoint.socket = Some(accepted);
        endpoint.role = Role::Client;
        Ok(endpoint)
    }

    /// Begins to connect to the next untried address: true when it is connected already.
    ///
    /// # Errors
    ///
    /// As `connect`, of the last address when all have failed.
    pub fn connect_next(&mut self) -> io::Result<bool> {
        let mut last = io::Error::from_raw_os_error(libc::EADDRNOTAVAIL);
        while let Some(address) = self.untried.pop() {
            match self.connect_to(address) {
                Ok(done) => return Ok(done),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn connect_to(&mut self, address: SocketAddr) -> io::Result<bool> {
        if std::mem::replace(&mut self.attempted, true) {
            self.socket = None;
            if let Some(local) = self.bound {
                self.bind_to(local, Type::STREAM)?;
            }
        }
        let socket = self.open_for(&address, Type::STREAM)?;
        match socket.connect(&address.into()) {
            Ok(()) => Ok(true),
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Gives this side an address.
    ///
    /// # Errors
    ///
    /// As `bind`.
    pub fn bind_to(&mut self, address: SocketAddr, kind: Type) -> io::Result<()> {
        self.open_for(&address, kind)?.bind(&address.into())?;
        self.bound = Some(address);
        Ok(())
    }

    /// How the attempt that [`connect_next`](Self::connect_next) began has ended, once the socket is writable.
    ///
    /// # Errors
    ///
    /// As `connect`.
    pub fn connect_result(&self) -> io::Result<()> {
        match self.socket()?.take_error()? {
            None => Ok(()),
            Some(error) => Err(error),
        }
    }

    /// Ends one or both directions of a connection.
    ///
    /// # Errors
    ///
    /// As `shutdown`.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.socket()?.shutdown(how)
    }

    /// Receives one datagram of at most `room` bytes.
    ///
    /// # Errors
    ///
    /// As `recvfrom`; `WouldBlock` when there is none.
    pub fn receive_datagram(&mut self, room: usize) -> io::Result<(Vec<u8>, Option<SocketAddr>)> {
        let socket = self.socket()?;
        let mut bytes: Vec<u8> = Vec::with_capacity(room);
        let (count, from) = uninterrupted(|| socket.recv_from(bytes.spare_capacity_mut()))?;
        // SAFETY: `recvfrom` has written so many bytes into the spare capacity of the empty vector.
        unsafe { bytes.set_len(count) };
        self.received_bytes += count as u64;
        Ok((bytes, from.as_socket()))
    }

    /// Sends one datagram, to `to` or to the peer.
    ///
    /// # Errors
    ///
    /// As `sendto`; `WouldBlock` when there is no room.
    pub fn send_datagram(&mut self, bytes: &[u8], to: Option<SocketAddr>) -> io::Result<usize> {
        let socket = self.socket()?;
        let count = uninterrupted(|| match to {
            Some(to) => socket.send_to(bytes, &to.into()),
            None => socket.send(bytes),
        })?;
        self.sent_bytes += count as u64;
        Ok(count)
    }

    /// Makes a UDP socket take datagrams of anybody again.
    ///
    /// # Errors
    ///
    /// As `connect`.
    pub fn disconnect(&self) -> io::Result<()> {
        Ok(rustix::net::connect_unspec(self.socket()?)?)
    }

    /// The address of this side.
    ///
    /// # Errors
    ///
    /// As `getsockname`.
    pub fn local(&self) -> io::Result<Option<SocketAddr>> {
        Ok(self.socket()?.local_addr()?.as_socket())
    }

    /// The address of the other side.
    ///
    /// # Errors
    ///
    /// As `getpeername`.
    pub fn peer(&self) -> io::Result<Option<SocketAddr>> {
        Ok(self.socket()?.peer_addr()?.as_socket())
    }

    /// How old it is, in seconds.
    pub fn age_s(&self) -> f64 {
        (now_ns() - self.born_ns) as f64 / 1e9
    }
}

fn open(domain: Domain, kind: Type) -> io::Result<Socket> {
    let protocol = (kind == Type::DGRAM).then_some(Protocol::UDP);
    let socket = Socket::new(domain, kind.nonblocking(), protocol)?;
    if domain == Domain::IPV6 {
        socket.set_only_v6(true)?;
    }
    Ok(socket)
}

/// Calls again what a signal has interrupted.
fn uninterrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn connect_to(addresses: &[SocketAddr]) -> io::Result<Endpoint> {
        let mut endpoint = Endpoint::new(Family::Any);
        endpoint.untried = addresses.iter().rev().copied().collect();
        loop {
            if endpoint.connect_next()? {
                return Ok(endpoint);
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
            match endpoint.connect_result() {
                Ok(()) => return Ok(endpoint),
                Err(error) if endpoint.untried.is_empty() => return Err(error),
                Err(_) => {}
            }
        }
    }

    #[test]
    fn the_next_address_is_tried_when_one_refuses() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let good = listener.local_addr().unwrap();
        let refusing = {
            let gone = TcpListener::bind("127.0.0.1:0").unwrap();
            gone.local_addr().unwrap()
        };
        assert_eq!(
            connect_to(&[refusing]).unwrap_err().kind(),
            io::ErrorKind::ConnectionRefused
        );
        let endpoint = connect_to(&[refusing, good]).unwrap();
        assert_eq!(endpoint.peer().unwrap(), Some(good));
    }

    #[test]
    fn a_closed_endpoint_stays_closed() {
        let mut endpoint = Endpoint::new(Family::Any);
        assert_eq!(endpoint.fd(), None);
        endpoint.close();
        let address = "127.0.0.1:9".parse().unwrap();
        assert!(endpoint.open_for(&address, Type::STREAM).is_err());
        assert_eq!(
            endpoint
                .read_some(5, &mut |_, _| true)
                .unwrap_err()
                .raw_os_error(),
            Some(libc::EPIPE)
        );
    }

    #[test]
    fn writing_to_one_who_has_gone_is_an_error_and_no_signal() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut endpoint = connect_to(&[listener.local_addr().unwrap()]).unwrap();
        drop(listener.accept().unwrap());
        let mut failed = None;
        for _ in 0..50 {
            std::thread::sleep(std::time::Duration::from_millis(2));
            if let Err(error) = endpoint.write_some(b"x") {
                failed = error.raw_os_error();
                break;
            }
        }
        assert!(
            matches!(failed, Some(libc::EPIPE | libc::ECONNRESET)),
            "{failed:?}"
        );
    }
}
