//! luna's interpreter, without its compiler to machine code: `lua-luna SCRIPT [ARGUMENTS]`.
//!
//! What goes wrong is said as JSON, `{"cannot": "why"}`, on the standard output.

use luna_core::version::LuaVersion;
use luna_core::vm::Vm;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Err(why) = run(&arguments) {
        println!("{}", serde_json::json!({ "cannot": why }));
    }
}

fn run(arguments: &[String]) -> Result<(), String> {
    let script = arguments.first().ok_or("no script")?;
    let source = std::fs::read_to_string(script).map_err(|error| error.to_string())?;
    let mut vm = Vm::new(LuaVersion::Lua54);
    vm.open_all_libs();
    let items: Vec<String> = arguments
        .iter()
        .enumerate()
        // The words are paths and names without control characters: as Rust quotes them, so does Lua.
        .map(|(i, word)| format!("[{i}] = {word:?}"))
        .collect();
    for (code, name) in [
        (format!("arg = {{ {} }}", items.join(", ")), "=arg"),
        (source, script.as_str()),
    ] {
        if let Err(error) = vm.eval_chunk(&code, name) {
            return Err(vm.error_text(&error));
        }
    }
    Ok(())
}
