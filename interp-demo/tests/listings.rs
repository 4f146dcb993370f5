//! The bytecode of each construct, as listings that were compared with those of `luac5.4 -l -l`.

use std::fs;
use std::path::Path;

use interp_demo::compiler::compile;
use interp_demo::dump::listing;
use interp_demo::opcode::Op;

#[test]
fn bytecode_is_that_of_lua() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/listings");
    let mut checked = 0;
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "lua") {
            let source = fs::read(&path).expect("a source text");
            let expected = fs::read_to_string(path.with_extension("txt")).expect("its listing");
            let proto = compile(&source, b"=t")
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            assert_eq!(listing(&proto), expected, "{}", path.display());
            checked += 1;
        }
    }
    assert!(checked >= 8);
}

#[test]
fn a_comparison_as_key_is_made_before_the_table() {
    let proto = compile(b"return _ENV[x < 2]", b"=t").expect("compiles");
    let at = |op| {
        proto
            .code
            .iter()
            .position(|i| i.op() == op)
            .expect("has it")
    };
    assert!(at(Op::LoadTrue) < at(Op::GetUpval), "{}", listing(&proto));
}

#[test]
fn calls_belong_to_the_line_of_their_parenthesis() {
    let proto = compile(b"local a = {}\na\n.\nx\n(\n23\n)\n", b"=t").expect("compiles");
    let call = proto
        .code
        .iter()
        .position(|i| i.op() == Op::Call)
        .expect("calls");
    assert_eq!(proto.line(call), Some(5));
}
