//! `string.format` without its arguments: reading the directives of a format, and writing one value by a directive.
//!
//! The caller walks a format with [`Pieces`], fetches and converts an argument for each directive, and hands it to [`integer`],
//! [`float`], [`string`] or [`quote`]. The results are those of C's `printf` in the C locale.

mod float;
mod hex_float;
mod quote;
mod spec;

pub use float::float;
pub use quote::{quote, quote_float, quote_int, quote_piece};
pub use spec::{Directive, FormatError, Piece, Pieces, Spec};

/// Appends an integer for `%d %i %u %o %x %X`.
pub fn integer(out: &mut Vec<u8>, spec: &Spec, value: i64) {
    let mut buffer = [0_u8; 22];
    let mut at = buffer.len();
    let (base, alphabet): (u64, &[u8; 16]) = match spec.conversion {
        b'o' => (8, b"0123456789abcdef"),
        b'x' => (16, b"0123456789abcdef"),
        b'X' => (16, b"0123456789ABCDEF"),
        _ => (10, b"0123456789abcdef"),
    };
    let signed = matches!(spec.conversion, b'd' | b'i');
    let mut rest = if signed {
        value.unsigned_abs()
    } else {
        value.cast_unsigned()
    };
    while rest != 0 {
        at -= 1;
        buffer[at] = alphabet[(rest % base) as usize];
        rest /= base;
    }
    let digits = &buffer[at..];
    let mut zeros = spec.precision.unwrap_or(1).saturating_sub(digits.len());
    let prefix: &[u8] = match spec.conversion {
        b'x' if spec.alternate && value != 0 => b"0x",
        b'X' if spec.alternate && value != 0 => b"0X",
        b'o' if spec.alternate && zeros == 0 => b"0",
        _ if signed => spec.sign(value < 0),
        _ => b"",
    };
    let size = prefix.len() + zeros + digits.len();
    let mut spaces = spec.width.saturating_sub(size);
    // A precision switches zero padding off for integers.
    if spec.zero && !spec.left && spec.precision.is_none() {
        zeros += spaces;
        spaces = 0;
    }
    spec.pad(out, spaces, |out| {
        out.extend_from_slice(prefix);
        out.resize(out.len() + zeros, b'0');
        out.extend_from_slice(digits);
    });
}

/// Appends a string for `%s`, or a character for `%c`: at most `precision` bytes of it, padded to the width.
pub fn string(out: &mut Vec<u8>, spec: &Spec, text: &[u8]) {
    let text = &text[..text.len().min(spec.precision.unwrap_or(usize::MAX))];
    spec.pad(out, spec.width.saturating_sub(text.len()), |out| {
        out.extend_from_slice(text)
    });
}

/// Appends an address for `%p`; one that is absent is shown as `(null)`.
pub fn pointer(out: &mut Vec<u8>, spec: &Spec, address: Option<usize>) {
    match address {
        Some(address) => string(out, spec, format!("{address:#x}").as_bytes()),
        None => string(out, spec, b"(null)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The only directive of `format`.
    pub(super) fn spec(format: &str) -> Spec {
        match Pieces::new(format.as_bytes()).next() {
            Some(Ok(Piece::Directive(raw))) => raw.check().unwrap(),
            other => panic!("{format}: {other:?}"),
        }
    }

    #[test]
    fn integers() {
        // (format, value, text by lua5.4)
        let cases: &[(&str, i64, &str)] = &[
            ("%d", 0, "0"),
            ("%d", i64::MIN, "-9223372036854775808"),
            ("%i", 3, "3"),
            ("%u", -1, "18446744073709551615"),
            ("%5d", 42, "   42"),
            ("%-5d", 42, "42   "),
            ("%05d", -42, "-0042"),
            ("%-05d", 42, "42   "),
            ("%+d", 5, "+5"),
            ("% d", 5, " 5"),
            ("%+.3d", 5, "+005"),
            ("%05.3d", 5, "  005"),
            ("%.0d", 0, ""),
            ("%+.0d", 0, "+"),
            ("%x", -1, "ffffffffffffffff"),
            ("%X", 48879, "BEEF"),
            ("%#x", 10, "0xa"),
            ("%#X", 10, "0XA"),
            ("%#x", 0, "0"),
            ("%#08x", 255, "0x0000ff"),
            ("%5.3x", 10, "  00a"),
            ("%o", 8, "10"),
            ("%#o", 8, "010"),
            ("%#o", 0, "0"),
            ("%#.0o", 0, "0"),
            ("%#.3o", 8, "010"),
            ("%.20d", 7, "00000000000000000007"),
            ("%99d", 7, &format!("{:>99}", 7)),
        ];
        for &(format, value, text) in cases {
            let mut out = Vec::new();
            integer(&mut out, &spec(format), value);
            assert_eq!(String::from_utf8(out).unwrap(), text, "{format}");
        }
    }

    #[test]
    fn strings_and_pointers() {
        let cases: &[(&str, &str, &str)] = &[
            ("%s", "abc", "abc"),
            ("%5s", "abc", "  abc"),
            ("%-5s", "abc", "abc  "),
            ("%.2s", "abc", "ab"),
            ("%4.1s", "abc", "   a"),
            ("%.s", "abc", ""),
        ];
        for &(format, value, text) in cases {
            let mut out = Vec::new();
            string(&mut out, &spec(format), value.as_bytes());
            assert_eq!(String::from_utf8(out).unwrap(), text, "{format}");
        }
        let mut out = Vec::new();
        pointer(&mut out, &spec("%10p"), None);
        pointer(&mut out, &spec("%-10p"), Some(0xbeef));
        assert_eq!(out, b"    (null)0xbeef    ");
    }
}
