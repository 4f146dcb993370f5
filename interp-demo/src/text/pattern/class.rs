//! Character classes in the C locale.

/// Whether `byte` belongs to the class that stands after a percent sign: `a c d g l p s u w x`, an upper case letter for the
/// complement, or any other character for itself.
pub(super) const fn matches(byte: u8, class: u8) -> bool {
    let member = match class.to_ascii_lowercase() {
        b'a' => byte.is_ascii_alphabetic(),
        b'c' => byte.is_ascii_control(),
        b'd' => byte.is_ascii_digit(),
        b'g' => byte.is_ascii_graphic(),
        b'l' => byte.is_ascii_lowercase(),
        b'p' => byte.is_ascii_punctuation(),
        b's' => crate::text::number::is_space(byte),
        b'u' => byte.is_ascii_uppercase(),
        b'w' => byte.is_ascii_alphanumeric(),
        b'x' => byte.is_ascii_hexdigit(),
        // Deprecated, but still there: the zero byte.
        b'z' => byte == 0,
        _ => return byte == class,
    };
    member != class.is_ascii_uppercase()
}

/// Whether `byte` belongs to a set; `set` is what stands between the brackets.
pub(super) fn in_set(byte: u8, set: &[u8]) -> bool {
    let (negated, mut rest) = match set {
        [b'^', rest @ ..] => (true, rest),
        _ => (false, set),
    };
    loop {
        let member;
        (member, rest) = match rest {
            [] => return negated,
            [b'%', class, rest @ ..] => (matches(byte, *class), rest),
            [low, b'-', high, rest @ ..] => (*low <= byte && byte <= *high, rest),
            [own, rest @ ..] => (*own == byte, rest),
        };
        if member {
            return !negated;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complement_is_the_rest() {
        for class in b"acdglpsuwxz" {
            for byte in 0..=255 {
                assert_ne!(
                    matches(byte, *class),
                    matches(byte, class.to_ascii_uppercase())
                );
            }
        }
        assert!(matches(b'%', b'%') && matches(b'Q', b'Q') && !matches(b'q', b'Q'));
    }

    #[test]
    fn sets() {
        assert!(in_set(b'b', b"a-c") && !in_set(b'd', b"a-c"));
        assert!(in_set(b'd', b"^a-c") && !in_set(b'-', b"a-c"));
        assert!(in_set(b'-', b"a-") && in_set(b'-', b"-a") && in_set(b']', b"]"));
        assert!(in_set(b'7', b"%a%d") && in_set(b'-', b"%a-z") && in_set(b'z', b"%a-z"));
        assert!(in_set(b'%', b"%%"));
    }
}
