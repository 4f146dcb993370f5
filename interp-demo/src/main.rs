//! `sleepy-lua`: a Lua 5.4 interpreter that collects garbage while it waits.
fn main() {}
