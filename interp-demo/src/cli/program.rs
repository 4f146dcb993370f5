//! What the program does, in the order of `lua`: `LUA_INIT`, `-e` and `-l`, the script, the interactive mode.

use std::io::{self, IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use super::arguments::{Action, Invocation, Script};
use super::figures::{self, Figures};
use super::interrupt::{end_if_terminated, stop_on_interrupt};
use crate::repl;
use crate::runtime::{Arguments, End, Options, Runtime};
use crate::stdlib::io::{flush_all, flush_stdout};
use crate::vm::{Ctx, Value};

/// Why the program ends before its time.
pub enum Stop {
    /// Something failed, and was reported.
    Failed,
    /// The program asked for it.
    Exit {
        /// The exit status.
        code: i32,
        /// Whether the state is to be closed first.
        close: bool,
    },
}

/// What a step of the program came to.
type Step = Result<(), Stop>;

/// Runs the program, and gives its exit status.
pub fn run(invocation: &Invocation) -> ExitCode {
    let program = invocation.program();
    if invocation.version {
        print_version();
    }
    let opened = Figures::open(invocation)
        .and_then(|figures| Ok((figures, figures::open_trace(invocation)?)));
    let (figures, gc_trace) = match opened {
        Ok(opened) => opened,
        Err(message) => {
            report(Some(&program), message.as_bytes());
            return ExitCode::FAILURE;
        }
    };
    let mut runtime = Runtime::new(Options {
        ignore_environment: invocation.ignore_environment,
        sleepy: invocation.sleepy,
        scavenger: invocation.scavenger,
        memory_limit_bytes: invocation.memory_limit_bytes,
        time_limit: invocation.time_limit,
        zeal: invocation.zeal,
        gc_trace,
        ..Options::default()
    });
    let (mut code, close) = match steps(invocation, &program, &mut runtime) {
        Ok(()) => (0, true),
        Err(Stop::Failed) => (1, true),
        Err(Stop::Exit { code, close }) => (code, close),
    };
    if close && let Some(last) = runtime.close() {
        code = last;
    }
    flush_all();
    runtime.finish_trace();
    if let Err(message) = figures.write(&runtime) {
        report(Some(&program), message.as_bytes());
        code = 1;
    }
    end_if_terminated();
    // The heap goes with the process: that is faster than to free it piece by piece.
    std::process::exit(code)
}

fn steps(invocation: &Invocation, program: &str, runtime: &mut Runtime) -> Step {
    let finish = |end: End| match end {
        End::Done => Ok(()),
        End::Failed(message) => {
            report(Some(program), &message);
            Err(Stop::Failed)
        }
        End::Exit { code, close } => Err(Stop::Exit { code, close }),
    };
    stop_on_interrupt();
    runtime.enter(|ctx| set_arg(ctx, invocation));
    if !invocation.ignore_environment {
        finish(run_init(runtime))?;
    }
    for action in &invocation.actions {
        finish(match action {
            Action::Execute(text) => runtime.do_string(text, b"=(command line)"),
            Action::Require { global, module } => require(runtime, global, module),
            Action::WarningsOn => {
                runtime.enter(|ctx| ctx.set_warnings(true));
                End::Done
            }
        })?;
    }
    match &invocation.script {
        Some(Script::File(path)) => {
            finish(runtime.run_file(Some(path.as_bytes()), Arguments::Global))?;
        }
        Some(Script::Stdin) => finish(runtime.run_file(None, Arguments::Global))?,
        None => {}
    }
    let executes = |action: &Action| matches!(action, Action::Execute(_));
    let nothing_else = invocation.script.is_none()
        && !invocation.version
        && !invocation.actions.iter().any(executes);
    if invocation.interactive {
        finish(repl::run(runtime))?;
    } else if nothing_else {
        if io::stdin().is_terminal() {
            print_version();
            finish(repl::run(runtime))?;
        } else {
            finish(runtime.run_file(None, Arguments::None))?;
        }
    }
    Ok(())
}

/// Sets the global table `arg`: the script at 0, its arguments from 1 on, and what stands before it below 0.
fn set_arg(ctx: Ctx<'_>, invocation: &Invocation) {
    let arg = crate::vm::Table::new(ctx);
    // Without a script the program itself is at 0.
    let script_at = if invocation.script.is_some() {
        invocation.script_at
    } else {
        0
    };
    for (place, word) in invocation.words.iter().enumerate() {
        let index = place as i64 - script_at as i64;
        // A lack of memory shows up again as soon as the program runs.
        let _ = arg.set(ctx, Value::Int(index), ctx.string(word.as_bytes()));
    }
    ctx.state.globals().set_name(ctx, "arg", arg);
}

/// `LUA_INIT`: a text to run, or `@` and a file.
fn run_init(runtime: &mut Runtime) -> End {
    for name in ["LUA_INIT_5_4", "LUA_INIT"] {
        if let Some(text) = std::env::var_os(name) {
            return match text.as_bytes() {
                [b'@', path @ ..] => runtime.run_file(Some(path), Arguments::None),
                text => runtime.do_string(text, format!("={name}").as_bytes()),
            };
        }
    }
    End::Done
}

/// `-l`: requires a module and sets a global to it.
fn require(runtime: &mut Runtime, global: &[u8], module: &[u8]) -> End {
    let end = runtime.call(|ctx| {
        let require = ctx.state.globals().get_name(ctx, "require");
        Ok((require, vec![ctx.string(module)]))
    });
    if end == End::Done {
        runtime.enter(|ctx| {
            let value = ctx.results().get(1).copied().unwrap_or_default();
            let _ = ctx.state.globals().set(ctx, ctx.string(global), value);
        });
    }
    end
}

fn print_version() {
    let version = concat!("sleepy-lua ", env!("CARGO_PKG_VERSION"), " (Lua 5.4)\n");
    // Lua does not mind either whether anybody reads it.
    let _ = io::stdout().write_all(version.as_bytes());
}

/// Writes an error message to standard error, after the program's name if it's given.
pub fn report(program: Option<&str>, message: &[u8]) {
    flush_stdout();
    let prefix = program.map_or(String::new(), |program| format!("{program}: "));
    // There is nobody to tell that standard error can't be written.
    let _ = io::stderr().write_all(&[prefix.as_bytes(), message, b"\n"].concat());
}
