//! What a stream has received and the program has not asked for yet.
//!
//! Pure: bytes are read by a closure. The storage is used again and again, and given back when a large read is over.

use std::borrow::Cow;
use std::io;

use crate::vm::buffer::{Buffer, MakeRoom};

/// How much is asked of the system at least.
const READ_BYTES: usize = 8 << 10;

/// Storage up to this size is kept when the buffer is empty.
const KEEP_BYTES: usize = 64 << 10;

/// What `receive` was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// A line, without its end; carriage returns are dropped.
    Line,
    /// All until the other side closes.
    All,
    /// So many bytes.
    Bytes(usize),
}

/// How far a pattern has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// It is there: take so many bytes, and drop so many after them.
    Whole {
        /// Bytes that match.
        take: usize,
        /// Bytes of a line end.
        skip: usize,
    },
    /// At least so many bytes more are needed.
    Needs(usize),
}

/// A first-in first-out buffer of bytes.
#[derive(Debug, Default)]
pub struct RecvBuffer {
    /// Initialised throughout; the bytes received are `head..tail`.
    storage: Buffer,
    head: usize,
    tail: usize,
    /// Where the search for a line end goes on, counted from `head`.
    scanned: usize,
}

impl RecvBuffer {
    /// The bytes that were received and not taken.
    pub fn bytes(&self) -> &[u8] {
        &self.storage[self.head..self.tail]
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    /// Whether `pattern` can be taken.
    pub fn find(&mut self, pattern: Pattern) -> Found {
        match pattern {
            Pattern::All => Found::Needs(1),
            Pattern::Bytes(wanted) => match wanted.checked_sub(self.bytes().len()) {
                None | Some(0) => Found::Whole {
                    take: wanted,
                    skip: 0,
                },
                Some(missing) => Found::Needs(missing),
            },
            Pattern::Line => {
                let fresh = &self.bytes()[self.scanned..];
                match memchr::memchr(b'\n', fresh) {
                    Some(at) => Found::Whole {
                        take: self.scanned + at,
                        skip: 1,
                    },
                    None => {
                        self.scanned = self.bytes().len();
                        Found::Needs(1)
                    }
                }
            }
        }
    }

    /// How many of the bytes belong to `pattern` when no more can come.
    pub fn partial(&self, pattern: Pattern) -> usize {
        match pattern {
            Pattern::Bytes(wanted) => wanted.min(self.bytes().len()),
            Pattern::Line | Pattern::All => self.bytes().len(),
        }
    }

    /// Drops the first `count` bytes.
    pub fn consume(&mut self, count: usize) {
        self.head = (self.head + count).min(self.tail);
        self.scanned = 0;
        if self.is_empty() {
            (self.head, self.tail) = (0, 0);
            if self.storage.len() > KEEP_BYTES {
                self.storage.free();
            }
        }
    }

    /// Reads once, with room for `wanted` bytes at least. Returns what `read` did; `OutOfMemory` if there is no room.
    pub fn fill(
        &mut self,
        wanted: usize,
        make_room: MakeRoom<'_>,
        read: impl FnOnce(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        // A number of bytes that no program can mean is not allocated before it has come.
        let room = wanted.clamp(READ_BYTES, KEEP_BYTES.max(self.bytes().len()));
        if self.storage.len() - self.tail < room {
            self.storage.copy_within(self.head..self.tail, 0);
            (self.head, self.tail) = (0, self.tail - self.head);
            if self.storage.len() - self.tail < room {
                let more = self.tail + room - self.storage.len();
                if !make_room(&mut self.storage, more) {
                    return Err(io::ErrorKind::OutOfMemory.into());
                }
                self.storage.resize(self.tail + room, 0);
            }
        }
        let count = read(&mut self.storage[self.tail..])?;
        self.tail += count;
        Ok(count)
    }
}

/// A line as `receive` returns it: without carriage returns.
pub fn without_returns(line: &[u8]) -> Cow<'_, [u8]> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match memchr::memchr(b'\r', line) {
        None => Cow::Borrowed(line),
        Some(_) => Cow::Owned(line.iter().copied().filter(|&byte| byte != b'\r').collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::buffer::uncounted;

    fn receive(buffer: &mut RecvBuffer, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let count = buffer
                .fill(1, &mut uncounted, |room| {
                    let count = room.len().min(rest.len()).min(3);
                    room[..count].copy_from_slice(&rest[..count]);
                    Ok(count)
                })
                .unwrap();
            rest = &rest[count..];
        }
    }

    #[test]
    fn lines_are_found_however_they_arrive() {
        let mut buffer = RecvBuffer::default();
        receive(&mut buffer, b"one\r");
        assert_eq!(buffer.find(Pattern::Line), Found::Needs(1));
        receive(&mut buffer, b"\n\ntail");
        assert_eq!(
            buffer.find(Pattern::Line),
            Found::Whole { take: 4, skip: 1 }
        );
        assert_eq!(&*without_returns(&buffer.bytes()[..4]), b"one");
        buffer.consume(5);
        assert_eq!(
            buffer.find(Pattern::Line),
            Found::Whole { take: 0, skip: 1 }
        );
        buffer.consume(1);
        assert_eq!(buffer.find(Pattern::Line), Found::Needs(1));
        assert_eq!(buffer.partial(Pattern::Line), 4);
    }

    #[test]
    fn returns_inside_a_line_go_too() {
        assert_eq!(&*without_returns(b"a\rb\r\rc"), b"abc");
        assert_eq!(&*without_returns(b"\r"), b"");
        assert!(matches!(without_returns(b"plain"), Cow::Borrowed(_)));
    }

    #[test]
    fn numbers_tell_what_is_missing() {
        let mut buffer = RecvBuffer::default();
        receive(&mut buffer, b"12345");
        assert_eq!(buffer.find(Pattern::Bytes(8)), Found::Needs(3));
        assert_eq!(buffer.partial(Pattern::Bytes(3)), 3);
        assert_eq!(
            buffer.find(Pattern::Bytes(5)),
            Found::Whole { take: 5, skip: 0 }
        );
        buffer.consume(5);
        assert!(buffer.is_empty());
        assert_eq!(
            buffer.find(Pattern::Bytes(0)),
            Found::Whole { take: 0, skip: 0 }
        );
    }

    #[test]
    fn what_goes_in_comes_out_and_storage_is_given_back() {
        let mut buffer = RecvBuffer::default();
        let sent: Vec<u8> = (0..300_000u32).map(|n| n as u8).collect();
        let mut got = Vec::new();
        for (n, chunk) in sent.chunks(1000).enumerate() {
            receive(&mut buffer, chunk);
            let count = buffer.bytes().len().min(n * 37 % 1500);
            got.extend_from_slice(&buffer.bytes()[..count]);
            buffer.consume(count);
        }
        got.extend_from_slice(buffer.bytes());
        assert_eq!(got, sent);
        buffer.consume(usize::MAX / 2);
        assert!(buffer.is_empty() && buffer.storage.len() <= KEEP_BYTES);
    }

    #[test]
    fn an_absurd_number_of_bytes_is_not_allocated() {
        let mut buffer = RecvBuffer::default();
        assert_eq!(
            buffer.find(Pattern::Bytes(usize::MAX)),
            Found::Needs(usize::MAX)
        );
        buffer
            .fill(usize::MAX, &mut uncounted, |room| Ok(room.len().min(1)))
            .unwrap();
        assert!(buffer.storage.len() <= 2 * KEEP_BYTES);
    }

    #[test]
    fn a_failed_read_changes_nothing() {
        let mut buffer = RecvBuffer::default();
        receive(&mut buffer, b"abc");
        assert!(
            buffer
                .fill(
                    10,
                    &mut uncounted,
                    |_| Err(io::ErrorKind::WouldBlock.into())
                )
                .is_err()
        );
        assert_eq!(buffer.bytes(), b"abc");
    }
}
