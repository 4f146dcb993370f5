//! UTF-8 as the `utf8` library and `\u{…}` escapes use it: the original form with up to six bytes, for code points
//! up to 2^31 - 1, and a strict form without surrogates and beyond-Unicode values.

/// The largest code point that six bytes can hold.
pub const MAX: u32 = 0x7FFF_FFFF;
/// Whether `byte` continues a sequence.
#[must_use]
pub const fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// Appends the encoding of `code`, which must not exceed [`MAX`] (higher bits are ignored).
pub fn encode(out: &mut Vec<u8>, code: u32) {
    let code = code & MAX;
    if code < 0x80 {
        out.push(code as u8);
        return;
    }
    // The bits that fit into the first byte shrink by one with each continuation byte.
    let mut tail = [0_u8; 5];
    let mut at = tail.len();
    let mut rest = code;
    let mut first_limit = 0x3F_u32;
    while rest > first_limit {
        at -= 1;
        tail[at] = 0x80 | (rest & 0x3F) as u8;
        rest >>= 6;
        first_limit >>= 1;
    }
    let marker = (!first_limit << 1) as u8;
    out.push(marker | rest as u8);
    out.extend_from_slice(&tail[at..]);
}

/// Decodes the sequence at the start of `text`: the code point and the number of bytes. `None` when it is malformed,
/// overlong, or (if `strict`) no Unicode scalar value.
#[must_use]
pub fn decode(text: &[u8], strict: bool) -> Option<(u32, usize)> {
    const LEAST: [u32; 6] = [0, 0x80, 0x800, 0x1_0000, 0x20_0000, 0x400_0000];
    let &first = text.first()?;
    if first < 0x80 {
        return Some((u32::from(first), 1));
    }
    let size = first.leading_ones() as usize;
    if !(2..=6).contains(&size) {
        return None;
    }
    let mut code = u32::from(first) & (0x7F >> size);
    for &byte in text.get(1..size)? {
        if !is_continuation(byte) {
            return None;
        }
        code = code << 6 | u32::from(byte & 0x3F);
    }
    if code < LEAST[size - 1] || (strict && char::from_u32(code).is_none()) {
        return None;
    }
    Some((code, size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn limits_of_each_size() {
        let cases: &[(u32, &[u8])] = &[
            (0, b"\0"),
            (0x7F, b"\x7f"),
            (0x80, b"\xc2\x80"),
            (0x7FF, b"\xdf\xbf"),
            (0x800, b"\xe0\xa0\x80"),
            (0xFFFF, b"\xef\xbf\xbf"),
            (0x1_0000, b"\xf0\x90\x80\x80"),
            (0x1F_FFFF, b"\xf7\xbf\xbf\xbf"),
            (0x20_0000, b"\xf8\x88\x80\x80\x80"),
            (0x3FF_FFFF, b"\xfb\xbf\xbf\xbf\xbf"),
            (0x400_0000, b"\xfc\x84\x80\x80\x80\x80"),
            (MAX, b"\xfd\xbf\xbf\xbf\xbf\xbf"),
        ];
        for &(code, bytes) in cases {
            let mut out = Vec::new();
            encode(&mut out, code);
            assert_eq!(out, bytes, "{code:#x}");
            assert_eq!(decode(bytes, false), Some((code, bytes.len())));
            assert_eq!(
                decode(bytes, true).is_some(),
                char::from_u32(code).is_some()
            );
        }
    }

    #[test]
    fn malformed() {
        let cases: &[&[u8]] = &[
            b"",
            b"\x80",
            b"\xbf",
            b"\xff",
            b"\xfe\x80",
            b"\xc2",
            b"\xc2a",
            b"\xc0\x80",
            b"\xc1\xbf",
            b"\xe0\x9f\xbf",
            b"\xf0\x8f\xbf\xbf",
        ];
        for text in cases {
            assert_eq!(decode(text, false), None, "{text:?}");
        }
        assert_eq!(decode(b"\xed\xa0\x80", true), None);
        assert_eq!(decode(b"\xed\xa0\x80", false), Some((0xD800, 3)));
    }

    proptest! {
        #[test]
        fn agrees_with_std(c: char) {
            let mut out = Vec::new();
            encode(&mut out, c.into());
            prop_assert_eq!(out.clone(), c.to_string().into_bytes());
            prop_assert_eq!(decode(&out, true), Some((c.into(), out.len())));
        }

        #[test]
        fn every_code_comes_back(code in 0..=MAX) {
            let mut out = Vec::new();
            encode(&mut out, code);
            prop_assert_eq!(decode(&out, false), Some((code, out.len())));
        }
    }
}
