//! The directives of a format: `%`, flags, width, precision, conversion.

use thiserror::Error;

/// The longest directive that is accepted, `%` and conversion included.
const MAX_DIRECTIVE: usize = 22;

/// Flags that each conversion allows.
const FLAGS_FLOAT: &[u8] = b"-+ #0";
const FLAGS_HEX: &[u8] = b"-#0";
const FLAGS_INT: &[u8] = b"-+ 0";
const FLAGS_UNSIGNED: &[u8] = b"-0";
const FLAGS_TEXT: &[u8] = b"-";

/// Why a format was refused; [`message`](Self::message) is the message of the Lua error.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum FormatError {
    /// More flags and digits than any valid directive has.
    #[error("invalid format (too long)")]
    TooLong,
    /// A flag, width or precision that the conversion does not take.
    #[error("invalid conversion specification: '{}'", String::from_utf8_lossy(.0))]
    Specification(Vec<u8>),
    /// No conversion of that letter.
    #[error("invalid conversion '{}' to 'format'", String::from_utf8_lossy(.0))]
    Conversion(Vec<u8>),
    /// `%q` takes no flags, width or precision.
    #[error("specifier '%q' cannot have modifiers")]
    QuoteModifiers,
}

impl FormatError {
    /// The text, with the bytes of the directive as they are.
    #[must_use]
    pub fn message(&self) -> Vec<u8> {
        match self {
            Self::Specification(shown) => {
                [b"invalid conversion specification: '", &shown[..], b"'"].concat()
            }
            Self::Conversion(shown) => {
                [b"invalid conversion '", &shown[..], b"' to 'format'"].concat()
            }
            Self::TooLong | Self::QuoteModifiers => self.to_string().into_bytes(),
        }
    }
}

/// A part of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Text that stands for itself (`%%` is one percent sign).
    Literal(&'a [u8]),
    /// A directive that takes one argument.
    Directive(Directive<'a>),
}

/// A directive as written, from the percent sign to the conversion letter. Its flags are only checked by
/// [`check`](Directive::check), after the argument has been fetched, as the order of errors in Lua asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Directive<'a> {
    text: &'a [u8],
}

/// Iterator over the pieces of a format.
#[derive(Clone, Debug)]
pub struct Pieces<'a> {
    rest: &'a [u8],
}

impl<'a> Pieces<'a> {
    /// Starts at the beginning of `format`.
    #[must_use]
    pub const fn new(format: &'a [u8]) -> Self {
        Self { rest: format }
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Result<Piece<'a>, FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest;
        if rest.is_empty() {
            return None;
        }
        if rest[0] != b'%' {
            let end = rest.iter().position(|&b| b == b'%').unwrap_or(rest.len());
            self.rest = &rest[end..];
            return Some(Ok(Piece::Literal(&rest[..end])));
        }
        if rest.get(1) == Some(&b'%') {
            self.rest = &rest[2..];
            return Some(Ok(Piece::Literal(&rest[..1])));
        }
        let modifiers = rest[1..]
            .iter()
            .take_while(|b| matches!(b, b'-' | b'+' | b' ' | b'#' | b'.' | b'0'..=b'9'))
            .count();
        let end = (modifiers + 2).min(rest.len());
        self.rest = &rest[end..];
        if modifiers + 1 >= MAX_DIRECTIVE {
            return Some(Err(FormatError::TooLong));
        }
        Some(Ok(Piece::Directive(Directive { text: &rest[..end] })))
    }
}

impl Directive<'_> {
    /// The conversion letter; `%` itself when the format ends within the directive.
    #[must_use]
    pub fn conversion(&self) -> u8 {
        if self.text.len() == 1 {
            b'%'
        } else {
            self.text[self.text.len() - 1]
        }
    }

    /// Whether nothing stands between the percent sign and the letter.
    #[must_use]
    pub const fn is_plain(&self) -> bool {
        self.text.len() <= 2
    }

    /// Reads flags, width and precision.
    ///
    /// # Errors
    /// When the letter is no conversion, or does not take what is written before it.
    pub fn check(&self) -> Result<Spec, FormatError> {
        let (flags, takes_precision) = match self.conversion() {
            b'a' | b'A' | b'e' | b'E' | b'f' | b'g' | b'G' => (FLAGS_FLOAT, true),
            b'o' | b'x' | b'X' => (FLAGS_HEX, true),
            b'd' | b'i' => (FLAGS_INT, true),
            b'u' => (FLAGS_UNSIGNED, true),
            b's' => (FLAGS_TEXT, true),
            b'c' | b'p' => (FLAGS_TEXT, false),
            b'q' if self.is_plain() => (FLAGS_TEXT, false),
            b'q' => return Err(FormatError::QuoteModifiers),
            _ => return Err(self.unknown()),
        };
        let mut spec = Spec::new(self.conversion());
        let mut rest = &self.text[1..self.text.len() - 1];
        while let [flag, tail @ ..] = rest
            && flags.contains(flag)
        {
            match flag {
                b'-' => spec.left = true,
                b'+' => spec.plus = true,
                b' ' => spec.space = true,
                b'#' => spec.alternate = true,
                _ => spec.zero = true,
            }
            rest = tail;
        }
        if rest.first() != Some(&b'0') {
            spec.width = two_digits(&mut rest);
            if takes_precision && let [b'.', tail @ ..] = rest {
                rest = tail;
                spec.precision = Some(two_digits(&mut rest));
            }
        }
        if rest.is_empty() {
            Ok(spec)
        } else {
            Err(FormatError::Specification(self.shown()))
        }
    }

    /// The error for a letter that is no conversion.
    #[must_use]
    pub fn unknown(&self) -> FormatError {
        FormatError::Conversion(self.shown())
    }

    fn shown(&self) -> Vec<u8> {
        // A C string ends at the first zero byte.
        let end = self
            .text
            .iter()
            .position(|&b| b == 0)
            .unwrap_or(self.text.len());
        self.text[..end].to_vec()
    }
}

fn two_digits(rest: &mut &[u8]) -> usize {
    let mut value = 0;
    for _ in 0..2 {
        let [digit @ b'0'..=b'9', tail @ ..] = *rest else {
            break;
        };
        value = value * 10 + usize::from(digit - b'0');
        *rest = tail;
    }
    value
}

/// How to lay out one value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// `-`: pad on the right.
    pub left: bool,
    /// `+`: a plus sign before what is not negative.
    pub plus: bool,
    /// A space before what is not negative.
    pub space: bool,
    /// `#`: `0x` prefix, or a point that is always there.
    pub alternate: bool,
    /// `0`: pad with zeros after the sign.
    pub zero: bool,
    /// The least number of bytes.
    pub width: usize,
    /// Digits, or the most bytes of a string.
    pub precision: Option<usize>,
    /// The letter.
    pub conversion: u8,
}

impl Spec {
    /// The directive that is only a letter.
    #[must_use]
    pub const fn new(conversion: u8) -> Self {
        Self {
            left: false,
            plus: false,
            space: false,
            alternate: false,
            zero: false,
            width: 0,
            precision: None,
            conversion,
        }
    }

    /// A letter with a precision.
    #[must_use]
    pub const fn with_precision(conversion: u8, precision: usize) -> Self {
        Self {
            precision: Some(precision),
            ..Self::new(conversion)
        }
    }

    /// What stands before the digits.
    pub(super) const fn sign(&self, negative: bool) -> &'static [u8] {
        if negative {
            b"-"
        } else if self.plus {
            b"+"
        } else if self.space {
            b" "
        } else {
            b""
        }
    }

    /// Writes `body` with `spaces` on the side that the flags ask for.
    pub(super) fn pad(&self, out: &mut Vec<u8>, spaces: usize, body: impl FnOnce(&mut Vec<u8>)) {
        if !self.left {
            out.resize(out.len() + spaces, b' ');
        }
        body(out);
        if self.left {
            out.resize(out.len() + spaces, b' ');
        }
    }

    /// Writes a number: sign (and prefix), digits; zeros fill the width between them when asked.
    pub(super) fn pad_number(&self, out: &mut Vec<u8>, zero: bool, prefix: &[u8], digits: &[u8]) {
        let fill = self.width.saturating_sub(prefix.len() + digits.len());
        if zero && self.zero && !self.left {
            out.extend_from_slice(prefix);
            out.resize(out.len() + fill, b'0');
            out.extend_from_slice(digits);
        } else {
            self.pad(out, fill, |out| {
                out.extend_from_slice(prefix);
                out.extend_from_slice(digits);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(format: &str) -> Result<Spec, String> {
        match Pieces::new(format.as_bytes()).next().unwrap() {
            Ok(Piece::Directive(directive)) => directive.check().map_err(|e| e.to_string()),
            Ok(literal) => panic!("{literal:?}"),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn pieces_in_order() {
        let pieces: Vec<_> = Pieces::new(b"a%%b%5d%s").map(Result::unwrap).collect();
        assert_eq!(
            pieces,
            [
                Piece::Literal(b"a"),
                Piece::Literal(b"%"),
                Piece::Literal(b"b"),
                Piece::Directive(Directive { text: b"%5d" }),
                Piece::Directive(Directive { text: b"%s" }),
            ]
        );
    }

    #[test]
    fn flags_width_and_precision() {
        let spec = check("%-+ #012.34g").unwrap();
        assert!(spec.left && spec.plus && spec.space && spec.alternate && spec.zero);
        assert_eq!(
            (spec.width, spec.precision, spec.conversion),
            (12, Some(34), b'g')
        );
        assert_eq!(check("%.f").unwrap().precision, Some(0));
        assert!(check(&format!("%{}d", "0".repeat(20))).is_ok());
    }

    #[test]
    fn refusals() {
        let cases = [
            ("%F", "invalid conversion '%F' to 'format'"),
            ("%", "invalid conversion '%' to 'format'"),
            ("%10.5y", "invalid conversion '%10.5y' to 'format'"),
            ("%5q", "specifier '%q' cannot have modifiers"),
            ("%123d", "invalid conversion specification: '%123d'"),
            ("%.123d", "invalid conversion specification: '%.123d'"),
            ("%#d", "invalid conversion specification: '%#d'"),
            ("%+x", "invalid conversion specification: '%+x'"),
            ("%.3c", "invalid conversion specification: '%.3c'"),
            ("%05s", "invalid conversion specification: '%05s'"),
            ("%.5p", "invalid conversion specification: '%.5p'"),
            ("%000000000000000000000d", "invalid format (too long)"),
        ];
        for (format, message) in cases {
            assert_eq!(check(format).unwrap_err(), message, "{format}");
        }
    }
    #[test]
    fn messages_have_the_bytes_of_the_directive() {
        let message = |format: &[u8]| match Pieces::new(format).next().unwrap() {
            Ok(Piece::Directive(directive)) => directive.check().unwrap_err().message(),
            other => panic!("{other:?}"),
        };
        assert_eq!(message(b"%\x80"), b"invalid conversion '%\x80' to 'format'");
        assert_eq!(message(b"%5\0"), b"invalid conversion '%5' to 'format'");
        assert_eq!(message(b"%#d"), b"invalid conversion specification: '%#d'");
    }
}
