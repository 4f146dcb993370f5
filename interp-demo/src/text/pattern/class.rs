//! Character classes in the C locale.

/// The letters of the classes, each with a bit of its own in [`MEMBERS`].
const LETTERS: &[u8; 11] = b"acdglpsuwxz";

/// For each byte the classes that it belongs to. A table: a comparison for each class would be one more branch a character.
static MEMBERS: [u16; 256] = {
    let mut members = [0; 256];
    let mut byte = 0;
    while byte < members.len() {
        let mut bit = 0;
        while bit < LETTERS.len() {
            if is_member(byte as u8, LETTERS[bit]) {
                members[byte] |= 1 << bit;
            }
            bit += 1;
        }
        byte += 1;
    }
    members
};

const fn is_member(byte: u8, letter: u8) -> bool {
    match letter {
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
        _ => byte == 0,
    }
}

/// What stands after a percent sign: `a c d g l p s u w x`, an upper case letter for the complement, or any other character
/// for itself.
#[derive(Clone, Copy)]
pub(super) enum Class {
    /// The bytes that have this bit in [`MEMBERS`], or all others if `negated`.
    Named { bit: u16, negated: bool },
    /// This byte.
    Own(u8),
}

/// The class of each character. Classes of letters are wanted for nearly every character that is matched.
static CLASSES: [Class; 256] = {
    let mut classes = [Class::Own(0); 256];
    let mut character = 0;
    while character < classes.len() {
        classes[character] = Class::find(character as u8);
        character += 1;
    }
    classes
};

impl Class {
    const fn find(character: u8) -> Class {
        let mut bit = 0;
        while bit < LETTERS.len() {
            if LETTERS[bit] == character.to_ascii_lowercase() {
                return Class::Named {
                    bit: 1 << bit,
                    negated: character.is_ascii_uppercase(),
                };
            }
            bit += 1;
        }
        Class::Own(character)
    }

    /// The class that `character` stands for.
    #[inline]
    pub(super) fn new(character: u8) -> Class {
        CLASSES[usize::from(character)]
    }

    /// Whether `byte` belongs to it.
    #[inline]
    pub(super) fn has(self, byte: u8) -> bool {
        match self {
            Class::Named { bit, negated } => (MEMBERS[usize::from(byte)] & bit != 0) != negated,
            Class::Own(own) => byte == own,
        }
    }
}

/// Whether `byte` belongs to the class that `character` stands for after a percent sign.
#[inline]
pub(super) fn matches(byte: u8, character: u8) -> bool {
    Class::new(character).has(byte)
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
