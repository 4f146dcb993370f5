//! Numerals: text to number and number to text, with the rules of Lua 5.4.
//!
//! A numeral is an integer when it is written as one and fits (hexadecimal integers wrap around modulo 2^64 instead),
//! else a float. Floats are printed with 14 significant digits; one that looks like an integer gets `.0` appended, so that
//! reading it back gives a float again.

use super::format::{self, Spec};

/// What a numeral stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A 64-bit signed integer.
    Int(i64),
    /// A double-precision float.
    Float(f64),
}

/// Whether `byte` is white space for the C locale: space, `\t`, `\n`, `\v`, `\f` or `\r`.
#[must_use]
pub const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// Removes white space at both ends.
#[must_use]
pub fn trim(mut text: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = text
        && is_space(*first)
    {
        text = rest;
    }
    while let [rest @ .., last] = text
        && is_space(*last)
    {
        text = rest;
    }
    text
}

/// Reads a whole numeral, with optional white space around it and an optional sign. `None` when `text` is not a numeral.
///
/// ```
/// use interp_demo::text::number::{Number, parse};
/// assert_eq!(parse(b" 0x10 "), Some(Number::Int(16)));
/// assert_eq!(parse(b"1e1"), Some(Number::Float(10.0)));
/// assert_eq!(parse(b"9223372036854775808"), Some(Number::Float(9223372036854775808.0)));
/// assert_eq!(parse(b"inf"), None);
/// ```
#[must_use]
pub fn parse(text: &[u8]) -> Option<Number> {
    let text = trim(text);
    let (negative, digits) = split_sign(text);
    if let [b'0', b'x' | b'X', hex @ ..] = digits {
        return parse_hex(negative, hex);
    }
    if let Some(int) = parse_decimal_int(negative, digits) {
        return Some(Number::Int(int));
    }
    parse_decimal_float(text, digits).map(Number::Float)
}

/// Reads an integer written in `base` (2 to 36), as `tonumber(text, base)` does: letters of either case are digits,
/// a sign may stand in front, and the value wraps around. `None` when a character is not a digit of that base.
#[must_use]
pub fn parse_base(text: &[u8], base: u32) -> Option<i64> {
    let text = trim(text);
    let (negative, digits) = split_sign(text);
    if digits.is_empty() {
        return None;
    }
    let mut value = 0_i64;
    for &byte in digits {
        let digit = char::from(byte).to_digit(36).filter(|&d| d < base)?;
        value = value
            .wrapping_mul(i64::from(base))
            .wrapping_add(i64::from(digit));
    }
    Some(if negative {
        value.wrapping_neg()
    } else {
        value
    })
}

/// Appends an integer in decimal.
pub fn write_int(out: &mut Vec<u8>, value: i64) {
    let mut buffer = [0_u8; 20];
    let mut at = buffer.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        buffer[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&buffer[at..]);
}

/// Appends a float as `tostring` shows it: 14 significant digits, and `.0` when nothing else tells it from an integer.
///
/// ```
/// let mut out = Vec::new();
/// interp_demo::text::number::write_float(&mut out, 2f64.powi(53));
/// assert_eq!(out, b"9.007199254741e+15");
/// ```
pub fn write_float(out: &mut Vec<u8>, value: f64) {
    // Integers below 10^14 are exact in 14 digits; going through the integer printer is several times cheaper.
    if value.abs() < 1e14 && value.trunc() == value && !(value == 0.0 && value.is_sign_negative()) {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "checked to be an integer below 10^14"
        )]
        write_int(out, value as i64);
        out.extend_from_slice(b".0");
        return;
    }
    let start = out.len();
    format::float(out, &Spec::with_precision(b'g', 14), value);
    let looks_like_int = out[start..]
        .iter()
        .all(|b| b.is_ascii_digit() || *b == b'-');
    if looks_like_int {
        out.extend_from_slice(b".0");
    }
}

/// Appends a number as `tostring` shows it.
pub fn write(out: &mut Vec<u8>, value: Number) {
    match value {
        Number::Int(int) => write_int(out, int),
        Number::Float(float) => write_float(out, float),
    }
}

/// The integer equal to `value`, if there is one.
#[inline]
#[must_use]
pub fn float_to_int(value: f64) -> Option<i64> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "whether anything was lost is looked at"
    )]
    let whole = value as i64;
    #[expect(clippy::cast_precision_loss, reason = "it was this float before")]
    let is_same = whole as f64 == value;
    // 2^63 itself becomes the largest integer, which as a float is 2^63 again.
    (is_same && value < LIMIT).then_some(whole)
}

fn split_sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    }
}

fn parse_decimal_int(negative: bool, digits: &[u8]) -> Option<i64> {
    if digits.is_empty() {
        return None;
    }
    // Accumulate downwards: the negative range is the larger one.
    let mut value = 0_i64;
    for &byte in digits {
        if !byte.is_ascii_digit() {
            return None;
        }
        value = value.checked_mul(10)?.checked_sub(i64::from(byte - b'0'))?;
    }
    if negative {
        Some(value)
    } else {
        value.checked_neg()
    }
}

fn parse_decimal_float(text: &[u8], digits: &[u8]) -> Option<f64> {
    // Rust's parser also knows "inf", "infinity" and "nan"; none of them starts with a digit or a point.
    if !matches!(digits.first(), Some(b'0'..=b'9' | b'.')) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Reads what follows `0x`: an integer that wraps around, or a float if it has a point or an exponent.
fn parse_hex(negative: bool, text: &[u8]) -> Option<Number> {
    let mut mantissa = Mantissa::default();
    let mut wrapped = 0_u64;
    let mut digits = 0_usize;
    let mut point = false;
    let mut is_float = false;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        if byte == b'.' && !point {
            point = true;
            is_float = true;
        } else if let Some(digit) = char::from(byte).to_digit(16) {
            digits += 1;
            wrapped = wrapped.wrapping_shl(4) | u64::from(digit);
            mantissa.push(digit, point);
        } else {
            break;
        }
        at += 1;
    }
    if digits == 0 {
        return None;
    }
    let mut exponent = 0_i64;
    if let Some(b'p' | b'P') = text.get(at) {
        is_float = true;
        let (negative_exponent, digits) = split_sign(&text[at + 1..]);
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let size = digits.iter().fold(0_i64, |sum, b| {
            (sum * 10 + i64::from(b - b'0')).min(1 << 40)
        });
        exponent = if negative_exponent { -size } else { size };
    } else if at != text.len() {
        return None;
    }
    if is_float {
        let value = mantissa.scale(exponent);
        return Some(Number::Float(if negative { -value } else { value }));
    }
    let value = wrapped.cast_signed();
    Some(Number::Int(if negative {
        value.wrapping_neg()
    } else {
        value
    }))
}

/// The digits of a hexadecimal float: up to 60 leading bits, whether anything non-zero came after them, and the power of two
/// that the last kept bit stands for.
#[derive(Default)]
struct Mantissa {
    bits: u64,
    sticky: bool,
    exponent: i64,
}

impl Mantissa {
    fn push(&mut self, digit: u32, after_point: bool) {
        if self.bits >> 56 == 0 {
            self.bits = (self.bits << 4) | u64::from(digit);
            if after_point {
                self.exponent -= 4;
            }
        } else {
            self.sticky |= digit != 0;
            if !after_point {
                self.exponent += 4;
            }
        }
    }

    /// The nearest float to the digits times 2^`exponent`, ties to even.
    fn scale(self, exponent: i64) -> f64 {
        if self.bits == 0 {
            return 0.0;
        }
        let exponent = exponent.saturating_add(self.exponent);
        let width = 64 - i64::from(self.bits.leading_zeros());
        // The place of the leading bit decides: too large is infinite, too small is zero even after rounding up.
        let top = exponent + width - 1;
        if top > 1023 {
            return f64::INFINITY;
        }
        if top < -1075 {
            return 0.0;
        }
        // Keep 53 bits, or fewer when the result is subnormal: its last bit stands for 2^-1074.
        let lowest = (top - 52).max(-1074);
        let drop = lowest - exponent;
        let rounded = if drop <= 0 {
            self.bits << -drop
        } else {
            let kept = self.bits.checked_shr(drop as u32).unwrap_or(0);
            let lost = self.bits & (u64::MAX >> (64 - drop.min(64)));
            let half = 1_u64 << (drop - 1).min(63);
            let up = lost > half || (lost == half && (self.sticky || kept & 1 == 1));
            kept + u64::from(up)
        };
        // Both factors are exact and the product has at most 53 bits, except that it may overflow to infinity as it should.
        #[expect(clippy::cast_precision_loss, reason = "at most 2^53")]
        let whole = rounded as f64;
        if lowest < -1000 {
            whole * 2f64.powi(-1000) * 2f64.powi((lowest + 1000) as i32)
        } else {
            whole * 2f64.powi(lowest as i32)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(value: f64) -> String {
        let mut out = Vec::new();
        write_float(&mut out, value);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn integers() {
        let cases: &[(&str, i64)] = &[
            ("0", 0),
            ("  12\t\n", 12),
            ("-7", -7),
            ("+7", 7),
            ("9223372036854775807", i64::MAX),
            ("-9223372036854775808", i64::MIN),
            ("0xff", 255),
            ("-0xff", -255),
            ("0XA", 10),
            ("0xffffffffffffffff", -1),
            ("0x1ffffffffffffffff", -1),
            ("0x7fffffffffffffff", i64::MAX),
            ("0000000000000000000000001", 1),
        ];
        for &(text, value) in cases {
            assert_eq!(parse(text.as_bytes()), Some(Number::Int(value)), "{text}");
        }
    }

    #[test]
    fn floats() {
        let cases: &[(&str, f64)] = &[
            ("1.", 1.0),
            (".5", 0.5),
            ("-.5e1", -5.0),
            ("+1E+2", 100.0),
            ("9223372036854775808", 9_223_372_036_854_775_808.0),
            ("-9223372036854775809", -9_223_372_036_854_775_808.0),
            ("0x.8", 0.5),
            ("0x1p4", 16.0),
            ("0xA.8p-1", 5.25),
            ("0x1p-1074", 5e-324),
            ("0x1p-1075", 0.0),
            ("0x1.8p-1075", 5e-324),
            ("0x1p1023", 2f64.powi(1023)),
            ("0x1p1024", f64::INFINITY),
            ("0x1.fffffffffffff7p0", 1.999_999_999_999_999_8),
            ("0x1.fffffffffffff8p0", 2.0),
            ("0x1.00000000000008p0", 1.0),
            (
                "0x1.000000000000080000000000000000001p0",
                1.000_000_000_000_000_2,
            ),
            ("0x.0000000000000000000000000000000000000001p160", 1.0),
            ("0x0p99999999999999999999", 0.0),
            ("0x1p-99999999999999999999", 0.0),
            ("1e400", f64::INFINITY),
        ];
        for &(text, value) in cases {
            assert_eq!(parse(text.as_bytes()), Some(Number::Float(value)), "{text}");
        }
    }

    #[test]
    fn not_numerals() {
        for text in [
            "", " ", "-", "+", ".", "e1", "1e", "1e+", "inf", "nan", "-inf", "0x", "0x.", "0x.p1",
            "0xp1", "0x1p", "0x1p+", "1 2", "--1", "+-1", "0xg", "1..2", "0x1..2", "1\0", "\u{e9}",
            "infinity", "0x1p1.", "- 1", "1_000",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn other_bases() {
        assert_eq!(parse_base(b"ff", 16), Some(255));
        assert_eq!(parse_base(b" -Zz ", 36), Some(-1295));
        assert_eq!(parse_base(b"1111", 2), Some(15));
        assert_eq!(parse_base(b"2", 2), None);
        assert_eq!(parse_base(b"", 10), None);
        assert_eq!(parse_base(b"-", 10), None);
        assert_eq!(parse_base(b"+1", 10), Some(1));
        assert_eq!(parse_base(b"-+1", 10), None);
        assert_eq!(parse_base(b"ffffffffffffffff", 16), Some(-1));
    }

    #[test]
    fn printing() {
        // Values as lua5.4 prints them.
        let cases: &[(f64, &str)] = &[
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-2.0, "-2.0"),
            (0.1, "0.1"),
            (1e14, "1e+14"),
            (1e15, "1e+15"),
            (99_999_999_999_999.0, "99999999999999.0"),
            (123_456.789, "123456.789"),
            (9_007_199_254_740_992.0, "9.007199254741e+15"),
            (1e100, "1e+100"),
            (-1e-100, "-1e-100"),
            (std::f64::consts::PI, "3.1415926535898"),
            (1e-5, "1e-05"),
            (0.0001, "0.0001"),
            (1.0 / 3.0, "0.33333333333333"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (5e-324, "4.9406564584125e-324"),
            (f64::MAX, "1.7976931348623e+308"),
        ];
        for &(value, text) in cases {
            assert_eq!(shown(value), text);
        }
        assert_eq!(shown(f64::NAN.copysign(1.0)), "nan");
        assert_eq!(shown(f64::NAN.copysign(-1.0)), "-nan");
    }

    #[test]
    fn whole_floats_become_integers() {
        assert_eq!(float_to_int(3.0), Some(3));
        assert_eq!(float_to_int(-9_223_372_036_854_775_808.0), Some(i64::MIN));
        assert_eq!(float_to_int(9_223_372_036_854_775_808.0), None);
        assert_eq!(float_to_int(0.5), None);
        assert_eq!(float_to_int(f64::NAN), None);
    }

    proptest! {
        #[test]
        fn integers_come_back(value: i64) {
            let mut out = Vec::new();
            write_int(&mut out, value);
            prop_assert_eq!(out.clone(), value.to_string().into_bytes());
            prop_assert_eq!(parse(&out), Some(Number::Int(value)));
        }

        #[test]
        fn hex_floats_come_back(bits: u64) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            let mut out = Vec::new();
            format::float(&mut out, &Spec::new(b'a'), value);
            prop_assert_eq!(parse(&out), Some(Number::Float(value)));
        }

        #[test]
        fn any_bytes_are_read_without_panic(text in "[ 0-9a-fxXpP.+-]{0,40}") {
            let _ = parse(text.as_bytes());
        }
    }
}
