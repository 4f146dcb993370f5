//! `read("n")`: how far a numeral goes in the input.
//!
//! The longest prefix that could still become a numeral is taken from the input even if it is none after all, as the C
//! library's `scanf` would.

use crate::text::number::is_space;

/// The longest numeral that is read.
const MAX_BYTES: usize = 200;

/// What was found at the start of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scanned {
    /// The numeral, white space excluded, is `start..end`; all up to `end` is to be consumed.
    Span(usize, usize),
    /// It cannot be told before more input is there.
    NeedsMore,
}

/// Finds the numeral at the start of `input`; `complete`: no more input will come.
#[must_use]
pub fn scan(input: &[u8], complete: bool) -> Scanned {
    let start = input
        .iter()
        .position(|&byte| !is_space(byte))
        .unwrap_or(input.len());
    let mut scanner = Scanner {
        input: &input[start..],
        at: 0,
    };
    scanner.numeral();
    let end = start + scanner.at;
    if end == input.len() && !complete && scanner.at < MAX_BYTES {
        return Scanned::NeedsMore;
    }
    // A numeral that is too long is refused as a whole.
    Scanned::Span(start, end)
}

/// Whether the span that [`scan`] found is short enough to be a numeral.
#[must_use]
pub const fn fits(len: usize) -> bool {
    len < MAX_BYTES
}

struct Scanner<'a> {
    input: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    fn numeral(&mut self) {
        self.accept(b"+-");
        let mut is_hex = false;
        let mut digits = 0;
        if self.accept(b"0") {
            if self.accept(b"xX") {
                is_hex = true;
            } else {
                digits = 1;
            }
        }
        digits += self.digits(is_hex);
        if self.accept(b".") {
            digits += self.digits(is_hex);
        }
        if digits > 0 && self.accept(if is_hex { b"pP" } else { b"eE" }) {
            self.accept(b"+-");
            self.digits(false);
        }
    }

    fn accept(&mut self, set: &[u8]) -> bool {
        let accepted = self.at < MAX_BYTES
            && self
                .input
                .get(self.at)
                .is_some_and(|byte| set.contains(byte));
        self.at += usize::from(accepted);
        accepted
    }

    fn digits(&mut self, is_hex: bool) -> usize {
        let set: &[u8] = if is_hex {
            b"0123456789abcdefABCDEF"
        } else {
            b"0123456789"
        };
        let mut count = 0;
        while self.accept(set) {
            count += 1;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans() {
        let cases: &[(&str, &str, &str)] = &[
            // (input, numeral, what is left)
            ("12 x", "12", " x"),
            ("  -12.5e3,", "-12.5e3", ","),
            ("0x1Fg", "0x1F", "g"),
            ("0x.8p-1;", "0x.8p-1", ";"),
            ("abc", "", "abc"),
            (".e1", ".", "e1"),
            ("+-1", "+", "-1"),
            ("1e+x", "1e+", "x"),
            ("99a", "99", "a"),
        ];
        for &(input, numeral, rest) in cases {
            let Scanned::Span(start, end) = scan(input.as_bytes(), true) else {
                panic!("{input}")
            };
            assert_eq!((&input[start..end], &input[end..]), (numeral, rest));
        }
    }

    #[test]
    fn more_input_may_be_needed() {
        assert_eq!(scan(b"12", false), Scanned::NeedsMore);
        assert_eq!(scan(b"  ", false), Scanned::NeedsMore);
        assert_eq!(scan(b"12", true), Scanned::Span(0, 2));
        assert_eq!(scan(b"12 ", false), Scanned::Span(0, 2));
        let long = "1".repeat(300);
        assert_eq!(scan(long.as_bytes(), false), Scanned::Span(0, 200));
        assert!(!fits(200));
    }
}
