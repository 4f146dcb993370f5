//! The arguments of natives, checked, with the messages of Lua's auxiliary library. Slots count from 0, messages
//! from 1.

use super::describe::known_position_text;
use super::error::Error;
use super::native::Call;
use super::string::LuaStr;
use super::table::Table;
use super::thread::Thread;
use super::userdata::UserData;
use super::value::Value;
use crate::debug_names::NameKind;
use crate::text::number::{Number, float_to_int, parse};

impl<'gc> Call<'gc> {
    /// Whether there is no argument `i`.
    #[must_use]
    pub fn is_none(&self, i: usize) -> bool {
        i >= self.len()
    }

    /// Whether argument `i` is nil or not there.
    #[must_use]
    pub fn is_none_or_nil(&self, i: usize) -> bool {
        self.get(i).is_nil()
    }

    /// An error with the position of the calling Lua function before the message.
    pub fn error(&self, message: impl AsRef<[u8]>) -> Error<'gc> {
        let mut text = self.position(1);
        text.extend_from_slice(message.as_ref());
        Error::new(self.ctx.string(&text))
    }

    /// `file:line: ` of the function at `level` (1: whoever called this native) if that is a Lua function; else empty.
    #[must_use]
    pub fn position(&self, level: usize) -> Vec<u8> {
        match self.level(level) {
            Some(level) => known_position_text(level.thread(), level.frame()),
            None => Vec::new(),
        }
    }

    /// The error that argument `i` is not as it should be.
    pub fn arg_error(&self, i: usize, message: impl AsRef<[u8]>) -> Error<'gc> {
        let mut number = i + 1;
        let mut text = Vec::new();
        let name = self.level(0).and_then(|level| level.name());
        let name = match name {
            Some((NameKind::Method, name)) => {
                number -= 1;
                if number == 0 {
                    text.extend_from_slice(b"calling '");
                    text.extend_from_slice(&name);
                    text.extend_from_slice(b"' on bad self (");
                    text.extend_from_slice(message.as_ref());
                    text.push(b')');
                    return self.error(text);
                }
                name
            }
            Some((_, name)) => name,
            None => super::debug::loaded_name(self.ctx, self.function())
                .unwrap_or_else(|| b"?".to_vec()),
        };
        text.extend_from_slice(format!("bad argument #{number} to '").as_bytes());
        text.extend_from_slice(&name);
        text.extend_from_slice(b"' (");
        text.extend_from_slice(message.as_ref());
        text.push(b')');
        self.error(text)
    }

    /// The error that argument `i` has the wrong type.
    pub fn type_error(&self, i: usize, expected: &str) -> Error<'gc> {
        let mut text = expected.as_bytes().to_vec();
        text.extend_from_slice(b" expected, got ");
        if self.is_none(i) {
            text.extend_from_slice(b"no value");
        } else if let Value::Light(_) = self.get(i) {
            text.extend_from_slice(b"light userdata");
        } else {
            text.extend_from_slice(&self.ctx.type_name(self.get(i)));
        }
        self.arg_error(i, text)
    }

    /// Argument `i`, which must be there.
    ///
    /// # Errors
    ///
    /// If it is not.
    pub fn check_any(&self, i: usize) -> Result<Value<'gc>, Error<'gc>> {
        if self.is_none(i) {
            return Err(self.arg_error(i, "value expected"));
        }
        Ok(self.get(i))
    }

    /// Argument `i`, a table.
    ///
    /// # Errors
    ///
    /// If it is none.
    pub fn check_table(&self, i: usize) -> Result<Table<'gc>, Error<'gc>> {
        match self.get(i) {
            Value::Table(table) => Ok(table),
            _ => Err(self.type_error(i, "table")),
        }
    }

    /// Argument `i`, a function.
    ///
    /// # Errors
    ///
    /// If it is none.
    pub fn check_function(&self, i: usize) -> Result<Value<'gc>, Error<'gc>> {
        match self.get(i) {
            value if value.is_function() => Ok(value),
            _ => Err(self.type_error(i, "function")),
        }
    }

    /// Argument `i`, a coroutine.
    ///
    /// # Errors
    ///
    /// If it is none.
    pub fn check_thread(&self, i: usize) -> Result<Thread<'gc>, Error<'gc>> {
        match self.get(i) {
            Value::Thread(thread) => Ok(thread),
            _ => Err(self.type_error(i, "thread")),
        }
    }

    /// Argument `i`, a userdata that holds a `T`; `name` is what messages call it.
    ///
    /// # Errors
    ///
    /// If it is none.
    pub fn check_userdata<T: std::any::Any>(
        &self,
        i: usize,
        name: &str,
    ) -> Result<UserData<'gc>, Error<'gc>> {
        match self.get(i) {
            Value::UserData(data) if data.is::<T>() => Ok(data),
            _ => Err(self.type_error(i, name)),
        }
    }

    /// Argument `i`, an integer; floats with an integer's value and numerals are converted.
    ///
    /// # Errors
    ///
    /// If it is none.
    #[inline]
    pub fn check_int(&self, i: usize) -> Result<i64, Error<'gc>> {
        match self.get(i) {
            Value::Int(int) => Ok(int),
            value => self.convert_int(i, value),
        }
    }

    #[inline(never)]
    fn convert_int(&self, i: usize, value: Value<'gc>) -> Result<i64, Error<'gc>> {
        match to_number(value) {
            Some(Number::Int(int)) => Ok(int),
            Some(Number::Float(float)) => float_to_int(float)
                .ok_or_else(|| self.arg_error(i, "number has no integer representation")),
            None => Err(self.type_error(i, "number")),
        }
    }

    /// Argument `i`, a number as a float; numerals are converted.
    ///
    /// # Errors
    ///
    /// If it is none.
    pub fn check_float(&self, i: usize) -> Result<f64, Error<'gc>> {
        match self.get(i) {
            Value::Int(int) => Ok(int as f64),
            Value::Float(float) => Ok(float),
            _ => Ok(self.check_number(i)?.to_float()),
        }
    }

    /// Argument `i`, a number; numerals are converted.
    ///
    /// # Errors
    ///
    /// If it is none.
    pub fn check_number(&self, i: usize) -> Result<Number, Error<'gc>> {
        to_number(self.get(i)).ok_or_else(|| self.type_error(i, "number"))
    }

    /// Argument `i`, a string; numbers are converted, and the slot is changed accordingly.
    ///
    /// # Errors
    ///
    /// If it is none.
    #[inline]
    pub fn check_str(&mut self, i: usize) -> Result<LuaStr<'gc>, Error<'gc>> {
        match self.get(i) {
            Value::Str(string) => {
                self.ctx.look_in(string)?;
                Ok(string)
            }
            value => self.convert_str(i, value),
        }
    }

    #[inline(never)]
    fn convert_str(&mut self, i: usize, value: Value<'gc>) -> Result<LuaStr<'gc>, Error<'gc>> {
        match value {
            value @ (Value::Int(_) | Value::Float(_)) => {
                let text = self.ctx.number_or_string(value);
                let text = text.ok_or_else(|| self.type_error(i, "string"))?;
                self.set(i, text.into());
                Ok(text)
            }
            _ => Err(self.type_error(i, "string")),
        }
    }

    /// Argument `i`, an integer, or `default` if it is nil or not there.
    ///
    /// # Errors
    ///
    /// If it is something else.
    #[inline]
    pub fn opt_int(&self, i: usize, default: i64) -> Result<i64, Error<'gc>> {
        match self.get(i) {
            Value::Nil => Ok(default),
            Value::Int(int) => Ok(int),
            value => self.convert_int(i, value),
        }
    }

    /// Argument `i`, a number as a float, or `default` if it is nil or not there.
    ///
    /// # Errors
    ///
    /// If it is something else.
    pub fn opt_float(&self, i: usize, default: f64) -> Result<f64, Error<'gc>> {
        if self.is_none_or_nil(i) {
            return Ok(default);
        }
        self.check_float(i)
    }

    /// Argument `i`, a string, or none if it is nil or not there.
    ///
    /// # Errors
    ///
    /// If it is something else.
    pub fn opt_str(&mut self, i: usize) -> Result<Option<LuaStr<'gc>>, Error<'gc>> {
        if self.is_none_or_nil(i) {
            return Ok(None);
        }
        self.check_str(i).map(Some)
    }

    /// Argument `i` (or `default`, if it is nil or not there), one of `options`: its index.
    ///
    /// # Errors
    ///
    /// If it is none of them.
    pub fn check_option(
        &mut self,
        i: usize,
        default: Option<&str>,
        options: &[&str],
    ) -> Result<usize, Error<'gc>> {
        let name = match (self.opt_str(i)?, default) {
            (Some(name), _) => name.as_bytes(),
            (None, Some(default)) => default.as_bytes(),
            (None, None) => return Err(self.type_error(i, "string")),
        };
        if let Some(at) = options.iter().position(|option| option.as_bytes() == name) {
            return Ok(at);
        }
        let mut message = b"invalid option '".to_vec();
        message.extend_from_slice(name);
        message.push(b'\'');
        Err(self.arg_error(i, message))
    }
}

/// A value as a number: numbers themselves, and strings that are numerals.
#[must_use]
pub fn to_number(value: Value<'_>) -> Option<Number> {
    match value {
        Value::Int(int) => Some(Number::Int(int)),
        Value::Float(float) => Some(Number::Float(float)),
        Value::Str(string) => parse(string.as_bytes()),
        _ => None,
    }
}
