//! Lua 5.4 as the crate `mlua` builds it and a Rust program uses it: `lua-mlua SCRIPT [ARGUMENTS]`.
//!
//! What goes wrong is said as JSON, `{"cannot": "why"}`, on the standard output.

use mlua::{Lua, Result};
use std::path::Path;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Err(error) = run(&arguments) {
        println!("{}", serde_json::json!({ "cannot": error.to_string() }));
    }
}

fn run(arguments: &[String]) -> Result<()> {
    let lua = Lua::new();
    let arg = lua.create_table()?;
    for (i, argument) in arguments.iter().enumerate() {
        arg.set(i, argument.as_str())?;
    }
    lua.globals().set("arg", arg)?;
    let script = arguments.first().map_or("", String::as_str);
    lua.load(Path::new(script)).exec()
}
