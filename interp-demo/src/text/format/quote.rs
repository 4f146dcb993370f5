//! `%q`: values as literals that the Lua parser reads back.

use super::{Spec, float};
use crate::text::number;

/// Appends a string literal. Newlines, quotes and backslashes are escaped by a backslash, other control characters as
/// decimal escapes that are three digits long when a digit follows.
pub fn quote(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    quote_piece(out, text, None);
    out.push(b'"');
}

/// Appends a piece of a string literal, which is followed by the byte `next`.
pub fn quote_piece(out: &mut Vec<u8>, text: &[u8], next: Option<u8>) {
    for (at, &byte) in text.iter().enumerate() {
        match byte {
            b'"' | b'\\' | b'\n' => out.extend_from_slice(&[b'\\', byte]),
            0..=31 | 127 => {
                let next = text.get(at + 1).copied().or(next);
                let digit_follows = next.is_some_and(|byte| byte.is_ascii_digit());
                let escape = if digit_follows {
                    format!("\\{byte:03}")
                } else {
                    format!("\\{byte}")
                };
                out.extend_from_slice(escape.as_bytes());
            }
            _ => out.push(byte),
        }
    }
}

/// Appends an integer literal. The smallest integer has no decimal literal: it is written in hexadecimal.
pub fn quote_int(out: &mut Vec<u8>, value: i64) {
    if value == i64::MIN {
        out.extend_from_slice(b"0x8000000000000000");
    } else {
        number::write_int(out, value);
    }
}

/// Appends an expression for a float that gives exactly its value.
pub fn quote_float(out: &mut Vec<u8>, value: f64) {
    if value.is_nan() {
        out.extend_from_slice(b"(0/0)");
    } else if value.is_infinite() {
        out.extend_from_slice(if value > 0.0 { b"1e9999" } else { b"-1e9999" });
    } else {
        float(out, &Spec::new(b'a'), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals() {
        let mut out = Vec::new();
        quote(&mut out, b"a\n\x001\x00\r\"\\\xc8\x7f");
        assert_eq!(out, b"\"a\\\n\\0001\\0\\13\\\"\\\\\xc8\\127\"");

        let ints: &[(i64, &str)] = &[(-5, "-5"), (i64::MIN, "0x8000000000000000")];
        for &(value, text) in ints {
            let mut out = Vec::new();
            quote_int(&mut out, value);
            assert_eq!(out, text.as_bytes());
        }
        let floats: &[(f64, &str)] = &[
            (f64::INFINITY, "1e9999"),
            (f64::NEG_INFINITY, "-1e9999"),
            (f64::NAN, "(0/0)"),
            (0.1, "0x1.999999999999ap-4"),
            (-0.0, "-0x0p+0"),
        ];
        for &(value, text) in floats {
            let mut out = Vec::new();
            quote_float(&mut out, value);
            assert_eq!(out, text.as_bytes());
        }
    }
}
