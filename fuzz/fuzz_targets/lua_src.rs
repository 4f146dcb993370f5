//! Any bytes as Lua source and as a dumped function: neither makes the compiler or the loader panic, and what compiles
//! comes back from its dump, which checks every instruction.
#![no_main]

use interp_demo::compiler::compile;
use interp_demo::dump::{listing, load, save};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(proto) = compile(bytes, b"=fuzz") {
        let loaded = load(&save(&proto, false), b"=fuzz").expect("a dump loads");
        assert_eq!(listing(&proto), listing(&loaded));
    }
    // With the header in place the body is reached.
    let dump = save(&compile(b"", b"=fuzz").expect("nothing compiles"), true);
    let header = dump.len().min(40);
    let _ = load(&[&dump[..header], bytes].concat(), b"=fuzz");
});
