//! The standard library of Lua 5.4, on the interface for natives in [`vm::native`](crate::vm::native).
//!
//! A native never calls Lua and never blocks by itself: it hands back what it wants done and goes on in a continuation.
//! Where that matters only for values with metamethods, the plain case is a loop of its own and the other one is a
//! small machine whose state lives in slots and in [`Call::state`](crate::vm::native::Call::state).

mod base;
mod children;
mod coroutine;
mod debug;
mod descriptors;
mod gc;
pub mod io;
mod lfs;
mod load;
pub(crate) mod lock;
mod math;
mod md5;
mod mime;
mod os;
mod package;
mod process;
mod queue;
pub mod random;
mod semaphore;
mod socket;
mod string;
mod system;
mod table;
mod text_of;
pub(crate) mod thread;
mod timer;
mod utf8;
mod waiting;

use crate::vm::native::{Native, NativeFn, Role};
use crate::vm::state::Ctx;
use crate::vm::table::Table;
use crate::vm::value::Value;

/// Functions of a library by name.
type Functions = &'static [(&'static str, NativeFn)];

/// Opens all libraries of this module in a new state.
pub fn open_all(ctx: Ctx<'_>) {
    base::open(ctx);
    package::open(ctx);
    coroutine::open(ctx);
    table::open(ctx);
    io::open(ctx);
    os::open(ctx);
    string::open(ctx);
    utf8::open(ctx);
    math::open(ctx);
    debug::open(ctx);
    gc::open(ctx);
    lfs::open(ctx);
    md5::open(ctx);
    mime::open(ctx);
    lock::open(ctx);
    process::open(ctx);
    queue::open(ctx);
    semaphore::open(ctx);
    socket::open(ctx);
    system::open(ctx);
    thread::open(ctx);
    timer::open(ctx);
}

/// The function `tostring`, whatever the program has put in its place.
pub(crate) fn tostring<'gc>(ctx: Ctx<'gc>) -> Value<'gc> {
    Native::new(ctx, "tostring", base::tostring).into()
}

/// Makes natives of `functions` and puts them into `table`.
fn fill<'gc>(ctx: Ctx<'gc>, table: Table<'gc>, functions: Functions) {
    for &(name, function) in functions {
        table.set_name(ctx, name, Native::new(ctx, name, function));
    }
}

/// As [`fill`], with functions that change nothing before they fail for want of memory ([`Role::Repeatable`]).
fn fill_repeatable<'gc>(ctx: Ctx<'gc>, table: Table<'gc>, functions: Functions) {
    for &(name, function) in functions {
        let native = Native::with_role(ctx, name, function, Role::Repeatable);
        table.set_name(ctx, name, native);
    }
}

/// Makes a library table: a global and an entry of `package.loaded`.
fn register<'gc>(ctx: Ctx<'gc>, name: &str, functions: Functions) -> Table<'gc> {
    let library = Table::new(ctx);
    fill(ctx, library, functions);
    ctx.state.globals().set_name(ctx, name, library);
    ctx.state.loaded().set_name(ctx, name, library);
    library
}

/// The metatable of a library's objects: its methods, and what else stands in it. Made when it is first asked for.
fn class<'gc>(
    ctx: Ctx<'gc>,
    name: &'static str,
    methods: Functions,
    events: Functions,
) -> Table<'gc> {
    let registry = ctx.state.registry();
    if let Value::Table(class) = registry.get_name(ctx, name) {
        return class;
    }
    let index = Table::new(ctx);
    fill(ctx, index, methods);
    let class = Table::new(ctx);
    fill(ctx, class, events);
    class.set_name(ctx, "__index", index);
    class.set_name(ctx, "__name", ctx.string(name.as_bytes()));
    registry.set_name(ctx, name, class);
    class
}
