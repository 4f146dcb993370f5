//! piccolo with the standard library that it has and a few functions more ([`library`]): `lua-piccolo RUNNER SCRIPT [ARGUMENTS]`.
//!
//! The runner is not run, as piccolo has neither `io` nor patterns: what it does (collecting what is printed, saying it as
//! JSON with what the process has held) is done here. What goes wrong is said as `{"cannot": "why"}`.

mod library;

use peers_common::proc::{peak_rss_bytes, rss_bytes};
use piccolo::{Callback, CallbackReturn, Closure, Executor, Lua, RuntimeError, StaticError, Table};
use std::cell::RefCell;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(2).collect();
    let lines = Rc::new(RefCell::new(Vec::new()));
    // It may give up by a panic where it can't do something.
    let outcome = catch_unwind(AssertUnwindSafe(|| run(&arguments, &lines)));
    let answer = match outcome {
        Ok(Ok(())) => serde_json::json!({
            "output": lines.borrow().join("; "),
            "peak_kib": peak_rss_bytes() / 1024,
            "resident_kib": rss_bytes() / 1024,
        }),
        Ok(Err(error)) => serde_json::json!({ "cannot": error.to_string() }),
        Err(_) => serde_json::json!({ "cannot": "it panics" }),
    };
    println!("{answer}");
}

fn run(arguments: &[String], lines: &Rc<RefCell<Vec<String>>>) -> Result<(), StaticError> {
    let script = arguments.first().map_or("", String::as_str);
    let file = File::open(script)
        .and_then(piccolo::io::buffered_read)
        .map_err(RuntimeError::from)?;
    let mut lua = Lua::full();
    let executor = lua.try_enter(|ctx| {
        let arg = Table::new(&ctx);
        for (i, argument) in arguments.iter().enumerate() {
            arg.set(ctx, i as i64, ctx.intern(argument.as_bytes()))?;
        }
        ctx.set_global("arg", arg)?;
        library::open(ctx)?;
        let lines = Rc::clone(lines);
        let print = Callback::from_fn(&ctx, move |_, _, mut stack| {
            let mut line = Vec::new();
            for (i, value) in stack.drain(..).enumerate() {
                if i > 0 {
                    line.push(b' ');
                }
                value.display(&mut line)?;
            }
            lines
                .borrow_mut()
                .push(String::from_utf8_lossy(&line).into_owned());
            Ok(CallbackReturn::Return)
        });
        ctx.set_global("print", print)?;
        let closure = Closure::load(ctx, Some(script), file)?;
        Ok(ctx.stash(Executor::start(ctx, closure.into(), ())))
    })?;
    lua.execute(&executor)
}
