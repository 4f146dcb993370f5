//! Layouts: the format string of `pack`, `unpack` and `packsize`.

use super::{MAX_INT_SIZE, PackError};

/// The alignment that a bare `!` asks for: that of the machine's widest plain type.
const NATIVE_ALIGN: usize = 8;
/// Numbers in a layout stop growing here, so that sizes stay within 31 bits.
const NUMBER_LIMIT: usize = (i32::MAX as usize - 9) / 10;

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A signed integer.
    Int,
    /// An unsigned integer.
    Uint,
    /// A float, of four or eight bytes.
    Float,
    /// A string of fixed size.
    Chars,
    /// A string after its length.
    Counted,
    /// A string that a zero byte ends.
    ZeroEnded,
    /// One byte of padding.
    Padding,
    /// Nothing: alignment only, or a setting.
    Nothing,
}

/// One option of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// What it holds.
    pub kind: Kind,
    /// Its size in bytes; for [`Kind::Counted`] that of the length.
    pub size: usize,
    /// Bytes of padding before it.
    pub padding: usize,
}

/// A layout that is being read.
#[derive(Clone, Debug)]
pub struct Layout<'f> {
    rest: &'f [u8],
    little: bool,
    max_align: usize,
}

impl<'f> Layout<'f> {
    /// Starts with the machine's byte order and no alignment. A format ends at its first zero byte, if it has one.
    #[must_use]
    pub fn new(format: &'f [u8]) -> Self {
        let end = memchr::memchr(0, format).unwrap_or(format.len());
        Self {
            rest: &format[..end],
            little: cfg!(target_endian = "little"),
            max_align: 1,
        }
    }

    /// The byte order of the field that was read last.
    #[must_use]
    pub const fn is_little(&self) -> bool {
        self.little
    }

    /// The next option, laid out after `total` bytes; `None` at the end.
    ///
    /// # Errors
    /// When the option is unknown or lacks what it needs.
    pub fn next_field(&mut self, total: usize) -> Result<Option<Field>, PackError> {
        let Some((&option, rest)) = self.rest.split_first() else {
            return Ok(None);
        };
        self.rest = rest;
        let (kind, size, align) = if option == b'X' {
            let Some((&target, rest)) = self.rest.split_first() else {
                return Err(PackError::AlignTo);
            };
            self.rest = rest;
            let (target, align) = self.option(target)?;
            if target == Kind::Chars || align == 0 {
                return Err(PackError::AlignTo);
            }
            (Kind::Nothing, 0, align)
        } else {
            let (kind, size) = self.option(option)?;
            (kind, size, size)
        };
        let mut padding = 0;
        if align > 1 && kind != Kind::Chars {
            let align = align.min(self.max_align);
            if !align.is_power_of_two() {
                return Err(PackError::Alignment);
            }
            padding = total.wrapping_neg() & (align - 1);
        }
        Ok(Some(Field {
            kind,
            size,
            padding,
        }))
    }

    fn option(&mut self, option: u8) -> Result<(Kind, usize), PackError> {
        Ok(match option {
            b'b' => (Kind::Int, 1),
            b'B' => (Kind::Uint, 1),
            b'h' => (Kind::Int, 2),
            b'H' => (Kind::Uint, 2),
            b'l' | b'j' => (Kind::Int, 8),
            b'L' | b'J' | b'T' => (Kind::Uint, 8),
            b'i' => (Kind::Int, self.int_size(4)?),
            b'I' => (Kind::Uint, self.int_size(4)?),
            b'f' => (Kind::Float, 4),
            b'd' | b'n' => (Kind::Float, 8),
            b's' => (Kind::Counted, self.int_size(8)?),
            b'c' => (Kind::Chars, self.number().ok_or(PackError::MissingSize)?),
            b'z' => (Kind::ZeroEnded, 0),
            b'x' => (Kind::Padding, 1),
            b'X' | b' ' => (Kind::Nothing, 0),
            b'<' => {
                self.little = true;
                (Kind::Nothing, 0)
            }
            b'>' => {
                self.little = false;
                (Kind::Nothing, 0)
            }
            b'=' => {
                self.little = cfg!(target_endian = "little");
                (Kind::Nothing, 0)
            }
            b'!' => {
                self.max_align = self.int_size(NATIVE_ALIGN)?;
                (Kind::Nothing, 0)
            }
            unknown => return Err(PackError::Option(unknown)),
        })
    }

    fn number(&mut self) -> Option<usize> {
        let mut value = None;
        while let [digit @ b'0'..=b'9', rest @ ..] = self.rest
            && value.is_none_or(|value| value <= NUMBER_LIMIT)
        {
            value = Some(value.unwrap_or(0) * 10 + usize::from(digit - b'0'));
            self.rest = rest;
        }
        value
    }

    fn int_size(&mut self, default: usize) -> Result<usize, PackError> {
        let size = self.number().unwrap_or(default);
        if (1..=MAX_INT_SIZE).contains(&size) {
            Ok(size)
        } else {
            Err(PackError::SizeOutOfLimits(size))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields of a layout, laid out one after another, and the size of it all.
    fn read(format: &str) -> Result<(Vec<Field>, usize), PackError> {
        let mut layout = Layout::new(format.as_bytes());
        let (mut fields, mut total) = (Vec::new(), 0);
        while let Some(field) = layout.next_field(total)? {
            total += field.padding + field.size;
            fields.push(field);
        }
        Ok((fields, total))
    }

    #[test]
    fn sizes() {
        // (layout, string.packsize by lua5.4)
        let cases = [
            ("", 0),
            ("bBhHlLjJTfdn", 66),
            ("i4I7i16", 27),
            ("!8 b j", 16),
            ("!4 b j", 12),
            ("!2 b i16", 18),
            ("!8 b Xd d", 16),
            ("! i4 i4 i4 i8", 24),
            ("c10 x c0", 11),
            ("<!8 b Xi8", 8),
            ("!8 xXi16", 8),
            ("b\0r", 1),
        ];
        for (format, size) in cases {
            assert_eq!(read(format).unwrap().1, size, "{format}");
        }
    }

    #[test]
    fn refusals() {
        let cases = [
            ("i17", "integral size (17) out of limits [1,16]"),
            ("i0", "integral size (0) out of limits [1,16]"),
            ("!17", "integral size (17) out of limits [1,16]"),
            ("c", "missing size for format option 'c'"),
            ("r", "invalid format option 'r'"),
            ("X", "invalid next option for option 'X'"),
            ("X\0i", "invalid next option for option 'X'"),
            ("Xc1", "invalid next option for option 'X'"),
            ("X ", "invalid next option for option 'X'"),
            ("XX", "invalid next option for option 'X'"),
            ("!4 i3", "format asks for alignment not power of 2"),
            ("c10000000000", "invalid format option '0'"),
        ];
        for (format, message) in cases {
            assert_eq!(read(format).unwrap_err().to_string(), message, "{format}");
        }
    }
}
