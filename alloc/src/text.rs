//! Text in a fixed buffer, for what the allocator itself has to say: nothing here allocates, formats or panics.
#![forbid(unsafe_code)]

/// At most `N` bytes of text; a piece that does not fit is left out.
pub(crate) struct Text<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

impl<const N: usize> Text<N> {
    pub(crate) fn new() -> Self {
        Self {
            bytes: [0; N],
            length: 0,
        }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    /// The text as a string; empty if anything but UTF-8 was pushed.
    pub(crate) fn as_str(&self) -> &str {
        core::str::from_utf8(self.as_bytes()).unwrap_or("")
    }

    pub(crate) fn push(&mut self, piece: &[u8]) -> &mut Self {
        let end = self.length.saturating_add(piece.len());
        if let Some(place) = self.bytes.get_mut(self.length..end) {
            place.copy_from_slice(piece);
            self.length = end;
        }
        self
    }

    pub(crate) fn push_number(&mut self, number: u64) -> &mut Self {
        self.push(Digits::of(number).text())
    }

    /// The number, with spaces before it so that it ends `column` bytes behind `start`.
    pub(crate) fn push_number_up_to(&mut self, start: usize, column: usize, number: u64) {
        let digits = Digits::of(number);
        while self.length + digits.text().len() < start + column && self.length < N {
            self.push(b" ");
        }
        self.push(digits.text());
    }

    pub(crate) fn length(&self) -> usize {
        self.length
    }
}

/// A number in decimal digits.
struct Digits {
    bytes: [u8; Self::MOST],
    count: usize,
}

impl Digits {
    /// Digits of the largest number.
    const MOST: usize = 20;

    fn of(number: u64) -> Self {
        let mut bytes = [b'0'; Self::MOST];
        let mut rest = number;
        let mut count = 1;
        for (at, digit) in bytes.iter_mut().rev().enumerate() {
            if rest != 0 {
                *digit += (rest % 10) as u8;
                rest /= 10;
                count = at + 1;
            }
        }
        Self { bytes, count }
    }

    fn text(&self) -> &[u8] {
        let first = Self::MOST.saturating_sub(self.count);
        self.bytes.get(first..).unwrap_or_default()
    }
}

/// A decimal number of at most 18 digits, and nothing else.
pub(crate) fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 18 {
        return None;
    }
    text.iter().try_fold(0, |number, digit| {
        digit
            .is_ascii_digit()
            .then(|| number * 10 + u64::from(digit - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_or_passed_over() {
        assert_eq!(number(b"0"), Some(0));
        assert_eq!(number(b"1500"), Some(1500));
        for bad in [&b""[..], b"-1", b"1x", b" 1", b"9999999999999999999"] {
            assert_eq!(number(bad), None);
        }
    }

    #[test]
    fn numbers_are_written_in_full() {
        let mut text = Text::<64>::new();
        text.push_number(0).push(b" ").push_number(u64::MAX);
        assert_eq!(text.as_str(), format!("0 {}", u64::MAX));
    }

    #[test]
    fn numbers_end_in_a_column() {
        let mut text = Text::<16>::new();
        text.push(b"ab");
        text.push_number_up_to(0, 8, 123);
        assert_eq!(text.as_str(), "ab   123");
    }

    #[test]
    fn what_does_not_fit_is_left_out() {
        let mut text = Text::<4>::new();
        text.push(b"abc").push(b"de").push(b"f").push(b"g");
        assert_eq!(text.as_str(), "abcf");
        text.push_number_up_to(0, 100, 1);
        assert_eq!(text.as_str(), "abcf");
    }
}
