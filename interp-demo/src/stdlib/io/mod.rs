//! Input and output.
//!
//! A file handle is a userdata around a shared [`Stream`]. Reading from something that has nothing to give yet suspends to
//! the host; before that, standard output is flushed, so that a prompt is seen.

mod child;
mod handle;
mod lines;
mod numeral;
mod open;
mod read;
pub mod stream;
mod write;

pub(super) use child::wait_for;
pub(super) use handle::{check as check_handle, handle};
pub(super) use open::shell;

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, IsTerminal as _};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::LazyLock;

use self::stream::{Access, Buffering, Shared, Stream};
use super::{Functions, register};
use crate::vm::buffer::{Buffer, counted, uncounted};
use crate::vm::native::{Call, NativeResult};
use crate::vm::state::Ctx;

const FUNCTIONS: Functions = &[
    ("close", handle::close_default),
    ("flush", write::flush_default),
    ("input", open::input),
    ("lines", lines::lines_of_path),
    ("open", open::open),
    ("output", open::output),
    ("popen", open::popen),
    ("read", read::read_default),
    ("tmpfile", open::tmpfile),
    ("type", handle::type_of),
    ("write", write::write_default),
];

/// Keys of the registry under which the default files are kept.
const DEFAULT_INPUT: &str = "_IO_input";
const DEFAULT_OUTPUT: &str = "_IO_output";

pub(super) fn open(ctx: Ctx<'_>) {
    let library = register(ctx, "io", FUNCTIONS);
    handle::open(ctx);
    let registry = ctx.state.registry();
    let stdin = handle::shared_handle(ctx, Shared::clone(&STDIN));
    let stdout = handle::shared_handle(ctx, Shared::clone(&STDOUT));
    let stderr = handle::shared_handle(ctx, Shared::clone(&STDERR));
    library.set_name(ctx, "stdin", stdin);
    library.set_name(ctx, "stdout", stdout);
    library.set_name(ctx, "stderr", stderr);
    registry.set_name(ctx, DEFAULT_INPUT, stdin);
    registry.set_name(ctx, DEFAULT_OUTPUT, stdout);
}

static STDIN: LazyLock<Shared> = LazyLock::new(|| {
    standard(
        &io::stdin(),
        Access {
            read: true,
            write: false,
        },
        Buffering::Full,
    )
});
static STDOUT: LazyLock<Shared> = LazyLock::new(|| {
    let stdout = io::stdout();
    let buffering = if stdout.is_terminal() {
        Buffering::Line
    } else {
        Buffering::Full
    };
    standard(
        &stdout,
        Access {
            read: false,
            write: true,
        },
        buffering,
    )
});
static STDERR: LazyLock<Shared> = LazyLock::new(|| {
    standard(
        &io::stderr(),
        Access {
            read: false,
            write: true,
        },
        Buffering::No,
    )
});

/// A stream on a standard descriptor; one that leads nowhere if the program was started without it.
fn standard(fd: &impl AsFd, access: Access, buffering: Buffering) -> Shared {
    let own = fd.as_fd().try_clone_to_owned().map(File::from);
    match own.or_else(|_| File::options().read(true).write(true).open("/dev/null")) {
        Ok(file) => Stream::standard(file, access, buffering),
        Err(_) => Stream::closed(),
    }
    .share()
}

/// Writes to standard output, as `print` does.
pub fn print(ctx: Ctx<'_>, text: &[u8]) {
    // `print` has no way to tell of a failure.
    let _ = STDOUT.lock().write(text, &mut counted(ctx));
}

/// Returns nothing, once standard output has taken all: a line that was printed can be read, whatever the program does next.
pub(super) fn ret_printed<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    {
        let mut stdout = STDOUT.lock();
        // `print` has no way to tell of a failure.
        let _ = stdout.give_out();
        if !stdout.is_backed_up() {
            return call.ret0();
        }
    }
    write::wait(call, &STDOUT, |call| {
        let _ = call.answer();
        ret_printed(call)
    })
}

/// Hands to the system what standard output holds back; to be called before a wait for standard input.
pub fn flush_stdout() {
    let _ = STDOUT.lock().flush();
}

/// Hands to the system what any stream holds back; to be called at the end of the program.
pub fn flush_all() {
    stream::flush_all();
}

/// Writes to standard error.
pub(super) fn complain(text: &[u8]) {
    // There is nowhere else to tell of a failure.
    let mut stderr = STDERR.lock();
    let _ = stderr
        .write(text, &mut uncounted)
        .and_then(|()| stderr.flush());
}

/// The next line of standard input, without its end, waiting for it; `None` at the end of the input.
pub fn read_stdin_line() -> Option<Vec<u8>> {
    flush_stdout();
    let mut stdin = STDIN.lock();
    loop {
        if let Some(end) = stdin.line_end() {
            let line = stdin.unread()[..end - 1].to_vec();
            stdin.consume(end);
            return Some(line);
        }
        if !matches!(stdin.fill_waiting(&mut uncounted), Ok(stream::Fill::Data)) {
            // The last line may lack its end.
            let rest = stdin.unread().to_vec();
            stdin.consume(rest.len());
            return (!rest.is_empty()).then_some(rest);
        }
    }
}

/// The rest of standard input, waiting for its end.
pub(super) fn read_whole_stdin(ctx: Ctx<'_>) -> io::Result<Buffer> {
    flush_stdout();
    let mut stdin = STDIN.lock();
    read_to_end(ctx, &mut stdin)
}

/// A whole file.
pub(super) fn read_file(ctx: Ctx<'_>, name: &[u8]) -> io::Result<Buffer> {
    let access = Access {
        read: true,
        write: false,
    };
    let mut file = Stream::new(File::open(path(name))?, access);
    read_to_end(ctx, &mut file)
}

fn read_to_end(ctx: Ctx<'_>, stream: &mut Stream) -> io::Result<Buffer> {
    let mut room = counted(ctx);
    while stream.fill_waiting(&mut room)? == stream::Fill::Data {}
    Ok(stream.take_input())
}

/// A path as Lua programs write it: any bytes.
pub(super) fn path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// A file name in a message.
fn shown(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}
