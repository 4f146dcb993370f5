//! A buffered file: what stands behind a Lua file handle.
//!
//! Reading is split so that it never blocks by surprise: [`Stream::fill`] says [`Fill::Wait`] when the file is a pipe,
//! a socket or a terminal that has nothing to give yet; the native then waits through the host, which collects.
//! Input and output share one file position: output is flushed before input is read, and unread input is given back before output
//! is written.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, RawFd};
use std::sync::{Arc, Weak};

use crate::stdlib::children::Offspring;
use crate::vm::buffer::{Buffer, MakeRoom};
use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::FileType;

/// How much is read at once, and how much output is held back.
const BUFFER_BYTES: usize = 16 * 1024;

/// Storage up to this size is kept when the buffer is empty.
const KEEP_BYTES: usize = 64 * 1024;

/// So much output at once is not held back where it need not be.
const LARGE_BYTES: usize = 64 * 1024;

/// A stream that handles and the flush at exit share.
pub type Shared = Arc<Mutex<Stream>>;

/// All streams that may hold output back, for [`flush_all`].
static OPEN: Mutex<Vec<Weak<Mutex<Stream>>>> = Mutex::new(Vec::new());

/// When output is handed to the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffering {
    /// At once.
    No,
    /// After each line.
    Line,
    /// When the buffer is full.
    Full,
}

/// What [`Stream::fill`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// More input.
    Data,
    /// The end of the file.
    End,
    /// Nothing yet: wait until the descriptor is readable.
    Wait,
}

/// What a stream may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Reading is allowed.
    pub read: bool,
    /// Writing is allowed.
    pub write: bool,
}

/// A buffered file.
#[derive(Debug)]
pub struct Stream {
    /// None once it is closed.
    file: Option<File>,
    access: Access,
    /// Whether reading may block for long.
    may_block: bool,
    buffering: Buffering,
    buffer_bytes: usize,
    output: Buffer,
    /// Output is due that the descriptor has not taken yet.
    backed_up: bool,
    input: Buffer,
    /// Unread input begins here.
    input_at: usize,
    /// Up to here there is no line end in the unread input.
    scanned_to: usize,
    /// The process at the other end of the pipe.
    child: Option<Offspring>,
    /// Closing is refused: a standard stream.
    keep_open: bool,
}

impl Stream {
    /// A stream on an open file.
    #[must_use]
    pub fn new(file: File, access: Access) -> Self {
        let may_block = rustix::fs::fstat(&file).is_ok_and(|stat| {
            matches!(
                FileType::from_raw_mode(stat.st_mode),
                FileType::Fifo | FileType::Socket | FileType::CharacterDevice
            )
        });
        let mut stream = Self::closed();
        stream.file = Some(file);
        stream.access = access;
        stream.may_block = may_block;
        stream
    }

    /// A stream to or from a child process.
    #[must_use]
    pub(in crate::stdlib) fn with_child(file: File, access: Access, child: Offspring) -> Self {
        let mut stream = Self::new(file, access);
        stream.child = Some(child);
        stream
    }

    /// A standard stream, which Lua programs cannot close.
    #[must_use]
    pub fn standard(file: File, access: Access, buffering: Buffering) -> Self {
        let mut stream = Self::new(file, access);
        stream.buffering = buffering;
        stream.keep_open = true;
        stream
    }

    /// A stream that is closed already.
    #[must_use]
    pub const fn closed() -> Self {
        Self {
            file: None,
            access: Access {
                read: false,
                write: false,
            },
            may_block: false,
            buffering: Buffering::Full,
            buffer_bytes: BUFFER_BYTES,
            output: Buffer::new(),
            backed_up: false,
            input: Buffer::new(),
            input_at: 0,
            scanned_to: 0,
            child: None,
            keep_open: false,
        }
    }

    /// Shares the stream, and has it flushed at exit.
    #[must_use]
    pub fn share(self) -> Shared {
        let shared = Arc::new(Mutex::new(self));
        let mut open = OPEN.lock();
        if open.len() == open.capacity() {
            open.retain(|stream| stream.strong_count() > 0);
        }
        open.push(Arc::downgrade(&shared));
        shared
    }

    /// Whether it has been closed.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        self.file.is_none()
    }

    /// Whether closing is refused.
    #[must_use]
    pub const fn is_kept_open(&self) -> bool {
        self.keep_open
    }

    /// The descriptor, to wait on.
    #[must_use]
    pub fn fd(&self) -> Option<RawFd> {
        self.file.as_ref().map(File::as_raw_fd)
    }

    /// The file, unless it was closed.
    #[must_use]
    pub const fn file(&self) -> Option<&File> {
        self.file.as_ref()
    }

    /// Sets when output is handed to the system.
    pub fn set_buffering(&mut self, buffering: Buffering, bytes: Option<usize>) {
        self.buffering = buffering;
        self.buffer_bytes = bytes.unwrap_or(BUFFER_BYTES);
    }

    /// Input that has been read from the file and not been taken.
    #[must_use]
    pub fn unread(&self) -> &[u8] {
        &self.input[self.input_at..]
    }

    /// Takes the first `count` bytes of the unread input.
    pub fn consume(&mut self, count: usize) {
        self.input_at = (self.input_at + count).min(self.input.len());
        self.scanned_to = self.scanned_to.max(self.input_at);
        if self.input_at == self.input.len() && self.input.capacity() > KEEP_BYTES {
            self.drop_input();
        }
    }

    /// Where the first line of the unread input ends, its line end included; `None` if it has none.
    pub fn line_end(&mut self) -> Option<usize> {
        match memchr::memchr(b'\n', &self.input[self.scanned_to..]) {
            Some(at) => Some(self.scanned_to + at + 1 - self.input_at),
            None => {
                self.scanned_to = self.input.len();
                None
            }
        }
    }

    /// Appends to the unread input what the file gives without waiting, not much more than is wanted.
    ///
    /// # Errors
    /// When the system refuses to read; `OutOfMemory` if there is no room.
    pub fn fill(&mut self, wanted: usize, room: MakeRoom<'_>) -> io::Result<Fill> {
        self.fill_unless(self.may_block, wanted, room)
    }

    /// As [`fill`](Self::fill), but waits for input: for the few places that cannot suspend.
    ///
    /// # Errors
    /// As [`fill`](Self::fill).
    pub fn fill_waiting(&mut self, room: MakeRoom<'_>) -> io::Result<Fill> {
        self.fill_unless(false, usize::MAX, room)
    }

    /// Reads; if `must_be_ready`, only when that does not block.
    fn fill_unless(
        &mut self,
        must_be_ready: bool,
        wanted: usize,
        room: MakeRoom<'_>,
    ) -> io::Result<Fill> {
        if !self.access.read {
            return Err(bad_descriptor());
        }
        self.flush()?;
        let file = self.file.as_mut().ok_or_else(bad_descriptor)?;
        if must_be_ready && !is_ready(file.as_fd(), PollFlags::IN) {
            return Ok(Fill::Wait);
        }
        if self.input_at > 0 && self.input_at * 2 >= self.input.len() {
            self.input.drain(..self.input_at);
            self.scanned_to -= self.input_at;
            self.input_at = 0;
        }
        // Long reads (a whole file) take larger bites, so that their number stays logarithmic.
        let bite = BUFFER_BYTES.max(wanted.min(self.input.len() / 2));
        let len = self.input.len();
        if !room(&mut self.input, bite) {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        self.input.resize(len + bite, 0);
        let outcome = loop {
            match file.read(&mut self.input[len..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => break outcome,
            }
        };
        self.input
            .truncate(len + outcome.as_ref().map_or(0, |&count| count));
        Ok(if outcome? == 0 { Fill::End } else { Fill::Data })
    }

    /// Writes all of `bytes`, or holds them back: also where the descriptor takes no more for the moment, which
    /// [`is_backed_up`](Self::is_backed_up) tells then. Where there is no room for what is left, waits until it has been taken.
    ///
    /// # Errors
    /// When the system refuses to write, now or what was held back.
    pub fn write(&mut self, mut bytes: &[u8], room: MakeRoom<'_>) -> io::Result<()> {
        if !self.access.write {
            return Err(bad_descriptor());
        }
        if self.file.is_none() {
            return Err(bad_descriptor());
        }
        self.give_back_input()?;
        if bytes.len() >= LARGE_BYTES {
            bytes = self.write_large(bytes)?;
        }
        if !room(&mut self.output, bytes.len()) {
            self.flush()?;
            let file = self.file.as_mut().ok_or_else(bad_descriptor)?;
            return file.write_all(bytes).or_else(|error| self.failed(error));
        }
        self.output.extend_from_slice(bytes);
        let flush = match self.buffering {
            Buffering::No => true,
            Buffering::Line => {
                self.output.len() >= self.buffer_bytes || memchr::memchr(b'\n', bytes).is_some()
            }
            Buffering::Full => self.output.len() >= self.buffer_bytes,
        };
        match flush {
            true => self.give_out().map(drop),
            false => Ok(()),
        }
    }

    /// Hands as much of `bytes` to the system, after what was held back, as it takes without waiting: the rest.
    fn write_large<'a>(&mut self, mut bytes: &'a [u8]) -> io::Result<&'a [u8]> {
        if !self.give_out()? {
            return Ok(bytes);
        }
        let file = self.file.as_mut().ok_or_else(bad_descriptor)?;
        let outcome = loop {
            if bytes.is_empty() {
                break Ok(());
            }
            let written = match self.may_block {
                true => write_some(file, bytes),
                false => file.write(bytes),
            };
            match written {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        outcome.or_else(|error| self.failed(error))?;
        Ok(bytes)
    }

    /// Whether output is due that the descriptor has not taken yet: wait until it is writable, and call
    /// [`give_out`](Self::give_out).
    #[must_use]
    pub const fn is_backed_up(&self) -> bool {
        self.backed_up
    }

    /// Hands as much of the output that was held back to the system as it takes without waiting: whether that was all.
    ///
    /// # Errors
    /// When the system refuses; the output is lost then.
    pub fn give_out(&mut self) -> io::Result<bool> {
        if !self.may_block {
            return self.flush().map(|()| true);
        }
        let mut given = 0;
        let outcome = loop {
            let Some(file) = self.file.as_mut() else {
                break Err(bad_descriptor());
            };
            if given == self.output.len() {
                break Ok(true);
            }
            match write_some(file, &self.output[given..]) {
                Ok(count) => given += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        match outcome {
            Ok(all) => {
                self.output.drain(..given);
                if self.output.is_empty() && self.output.capacity() > KEEP_BYTES {
                    self.output.free();
                }
                self.backed_up = !all;
                Ok(all)
            }
            Err(error) => {
                self.output.clear();
                self.backed_up = false;
                self.failed(error).map(|()| true)
            }
        }
    }

    /// What a failed write comes to.
    fn failed(&self, error: io::Error) -> io::Result<()> {
        // Standard output leads nowhere any more: there is nobody to go on for.
        if error.kind() == io::ErrorKind::BrokenPipe && self.keep_open {
            crate::cli::die_of_broken_pipe()
        }
        Err(error)
    }

    /// Hands output that was held back to the system, and waits until it has taken all of it.
    ///
    /// # Errors
    /// When the system refuses; the output is lost then.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.output.is_empty() {
            return Ok(());
        }
        let file = self.file.as_mut().ok_or_else(bad_descriptor)?;
        let outcome = file.write_all(&self.output);
        self.output.clear();
        self.backed_up = false;
        outcome.or_else(|error| self.failed(error))
    }

    /// Moves the file position; the new one, from the start.
    ///
    /// # Errors
    /// When the system refuses, such as for a pipe.
    pub fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.flush()?;
        self.give_back_input()?;
        self.file.as_mut().ok_or_else(bad_descriptor)?.seek(to)
    }

    /// Closes the file. The child process of a pipe is handed out, to be waited for.
    ///
    /// # Errors
    /// When output that was held back cannot be written. The file is closed all the same.
    pub(in crate::stdlib) fn close(&mut self) -> (io::Result<()>, Option<Offspring>) {
        let flushed = self.flush();
        self.file = None;
        self.drop_input();
        (flushed, self.child.take())
    }

    /// Takes all of the unread input.
    pub fn take_input(&mut self) -> Buffer {
        let mut input = std::mem::take(&mut self.input);
        input.drain(..self.input_at);
        self.input_at = 0;
        self.scanned_to = 0;
        input
    }

    fn drop_input(&mut self) {
        self.input.free();
        self.input_at = 0;
        self.scanned_to = 0;
    }

    /// Moves the file position back over input that nobody has taken.
    fn give_back_input(&mut self) -> io::Result<()> {
        let unread = self.unread().len();
        if unread > 0 && !self.may_block {
            let file = self.file.as_mut().ok_or_else(bad_descriptor)?;
            file.seek(SeekFrom::Current(-(unread as i64)))?;
            self.consume(unread);
        }
        Ok(())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // Nobody is left to be told of a failure.
        let _ = self.flush();
    }
}

/// Flushes every stream that holds output back: for the end of the program.
pub fn flush_all() {
    let open: Vec<_> = OPEN.lock().iter().filter_map(Weak::upgrade).collect();
    for stream in open {
        if let Some(mut stream) = stream.try_lock() {
            // As at the end of a C program, a failure has nobody to go to.
            let _ = stream.flush();
        }
    }
}

/// What a pipe takes at least when it is writable at all.
const PIPE_BYTES: usize = 4096;

/// Writes what the descriptor takes without waiting; `WouldBlock` if that is nothing.
fn write_some(file: &mut File, bytes: &[u8]) -> io::Result<usize> {
    use rustix::io::{Errno, ReadWriteFlags, pwritev2};

    let slices = [io::IoSlice::new(bytes)];
    // The offset of -1 means: as `write` does.
    match pwritev2(&*file, &slices, u64::MAX, ReadWriteFlags::NOWAIT) {
        // Not every kind of file can be asked so.
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL | Errno::SPIPE) => {}
        outcome => return Ok(outcome?),
    }
    if !is_ready(file.as_fd(), PollFlags::OUT) {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    file.write(&bytes[..bytes.len().min(PIPE_BYTES)])
}

fn is_ready(fd: BorrowedFd<'_>, flags: PollFlags) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(fd, flags)];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // What cannot be polled cannot be waited for either: let the read tell what is wrong.
    rustix::event::poll(&mut fds, Some(&now)).is_ok_and(|count| count > 0)
}

fn bad_descriptor() -> io::Error {
    rustix::io::Errno::BADF.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::buffer::uncounted;

    const BOTH: Access = Access {
        read: true,
        write: true,
    };

    fn scratch() -> Stream {
        Stream::new(tempfile::tempfile().unwrap(), BOTH)
    }

    fn read_all(stream: &mut Stream) -> Vec<u8> {
        while stream.fill(usize::MAX, &mut uncounted).unwrap() == Fill::Data {}
        let all = stream.unread().to_vec();
        stream.consume(all.len());
        all
    }

    #[test]
    fn lines() {
        let mut stream = scratch();
        stream.write(b"one\ntwo", &mut uncounted).unwrap();
        stream.seek(SeekFrom::Start(0)).unwrap();
        assert_eq!(stream.line_end(), None);
        assert_eq!(stream.fill(usize::MAX, &mut uncounted).unwrap(), Fill::Data);
        assert_eq!(stream.line_end(), Some(4));
        stream.consume(4);
        assert_eq!(stream.line_end(), None);
        assert_eq!(stream.unread(), b"two");
        assert_eq!(stream.fill(usize::MAX, &mut uncounted).unwrap(), Fill::End);
    }

    #[test]
    fn reading_and_writing_share_the_position() {
        let mut stream = scratch();
        stream.write(b"abcdef", &mut uncounted).unwrap();
        stream.seek(SeekFrom::Start(0)).unwrap();
        stream.fill(usize::MAX, &mut uncounted).unwrap();
        stream.consume(2);
        stream.write(b"XY", &mut uncounted).unwrap();
        assert_eq!(stream.seek(SeekFrom::Current(0)).unwrap(), 4);
        assert_eq!(read_all(&mut stream), b"ef");
        stream.seek(SeekFrom::Start(0)).unwrap();
        assert_eq!(read_all(&mut stream), b"abXYef");
    }

    #[test]
    fn output_is_held_back_as_asked() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let size = || std::fs::metadata(file.path()).unwrap().len();
        let mut stream = Stream::new(file.reopen().unwrap(), BOTH);
        stream.write(b"a", &mut uncounted).unwrap();
        assert_eq!(size(), 0);
        stream.set_buffering(Buffering::Line, None);
        stream.write(b"b", &mut uncounted).unwrap();
        assert_eq!(size(), 0);
        stream.write(b"c\n", &mut uncounted).unwrap();
        assert_eq!(size(), 4);
        stream.set_buffering(Buffering::No, None);
        stream.write(b"d", &mut uncounted).unwrap();
        assert_eq!(size(), 5);
        stream.set_buffering(Buffering::Full, None);
        stream.write(b"e", &mut uncounted).unwrap();
        let shared = stream.share();
        flush_all();
        assert_eq!(size(), 6);
        drop(shared);
    }

    #[test]
    fn an_empty_pipe_has_to_wait() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let mut stream = Stream::new(File::from(std::os::fd::OwnedFd::from(reader)), BOTH);
        assert_eq!(stream.fill(usize::MAX, &mut uncounted).unwrap(), Fill::Wait);
        writer.write_all(b"x").unwrap();
        assert_eq!(stream.fill(usize::MAX, &mut uncounted).unwrap(), Fill::Data);
        drop(writer);
        assert_eq!(stream.fill(usize::MAX, &mut uncounted).unwrap(), Fill::End);
    }

    #[test]
    fn a_full_pipe_takes_the_rest_later() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let mut stream = Stream::new(File::from(std::os::fd::OwnedFd::from(writer)), BOTH);
        let all: Vec<u8> = (0..1 << 20).map(|i| (i % 251) as u8).collect();
        stream.write(&all, &mut uncounted).unwrap();
        assert!(stream.is_backed_up() && !stream.give_out().unwrap());
        let mut got = vec![0; all.len()];
        let mut count = 0;
        while count < all.len() {
            count += reader.read(&mut got[count..]).unwrap();
            stream.give_out().unwrap();
        }
        assert!(got == all && !stream.is_backed_up());
        stream.write(&all, &mut uncounted).unwrap();
        drop(reader);
        assert_eq!(
            stream.give_out().unwrap_err().kind(),
            io::ErrorKind::BrokenPipe
        );
        assert!(!stream.is_backed_up() && stream.give_out().unwrap());
    }

    #[test]
    fn refusals() {
        let file = tempfile::tempfile().unwrap();
        let mut stream = Stream::new(
            file,
            Access {
                read: false,
                write: false,
            },
        );
        assert_eq!(
            stream
                .write(b"x", &mut uncounted)
                .unwrap_err()
                .raw_os_error(),
            Some(9)
        );
        assert_eq!(
            stream
                .fill(usize::MAX, &mut uncounted)
                .unwrap_err()
                .raw_os_error(),
            Some(9)
        );
        assert!(stream.close().0.is_ok());
        assert!(stream.is_closed());
    }
}
