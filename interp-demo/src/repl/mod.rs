//! The interactive mode: reads a chunk, runs it, shows its values, and so on.

mod chunk;
mod complete;
mod lines;

use std::io::{self, IsTerminal, Write};

use crate::cli::stop_on_interrupt;
use crate::runtime::{End, Runtime};
use crate::stdlib::io::flush_stdout;
use crate::vm::{Ctx, Value};

pub use chunk::{Read, read_chunk};
pub use lines::{Line, Lines, Plain, Terminal};

/// Reads and runs chunks until there are no more.
pub fn run(runtime: &mut Runtime) -> End {
    let mut lines: Box<dyn Lines> = if io::stdin().is_terminal() && io::stdout().is_terminal() {
        match Terminal::new() {
            Ok(terminal) => Box::new(terminal),
            Err(_) => Box::new(Plain),
        }
    } else {
        Box::new(Plain)
    };
    loop {
        let (prompt, prompt2) =
            runtime.enter(|ctx| (prompt(ctx, "_PROMPT", "> "), prompt(ctx, "_PROMPT2", ">> ")));
        lines.set_names(runtime.enter(names));
        flush_stdout();
        let end = match read_chunk(&mut *lines, [&prompt, &prompt2]) {
            Ok(Read::Chunk { text, source }) => {
                lines.remember(&text);
                run_chunk(runtime, &source)
            }
            Ok(Read::Wrong { text, error }) => {
                lines.remember(&text);
                End::Failed(error.message)
            }
            Ok(Read::GivenUp) => continue,
            Ok(Read::End) => {
                // The cursor stands behind the prompt.
                let _ = writeln!(io::stdout());
                return End::Done;
            }
            Err(error) => {
                return End::Failed(format!("cannot read standard input: {error}").into_bytes());
            }
        };
        match end {
            End::Done => {}
            End::Failed(message) => report(&message),
            End::Exit { .. } => return end,
        }
    }
}

fn report(message: &[u8]) {
    let _ = io::stderr().write_all(&[message, b"\n"].concat());
}

/// Runs a chunk and shows its values by the global `print`.
fn run_chunk(runtime: &mut Runtime, source: &[u8]) -> End {
    stop_on_interrupt();
    let end = runtime.do_string(source, chunk::CHUNK_NAME);
    let has_values = end == End::Done && runtime.enter(|ctx| ctx.results().len() > 1);
    if !has_values {
        return end;
    }
    let shown = runtime.call(|ctx| {
        let print = ctx.state.globals().get_name(ctx, "print");
        Ok((print, ctx.results().split_off(1)))
    });
    match shown {
        End::Failed(message) => {
            let line = message
                .split(|&byte| byte == b'\n')
                .next()
                .unwrap_or_default();
            End::Failed([b"error calling 'print' (", line, b")"].concat())
        }
        end => end,
    }
}

/// The text of a global that may hold a prompt.
fn prompt(ctx: Ctx<'_>, name: &str, otherwise: &str) -> String {
    let value = ctx.state.globals().get_name(ctx, name);
    match ctx.number_or_string(value) {
        Some(text) => String::from_utf8_lossy(text.as_bytes()).into_owned(),
        None => otherwise.to_owned(),
    }
}

/// The names of globals, and of fields of global tables as `table.field`.
fn names(ctx: Ctx<'_>) -> Vec<String> {
    let text = |value: Value<'_>| match value {
        Value::Str(name) => std::str::from_utf8(name.as_bytes()).ok().map(str::to_owned),
        _ => None,
    };
    let mut names = Vec::new();
    for (key, value) in ctx.state.globals().pairs(ctx) {
        let Some(name) = text(key) else { continue };
        if let Value::Table(table) = value
            && name != "_G"
        {
            let fields = table.pairs(ctx).filter_map(|(key, _)| text(key));
            names.extend(fields.map(|field| format!("{name}.{field}")));
        }
        names.push(name);
    }
    names
}
