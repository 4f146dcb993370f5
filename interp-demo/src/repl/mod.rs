//! The interactive mode: reads a chunk, runs it, shows its values, and so on.

mod chunk;
mod complete;
mod lines;

use std::io::{self, IsTerminal, Write};

use crate::cli::stop_on_interrupt;
use crate::runtime::{End, Runtime};
use crate::stdlib::{self, io::flush_stdout};
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
        let prompt2 = prompt(runtime, "_PROMPT2", ">> ");
        let prompt = prompt(runtime, "_PROMPT", "> ");
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
                lines.end();
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
        Ok((print, ctx.results().into_iter().skip(1).collect()))
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

/// The text of a global that may hold a prompt: of any value, as `tostring` gives it.
fn prompt(runtime: &mut Runtime, name: &str, otherwise: &str) -> String {
    let is_nil = |ctx: Ctx<'_>| ctx.state.globals().get_name(ctx, name).is_nil();
    if runtime.enter(is_nil) {
        return otherwise.to_owned();
    }
    let end = runtime.call(|ctx| {
        let value = ctx.state.globals().get_name(ctx, name);
        Ok((stdlib::tostring(ctx), vec![value]))
    });
    let text = |ctx: Ctx<'_>| {
        let text = ctx.results().get(1).copied().unwrap_or_default();
        ctx.number_or_string(text)
            .map(|text| String::from_utf8_lossy(text.as_bytes()).into_owned())
    };
    // A prompt that can't be shown is no reason to stop.
    match end {
        End::Done => runtime.enter(text).unwrap_or_else(|| otherwise.to_owned()),
        _ => otherwise.to_owned(),
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
