//! Errors: any Lua value, on its way to the next protected call.

use std::borrow::Cow;
use std::io;

use super::value::Value;

/// An error on its way up. It carries the error value; where it was raised is part of its text already.
#[derive(Clone, Copy)]
#[must_use]
pub struct Error<'gc> {
    value: Value<'gc>,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The value is what it shall be.
    Plain,
    /// The position shall be put before the message if the error arises in a Lua function.
    Unlocated,
    /// As `Unlocated`, and it is about this operand of the instruction, whose name shall be put behind.
    Operand(u8),
    /// Message handlers do not see it: it was raised because memory is short, or while a handler failed.
    Raw,
}

impl<'gc> Error<'gc> {
    /// An error with this value.
    pub fn new(value: impl Into<Value<'gc>>) -> Error<'gc> {
        Error {
            value: value.into(),
            kind: Kind::Plain,
        }
    }

    /// An error that message handlers do not see.
    pub(super) fn raw(value: Value<'gc>) -> Error<'gc> {
        Error {
            value,
            kind: Kind::Raw,
        }
    }

    /// An error whose message still lacks a position.
    pub(super) fn unlocated(value: Value<'gc>) -> Error<'gc> {
        Error {
            value,
            kind: Kind::Unlocated,
        }
    }

    /// The error value.
    #[must_use]
    pub fn value(self) -> Value<'gc> {
        self.value
    }

    pub(super) fn is_raw(self) -> bool {
        self.kind == Kind::Raw
    }

    /// An error about operand `number` of the instruction: 0 the first, or the object; 1 the second. Of a concatenation:
    /// the register.
    pub(super) fn operand(value: Value<'gc>, number: u8) -> Error<'gc> {
        Error {
            value,
            kind: Kind::Operand(number),
        }
    }

    /// The same error, about no operand.
    pub(super) fn anonymous(self) -> Error<'gc> {
        Error::unlocated(self.value)
    }

    /// The same error, which stays as it is: it arises in a native.
    pub(super) fn placed(self) -> Error<'gc> {
        match self.kind {
            Kind::Plain | Kind::Raw => self,
            Kind::Unlocated | Kind::Operand(_) => Error::new(self.value),
        }
    }

    pub(super) fn lacks_position(self) -> bool {
        matches!(self.kind, Kind::Unlocated | Kind::Operand(_))
    }

    pub(super) fn about_operand(self) -> Option<u8> {
        match self.kind {
            Kind::Operand(number) => Some(number),
            _ => None,
        }
    }
}

/// The system's text for an error, as `strerror` has it.
#[must_use]
pub fn os_message(error: &io::Error) -> Cow<'static, str> {
    let text = error.to_string();
    match text.rfind(" (os error ") {
        Some(end) => Cow::Owned(text[..end].to_owned()),
        None => Cow::Owned(text),
    }
}
