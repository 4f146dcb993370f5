//! `system.core` and `term.core`: the parts of LuaSystem and lua-term that are written in C, on which test runners stand.

use std::io::IsTerminal as _;

use super::socket::{gettime, sleep};
use super::{Functions, fill, io, waiting};
use crate::vm::native::{Call, NativeResult};
use crate::vm::state::Ctx;
use crate::vm::table::Table;

const SYSTEM: Functions = &[
    ("gettime", gettime),
    ("monotime", monotime),
    ("sleep", sleep),
];

const TERM: Functions = &[("isatty", isatty)];

/// Makes `require` find both. They are made when they are first required.
pub(super) fn open(ctx: Ctx<'_>) {
    super::package::preload(ctx, "system.core", |call| load(call, SYSTEM));
    super::package::preload(ctx, "term.core", |call| load(call, TERM));
}

fn load<'gc>(call: &mut Call<'gc>, functions: Functions) -> NativeResult<'gc> {
    let library = Table::new(call.ctx);
    fill(call.ctx, library, functions);
    call.ret1(library)
}

/// `monotime()`: seconds on a clock that never steps back
fn monotime<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    call.ret1(waiting::now_ns() as f64 / 1e9)
}

/// `isatty(file)`
fn isatty<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let stream = io::check_handle(call, 0)?;
    let is_terminal = stream.lock().file().is_some_and(|file| file.is_terminal());
    call.ret1(is_terminal)
}
