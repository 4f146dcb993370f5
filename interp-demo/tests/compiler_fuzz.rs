//! No bytes make the compiler or the listing panic, and what compiles is well formed.

use interp_demo::compiler::compile;
use interp_demo::debug_names::{call_name, register_name};
use interp_demo::dump::{listing, load, save};
use interp_demo::proto::Proto;
use proptest::prelude::*;

/// Pieces that are likely to make a program together.
const PIECES: &[&str] = &[
    "and",
    "break",
    "do",
    "else",
    "elseif",
    "end",
    "false",
    "for",
    "function",
    "goto",
    "if",
    "in",
    "local",
    "nil",
    "not",
    "or",
    "repeat",
    "return",
    "then",
    "true",
    "until",
    "while",
    "+",
    "-",
    "*",
    "/",
    "%",
    "^",
    "#",
    "&",
    "~",
    "|",
    "<<",
    ">>",
    "//",
    "==",
    "~=",
    "<=",
    ">=",
    "<",
    ">",
    "=",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "::",
    ";",
    ":",
    ",",
    ".",
    "..",
    "...",
    "a",
    "b",
    "c",
    "_ENV",
    "x",
    "1",
    "2.5",
    "0x7fffffffffffffff",
    "127",
    "128",
    "\"s\"",
    "[[l]]",
    "<const>",
    "<close>",
    "'\\u{7f}'",
    "\n",
    "local a =",
    "local function f()",
    "for i = 1, 2 do",
    "for k, v in x do",
    "if a then",
    "while a do",
    "return function() return a end",
    "end",
    "end",
    "a.b",
    "a[1]",
    "a:b()",
    "f()",
    "= 1",
];

/// Names can be asked for anywhere, and the function comes back from its dump, which checks every instruction.
fn check(proto: &Proto) {
    for (pc, i) in proto.code.iter().enumerate() {
        let _ = register_name(proto, pc, i.b());
        let _ = call_name(proto, pc);
    }
    for var in &proto.loc_vars {
        assert!(
            var.start_pc <= var.end_pc && var.end_pc as usize <= proto.code.len(),
            "{}",
            listing(proto)
        );
    }
    proto.protos.iter().for_each(|inner| check(inner));
}

fn try_compile(source: &[u8]) {
    if let Ok(proto) = compile(source, b"=fuzz") {
        check(&proto);
        let text = listing(&proto);
        match load(&save(&proto, false), b"=fuzz") {
            Ok(loaded) => assert_eq!(listing(&loaded), text),
            Err(error) => panic!("{error}\n{}\n{text}", String::from_utf8_lossy(source)),
        }
    }
}

fn expression() -> BoxedStrategy<String> {
    let leaf = proptest::sample::select(vec![
        "a", "b", "c", "x", "up", "nil", "true", "false", "0", "1", "-3", "127.0", "1e30", "2^53",
        "'k'", "...", "{}",
    ])
    .prop_map(str::to_owned);
    leaf.prop_recursive(4, 24, 3, |inner| {
        let operator = proptest::sample::select(vec![
            "+", "-", "*", "/", "//", "%", "^", "&", "|", "~", "<<", ">>", "..", "==", "~=", "<",
            "<=", ">", ">=", "and", "or",
        ]);
        let unary = proptest::sample::select(vec!["-", "not ", "#", "~"]);
        prop_oneof![
            (inner.clone(), operator, inner.clone())
                .prop_map(|(l, op, r)| format!("({l} {op} {r})")),
            (unary, inner.clone()).prop_map(|(op, e)| format!("{op}({e})")),
            (inner.clone(), inner.clone()).prop_map(|(t, k)| format!("({t})[{k}]")),
            inner
                .clone()
                .prop_map(|e| format!("a.k{{[{e}] = {e}, n = {e}, {e}, f(...)}}")),
            (inner.clone(), inner.clone()).prop_map(|(f, e)| format!("({f}):m({e})")),
            inner.prop_map(|e| format!(
                "function(c, ...) local d <const> = {e}; return d, c, up, {e} end"
            )),
        ]
    })
    .boxed()
}

fn statement() -> BoxedStrategy<String> {
    let simple = (expression(), expression()).prop_flat_map(|(e, d)| {
        proptest::sample::select(vec![
            format!("local a, b = {e}, {d}"),
            format!("a, b[a], c.k = {e}, {d}"),
            format!("up = {e}"),
            format!("f({e}, {d})"),
            format!("local x <const> = {e}"),
            format!("local y <close>, z = {e}"),
            format!("do return {e} end"),
            format!("do return f({e}) end"),
            "if x then break end".to_owned(),
            "do goto continue end".to_owned(),
        ])
    });
    simple
        .prop_recursive(4, 24, 4, |inner| {
            let block =
                proptest::collection::vec(inner, 0..4).prop_map(|statements| statements.join("; "));
            (block.clone(), block, expression()).prop_flat_map(|(b, d, e)| {
                proptest::sample::select(vec![
                    format!("if {e} then {b} else {d} end"),
                    format!("while {e} do {b} ::continue:: end"),
                    format!("repeat {b} ::continue:: until {e}"),
                    format!("for i = 1, {e}, 2 do {b} ::continue:: end"),
                    format!("for k, v in {e} do {b} ::continue:: end"),
                    format!("do local up = {e}; function f() {b} ::continue:: end {d} end"),
                    format!("local function g(a, ...) {b} end"),
                ])
            })
        })
        .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(source in proptest::collection::vec(any::<u8>(), 0..200)) {
        try_compile(&source);
    }

    #[test]
    fn any_tokens(pieces in proptest::collection::vec(proptest::sample::select(PIECES), 0..60)) {
        try_compile(pieces.join(" ").as_bytes());
    }

    #[test]
    fn likely_programs(body in proptest::collection::vec(statement(), 1..6)) {
        let body = body.join("\n");
        try_compile(format!("local up, a, b, c = 1\nwhile x do {body}\n::continue:: end").as_bytes());
    }

    #[test]
    fn damaged_dumps(body in statement(), place in any::<proptest::sample::Index>(), byte in any::<u8>()) {
        if let Ok(proto) = compile(body.as_bytes(), b"=fuzz") {
            let mut bytes = save(&proto, false);
            let place = place.index(bytes.len());
            bytes[place] = byte;
            // Whatever the damage does: no panic, and what loads has passed the checks.
            let _ = load(&bytes, b"=fuzz");
            bytes.truncate(place);
            prop_assert!(load(&bytes, b"=fuzz").is_err_and(|error| error.to_string().contains("truncated")));
        }
    }

    #[test]
    fn any_string_text(text in "[\\\\xuz0-9a-f{}\"'\n\r\\[\\]= -]{0,40}") {
        try_compile(format!("x = \"{text}\" y = [=[{text}]=]").as_bytes());
    }

    #[test]
    fn any_numeral(text in "[0-9a-fA-FxXpP.eE+-]{1,20}") {
        try_compile(format!("x = {text}").as_bytes());
    }
}
