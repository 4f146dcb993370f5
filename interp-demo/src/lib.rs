//! `sleepy-lua`: a Lua 5.4 interpreter on `sleepy-gc` and `sleepy-alloc`, which collects garbage while it waits.

pub mod cli;
pub mod compare;
pub mod compiler;
pub mod debug_names;
pub mod dump;
pub mod lexer;
pub mod opcode;
pub mod phase_trace;
pub mod proto;
pub mod repl;
pub mod runtime;
pub mod stats;
pub mod stdlib;
pub mod text;
pub mod vm;
