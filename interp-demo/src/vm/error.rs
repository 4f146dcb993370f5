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

    pub(super) fn is_unlocated(self) -> bool {
        self.kind == Kind::Unlocated
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
