//! `string.pack` without its values: reading a layout, and moving integers and floats to and from bytes.

mod layout;

pub use layout::{Field, Kind, Layout};

use thiserror::Error;

/// The widest integer, in bytes.
pub const MAX_INT_SIZE: usize = 16;

/// Why a layout or data was refused; [`message`](Self::message) is the message of the Lua error.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum PackError {
    /// `i`, `I`, `s` or `!` with a size outside the limits.
    #[error("integral size ({0}) out of limits [1,{MAX_INT_SIZE}]")]
    SizeOutOfLimits(usize),
    /// `c` needs its size.
    #[error("missing size for format option 'c'")]
    MissingSize,
    /// No option of that name.
    #[error("invalid format option '{}'", char::from(*.0))]
    Option(u8),
    /// `X` must be followed by an option that has an alignment.
    #[error("invalid next option for option 'X'")]
    AlignTo,
    /// `!` allows an alignment that is no power of two, and an option wants it.
    #[error("format asks for alignment not power of 2")]
    Alignment,
    /// An integer of more than eight bytes whose value needs them.
    #[error("{0}-byte integer does not fit into Lua Integer")]
    IntTooLarge(usize),
}

impl PackError {
    /// Whether it is a fault of the layout argument as such, which Lua reports as a bad argument.
    #[must_use]
    pub const fn is_bad_argument(self) -> bool {
        matches!(self, Self::AlignTo | Self::Alignment)
    }

    /// The text, with the byte of the option as it is.
    #[must_use]
    pub fn message(self) -> Vec<u8> {
        match self {
            Self::Option(byte) => [b"invalid format option '", &[byte][..], b"'"].concat(),
            _ => self.to_string().into_bytes(),
        }
    }
}

/// Whether `value` can be stored in `size` bytes with its sign.
#[must_use]
pub const fn fits_signed(value: i64, size: usize) -> bool {
    size >= 8 || {
        let limit = 1_i64 << (size * 8 - 1);
        -limit <= value && value < limit
    }
}

/// Whether `value`, taken as unsigned, can be stored in `size` bytes.
#[must_use]
pub const fn fits_unsigned(value: u64, size: usize) -> bool {
    size >= 8 || value < 1 << (size * 8)
}

/// Appends the low `size` bytes of `value`; beyond eight bytes they are filled with `negative`'s sign.
pub fn put_int(out: &mut Vec<u8>, value: i64, negative: bool, little: bool, size: usize) {
    let mut bytes = [if negative { 0xFF } else { 0 }; MAX_INT_SIZE];
    bytes[..8].copy_from_slice(&value.to_le_bytes());
    put_bytes(out, &mut bytes[..size], little);
}

/// Appends the bytes of a number, which are given in little-endian order, in the order asked for.
pub fn put_bytes(out: &mut Vec<u8>, bytes: &mut [u8], little: bool) {
    if !little {
        bytes.reverse();
    }
    out.extend_from_slice(bytes);
}

/// Reads an integer of up to sixteen bytes.
///
/// # Errors
/// When the value does not fit into 64 bits.
pub fn get_int(bytes: &[u8], little: bool, signed: bool) -> Result<i64, PackError> {
    let size = bytes.len();
    let at = |index: usize| {
        if little {
            bytes[index]
        } else {
            bytes[size - 1 - index]
        }
    };
    let mut low = [0_u8; 8];
    for (index, byte) in low.iter_mut().enumerate().take(size) {
        *byte = at(index);
    }
    let value = i64::from_le_bytes(low);
    if size < 8 {
        let unused = 64 - 8 * size as u32;
        return Ok(if signed {
            value << unused >> unused
        } else {
            value
        });
    }
    let filler = if signed && value < 0 { 0xFF } else { 0 };
    if (8..size).any(|index| at(index) != filler) {
        return Err(PackError::IntTooLarge(size));
    }
    Ok(value)
}

/// Reads a float of four or eight bytes.
#[must_use]
pub fn get_float(bytes: &[u8], little: bool) -> f64 {
    let mut low = [0_u8; 8];
    for (to, from) in low.iter_mut().zip(bytes) {
        *to = *from;
    }
    if !little {
        low[..bytes.len()].reverse();
    }
    if bytes.len() == 4 {
        let [a, b, c, d, ..] = low;
        f64::from(f32::from_le_bytes([a, b, c, d]))
    } else {
        f64::from_le_bytes(low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn too_large_integers() {
        let mut bytes = [0_u8; 16];
        bytes[8] = 1;
        assert_eq!(
            get_int(&bytes, true, false),
            Err(PackError::IntTooLarge(16))
        );
        assert_eq!(get_int(&[0xFF; 9], true, true), Ok(-1));
        assert_eq!(
            get_int(&[0xFF; 9], true, false),
            Err(PackError::IntTooLarge(9))
        );
        assert_eq!(
            PackError::IntTooLarge(16).to_string(),
            "16-byte integer does not fit into Lua Integer"
        );
    }

    #[test]
    fn messages_have_the_byte_of_the_option() {
        assert_eq!(
            PackError::Option(0x80).message(),
            b"invalid format option '\x80'"
        );
        assert_eq!(
            PackError::MissingSize.message(),
            b"missing size for format option 'c'"
        );
    }

    proptest! {
        #[test]
        fn integers_come_back(value: i64, little: bool, size in 1..=16_usize) {
            let mut out = Vec::new();
            put_int(&mut out, value, value < 0, little, size);
            prop_assert_eq!(out.len(), size);
            if fits_signed(value, size) {
                prop_assert_eq!(get_int(&out, little, true), Ok(value));
            }
            if size <= 8 && fits_unsigned(value.cast_unsigned(), size) {
                prop_assert_eq!(get_int(&out, little, false), Ok(value));
            }
        }

        #[test]
        fn floats_come_back(value: f64, little: bool) {
            let mut out = Vec::new();
            put_bytes(&mut out, &mut value.to_le_bytes(), little);
            put_bytes(&mut out, &mut (value as f32).to_le_bytes(), little);
            prop_assert_eq!(get_float(&out[..8], little).to_bits(), value.to_bits());
            prop_assert_eq!(get_float(&out[8..], little) as f32, value as f32);
        }
    }
}
