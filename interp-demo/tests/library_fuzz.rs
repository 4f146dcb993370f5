//! Whatever text a program hands to the libraries: no panic, no end without an answer, and the answer of `lua5.4` where that is
//! installed. The same bodies are fuzzed in `fuzz/`.

mod fuzz_bodies;

use fuzz_bodies::{dump, format, number, pack, pattern};
use proptest::prelude::*;

/// Bytes that are mostly of these pieces.
fn mostly(pieces: &'static [&'static str], most: usize) -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        30 => proptest::sample::select(pieces).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => any::<u8>().prop_map(|byte| vec![byte]),
    ];
    proptest::collection::vec(piece, 0..most).prop_map(|pieces| pieces.concat())
}

fn int() -> impl Strategy<Value = i64> {
    prop_oneof![4 => -10..10_i64, 2 => -300..300_i64, 1 => any::<i64>(), 1 => Just(i64::MIN)]
}

fn float() -> impl Strategy<Value = f64> {
    use proptest::num::f64::{ANY, NORMAL};
    prop_oneof![
        2 => int().prop_map(|int| int as f64),
        2 => int().prop_map(|int| int as f64 / 8.0),
        1 => NORMAL,
        2 => ANY,
    ]
}

const PATTERN: &[&str] = &[
    "a", "b", ".", "%a", "%d", "%S", "%w", "%.", "%%", "[ab]", "[^a]", "[a-c]", "[%d_]", "[]",
    "[^]", "[", "]", "(", ")", "()", "(a", "b)", "(.)", "(.-)", "%1", "%2", "%0", "%b()", "%bab",
    "%f[%a]", "%f", "%", "^", "$", "*", "+", "-", "?", "*", "?", "-", "\0", "%z",
];
const SUBJECT: &[&str] = &[
    "a", "b", "ab", "c", "(", ")", "1", " ", "_", ".", "%", "]", "\0", "aaaa",
];
const REPLACEMENT: &[&str] = &["%0", "%1", "%2", "%%", "%", "a", "x"];
const PACK: &[&str] = &[
    "<",
    ">",
    "=",
    "!",
    "!2",
    "!4",
    "!8",
    "!16",
    "!3",
    "b",
    "B",
    "h",
    "H",
    "i",
    "I",
    "l",
    "L",
    "j",
    "J",
    "T",
    "f",
    "d",
    "n",
    "s",
    "s1",
    "s2",
    "z",
    "x",
    "X",
    "Xi",
    "Xd",
    " ",
    "i3",
    "i7",
    "i8",
    "i9",
    "i16",
    "i17",
    "I1",
    "I2",
    "I9",
    "I16",
    "c",
    "c0",
    "c3",
    "c17",
    "0",
    "1",
    "2147483647",
    "99999",
];
const DATA: &[&str] = &[
    "a", "abc", "\0", "\0\0\0", "\u{1}", "\u{3}", "0x10", "12", "1.5", "\u{7f}", "ÿ", "        ",
];
const FORMAT: &[&str] = &[
    "%d", "%i", "%u", "%c", "%x", "%X", "%o", "%a", "%A", "%e", "%E", "%f", "%F", "%g", "%G", "%p",
    "%q", "%s", "%%", "%", "%", "%", "%", "%", "-", "+", " ", "#", "0", "1", "5", "9", "20", "99",
    "100", ".", ".0", ".3", ".20", ".99", "d", "x", "s", "g", "f", "a", "q", "c", "i", "e", "G",
    "o", "y", "text",
];
const NUMBER: &[&str] = &[
    "0",
    "1",
    "7",
    "9",
    "10",
    "15",
    "123",
    "0x",
    "0X",
    "a",
    "f",
    "F",
    "z",
    "e",
    "E",
    "p",
    "P",
    ".",
    ".",
    "-",
    "+",
    " ",
    "\t",
    "\n",
    "_",
    "inf",
    "nan",
    "e308",
    "e-320",
    "e+5",
    "p-1074",
    "p1023",
    "9223372036854775807",
    "9223372036854775808",
    "ffffffffffffffff",
    "0000000000000000000000",
    "4503599627370496.5",
    "2.2250738585072011e-308",
    "179769313486231580793",
    "\0",
    "..",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_pattern(
        it in mostly(PATTERN, 10),
        subject in mostly(SUBJECT, 12),
        init in int(),
        replacement in mostly(REPLACEMENT, 4),
    ) {
        pattern::check(&it, &subject, init, &replacement);
    }

    #[test]
    fn any_pack_format(
        it in mostly(PACK, 8),
        int in int(),
        float in float(),
        data in mostly(DATA, 12),
        position in int(),
    ) {
        pack::check(&it, int, float, &data, position);
    }

    #[test]
    fn any_format(it in mostly(FORMAT, 7), int in int(), float in float(), text in mostly(DATA, 12)) {
        format::check(&it, int, float, &text);
    }

    #[test]
    fn any_number(text in mostly(NUMBER, 6)) {
        number::check(&text);
    }

    #[test]
    fn any_damaged_dump(
        program: u8,
        changes in proptest::collection::vec((0..3_u8, any::<u16>(), prop_oneof![any::<u16>(), 0..8_u16]), 1..5),
        strip: bool,
    ) {
        dump::check(program, &changes, strip);
    }
}
