//! The transfer encodings of mail ([RFC 2045](https://www.rfc-editor.org/rfc/rfc2045), section 6) and the like, piece by piece: each
//! function takes a piece and what was left over from the one before, appends to `out` what it can tell, and leaves the rest.
//! Pure.

/// A line end.
const CRLF: &[u8] = b"\r\n";

/// How an encoded line is broken: the end of the line is no part of the text.
const SOFT_BREAK: &[u8] = b"=\r\n";

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes that wait for the ones after them: at most three.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rest {
    bytes: [u8; 4],
    len: usize,
}

impl Rest {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn push(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    fn drop_first(&mut self) {
        self.bytes.copy_within(1..self.len, 0);
        self.len -= 1;
    }

    fn clear(&mut self) {
        self.len = 0;
    }
}

/// Base64: three bytes become four digits.
pub fn encode_base64(piece: &[u8], rest: &mut Rest, out: &mut Vec<u8>) {
    for &byte in piece {
        rest.push(byte);
        if rest.len == 3 {
            put_digits(rest.bytes(), out);
            rest.clear();
        }
    }
}

/// The end of a base64 text, filled up with `=`.
pub fn end_base64(rest: &mut Rest, out: &mut Vec<u8>) {
    if rest.len > 0 {
        put_digits(rest.bytes(), out);
        out.extend(std::iter::repeat_n(b'=', 3 - rest.len));
        rest.clear();
    }
}

fn put_digits(bytes: &[u8], out: &mut Vec<u8>) {
    let word = (0..3).fold(0, |word, i| {
        word << 8 | usize::from(bytes.get(i).copied().unwrap_or(0))
    });
    for i in 0..=bytes.len() {
        out.push(DIGITS[word >> (18 - 6 * i) & 63]);
    }
}

/// The value of a base64 digit; `=` counts as 0; none for what is not part of the text.
fn base64_value(digit: u8) -> Option<u32> {
    Some(match digit {
        b'A'..=b'Z' => u32::from(digit - b'A'),
        b'a'..=b'z' => u32::from(digit - b'a') + 26,
        b'0'..=b'9' => u32::from(digit - b'0') + 52,
        b'+' => 62,
        b'/' => 63,
        b'=' => 0,
        _ => return None,
    })
}

/// Base64 back: four digits become three bytes, or fewer before `=`. Other bytes are passed over.
pub fn decode_base64(piece: &[u8], rest: &mut Rest, out: &mut Vec<u8>) {
    for &byte in piece {
        if base64_value(byte).is_none() {
            continue;
        }
        rest.push(byte);
        if rest.len < 4 {
            continue;
        }
        let word = rest.bytes().iter().fold(0, |word, &digit| {
            word << 6 | base64_value(digit).unwrap_or(0)
        });
        let count = match (rest.bytes[2], rest.bytes[3]) {
            (b'=', _) => 1,
            (_, b'=') => 2,
            _ => 3,
        };
        out.extend_from_slice(&word.to_be_bytes()[1..=count]);
        rest.clear();
    }
}

/// What becomes of a byte in quoted-printable.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Plain,
    Quoted,
    Return,
    /// Quoted only where the line ends.
    Space,
}

fn class(byte: u8) -> Class {
    match byte {
        b'\r' => Class::Return,
        b'\t' | b' ' => Class::Space,
        b'!'..=b'<' | b'>'..=b'~' => Class::Plain,
        _ => Class::Quoted,
    }
}

fn quote(byte: u8, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    out.extend_from_slice(&[
        b'=',
        HEX[usize::from(byte >> 4)],
        HEX[usize::from(byte & 15)],
    ]);
}

/// Quoted-printable: `marker` stands for each line end.
pub fn encode_quoted(piece: &[u8], rest: &mut Rest, marker: &[u8], out: &mut Vec<u8>) {
    for &byte in piece {
        rest.push(byte);
        encode_pending(rest, marker, out);
    }
}

fn encode_pending(rest: &mut Rest, marker: &[u8], out: &mut Vec<u8>) {
    while let Some(&first) = rest.bytes().first() {
        match class(first) {
            Class::Return if rest.len < 2 => return,
            Class::Return if rest.bytes[1] == b'\n' => {
                out.extend_from_slice(marker);
                return rest.clear();
            }
            Class::Space if rest.len < 3 => return,
            Class::Space if rest.bytes[1..3] == *CRLF => {
                quote(first, out);
                out.extend_from_slice(marker);
                return rest.clear();
            }
            Class::Plain | Class::Space => out.push(first),
            Class::Return | Class::Quoted => quote(first, out),
        }
        rest.drop_first();
    }
}

/// The end of a quoted-printable text: one that does not end in a line end is ended by a soft break.
pub fn end_quoted(rest: &mut Rest, out: &mut Vec<u8>) {
    for &byte in rest.bytes() {
        match class(byte) {
            Class::Plain => out.push(byte),
            _ => quote(byte, out),
        }
    }
    if rest.len > 0 {
        out.extend_from_slice(SOFT_BREAK);
    }
    rest.clear();
}

/// Quoted-printable back. What is no encoding is kept as it is; control characters are dropped.
pub fn decode_quoted(piece: &[u8], rest: &mut Rest, out: &mut Vec<u8>) {
    for &byte in piece {
        rest.push(byte);
        match rest.bytes() {
            [b'='] | [b'=', _] | [b'\r'] => continue,
            [b'=', b'\r', b'\n'] => {}
            [b'=', high, low] => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                match (digit(*high), digit(*low)) {
                    (Some(high), Some(low)) => out.push((high << 4 | low) as u8),
                    _ => out.extend_from_slice(rest.bytes()),
                }
            }
            [b'\r', b'\n'] => out.extend_from_slice(CRLF),
            [b'\t' | b' '..=b'~'] => out.push(byte),
            _ => {}
        }
        rest.clear();
    }
}

/// Breaks lines after `length` bytes; `left` is how many the line has room for. What is left in the end.
pub fn wrap(piece: &[u8], mut left: i64, length: i64, out: &mut Vec<u8>) -> i64 {
    for &byte in piece {
        match byte {
            b'\r' => {}
            b'\n' => {
                out.extend_from_slice(CRLF);
                left = length;
            }
            _ => {
                if left <= 0 {
                    left = length;
                    out.extend_from_slice(CRLF);
                }
                out.push(byte);
                left -= 1;
            }
        }
    }
    left
}

/// As [`wrap`], for quoted-printable text: by soft breaks, and not within an encoded byte.
pub fn wrap_quoted(piece: &[u8], mut left: i64, length: i64, out: &mut Vec<u8>) -> i64 {
    for &byte in piece {
        match byte {
            b'\r' => continue,
            b'\n' => {
                left = length;
                out.extend_from_slice(CRLF);
                continue;
            }
            _ => {}
        }
        let needed = if byte == b'=' { 3 } else { 1 };
        if left <= needed {
            left = length;
            out.extend_from_slice(SOFT_BREAK);
        }
        out.push(byte);
        left -= 1;
    }
    left
}

/// What ends the last line of wrapped text, if that has begun.
pub fn end_wrapped(left: i64, length: i64, quoted: bool) -> Option<&'static [u8]> {
    let end = if quoted { SOFT_BREAK } else { CRLF };
    (left < length).then_some(end)
}

/// Replaces line ends of any kind by `marker`. `last` is the byte that may be the first half of one; what it is in the end.
pub fn normalize(piece: &[u8], mut last: i64, marker: &[u8], out: &mut Vec<u8>) -> i64 {
    let is_half = |byte: i64| byte == i64::from(b'\r') || byte == i64::from(b'\n');
    for &byte in piece {
        let half = i64::from(byte);
        last = match (is_half(half), is_half(last)) {
            (false, _) => {
                out.push(byte);
                0
            }
            (true, true) => {
                if half == last {
                    out.extend_from_slice(marker);
                }
                0
            }
            (true, false) => {
                out.extend_from_slice(marker);
                half
            }
        };
    }
    last
}

/// Doubles each dot at the begin of a line, as SMTP wants it. `state`: 2 at the begin of a line, 1 after a carriage return, else 0.
pub fn stuff(piece: &[u8], mut state: i64, out: &mut Vec<u8>) -> i64 {
    for &byte in piece {
        out.push(byte);
        state = match (byte, state) {
            (b'\r', _) => 1,
            (b'\n', 1) => 2,
            (b'.', 2) => {
                out.push(b'.');
                0
            }
            _ => 0,
        };
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn in_pieces(text: &[u8], size: usize, mut step: impl FnMut(&[u8])) {
        text.chunks(size.max(1)).for_each(&mut step);
    }

    proptest! {
        #[test]
        fn base64_comes_back(text in proptest::collection::vec(any::<u8>(), 0..100), size in 1usize..9) {
            let (mut rest, mut encoded) = (Rest::default(), Vec::new());
            in_pieces(&text, size, |piece| encode_base64(piece, &mut rest, &mut encoded));
            end_base64(&mut rest, &mut encoded);
            let mut decoded = Vec::new();
            in_pieces(&encoded, size, |piece| decode_base64(piece, &mut rest, &mut decoded));
            prop_assert_eq!(decoded, text);
        }

        #[test]
        fn quoted_printable_comes_back(text in "[ -~\t=]{0,60}", size in 1usize..9) {
            let text = text.as_bytes();
            let (mut rest, mut encoded) = (Rest::default(), Vec::new());
            in_pieces(text, size, |piece| encode_quoted(piece, &mut rest, CRLF, &mut encoded));
            end_quoted(&mut rest, &mut encoded);
            prop_assert!(encoded.iter().all(u8::is_ascii));
            let mut wrapped = Vec::new();
            wrap_quoted(&encoded, 20, 20, &mut wrapped);
            let mut decoded = Vec::new();
            in_pieces(&wrapped, size, |piece| decode_quoted(piece, &mut rest, &mut decoded));
            prop_assert_eq!(decoded, text);
        }

        #[test]
        fn line_ends_are_the_same_however_they_come(text in "[ab\r\n]{0,40}", size in 1usize..5) {
            let (mut whole, mut pieces, mut last) = (Vec::new(), Vec::new(), 0);
            normalize(text.as_bytes(), 0, CRLF, &mut whole);
            in_pieces(text.as_bytes(), size, |piece| last = normalize(piece, last, CRLF, &mut pieces));
            prop_assert_eq!(whole, pieces);
        }
    }

    #[test]
    fn texts_of_the_rfcs() {
        let (mut rest, mut out) = (Rest::default(), Vec::new());
        encode_base64(b"foob", &mut rest, &mut out);
        end_base64(&mut rest, &mut out);
        assert_eq!(out, b"Zm9vYg==");
        out.clear();
        encode_quoted("k\u{f6}=  \r\n".as_bytes(), &mut rest, CRLF, &mut out);
        end_quoted(&mut rest, &mut out);
        assert_eq!(out, b"k=C3=B6=3D =20\r\n");
        out.clear();
        assert_eq!(stuff(b".a\r\n.\r\n", 2, &mut out), 2);
        assert_eq!(out, b"..a\r\n..\r\n");
        out.clear();
        assert_eq!(wrap(b"abcde", 3, 3, &mut out), 1);
        assert_eq!(out, b"abc\r\nde");
        assert_eq!(end_wrapped(1, 3, false), Some(CRLF));
    }
}
