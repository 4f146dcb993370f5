//! Indexing, length, comparison and equality with metamethods, one step at a time: where a metamethod is to be called,
//! it is handed back, and whoever asked makes the call.

use super::error::Error;
use super::number;
use super::state::Ctx;
use super::string::LuaStr;
use super::value::Value;
use crate::opcode::Event;

/// How many `__index` or `__newindex` values may be followed.
pub(super) const MAX_CHAIN: u32 = 2000;

/// The outcome of a read.
#[derive(Clone, Copy)]
pub enum Access<'gc> {
    /// The value.
    Value(Value<'gc>),
    /// `method(receiver, key)` gives the value (for a length: `method(receiver, receiver)`).
    Call {
        /// What to call.
        method: Value<'gc>,
        /// The first argument.
        receiver: Value<'gc>,
    },
}

/// The outcome of a comparison.
#[derive(Clone, Copy)]
pub enum Compare<'gc> {
    /// The answer.
    Done(bool),
    /// Whether `method(a, b)` returns something true is the answer.
    Call(Value<'gc>),
}

impl<'gc> Ctx<'gc> {
    /// `object[key]`.
    ///
    /// # Errors
    ///
    /// If the object, or something in its chain of `__index` values, can't be indexed.
    pub fn index(self, object: Value<'gc>, key: Value<'gc>) -> Result<Access<'gc>, Error<'gc>> {
        let mut receiver = object;
        for step in 0..MAX_CHAIN {
            let method = if let Value::Table(table) = receiver {
                let value = table.get(self, key);
                if !value.is_nil() {
                    return Ok(Access::Value(value));
                }
                let method = match table.metatable() {
                    Some(metatable) => self.event_field(metatable, Event::Index),
                    None => Value::Nil,
                };
                if method.is_nil() {
                    return Ok(Access::Value(Value::Nil));
                }
                method
            } else {
                let method = self.metamethod(receiver, Event::Index);
                if method.is_nil() {
                    return Err(self.type_error("index", receiver, step == 0));
                }
                method
            };
            if method.is_function() {
                return Ok(Access::Call { method, receiver });
            }
            receiver = method;
        }
        Err(self.error("'__index' chain too long; possible loop"))
    }

    /// `object[key] = value`: does it, or hands back `(method, receiver)`, to be called as
    /// `method(receiver, key, value)`.
    ///
    /// # Errors
    ///
    /// If the object can't be indexed, the key is nil or NaN, or the table can't grow.
    pub fn set_index(
        self,
        object: Value<'gc>,
        key: Value<'gc>,
        value: Value<'gc>,
    ) -> Result<Option<(Value<'gc>, Value<'gc>)>, Error<'gc>> {
        let mut receiver = object;
        for step in 0..MAX_CHAIN {
            let method = if let Value::Table(table) = receiver {
                let method = match table.metatable() {
                    Some(metatable) => {
                        // What is there may be changed, and removed, in a traversal, which bears no other form.
                        if table.may_have_become_weak(metatable)
                            && !value.is_nil()
                            && table.get(self, key).is_nil()
                        {
                            table.follow_mode(self)?;
                        }
                        let method = self.event_field(metatable, Event::NewIndex);
                        // An entry that is there is changed without further ado.
                        if method.is_nil() || !table.get(self, key).is_nil() {
                            Value::Nil
                        } else {
                            method
                        }
                    }
                    None => Value::Nil,
                };
                if method.is_nil() {
                    table.set(self, key, value)?;
                    return Ok(None);
                }
                method
            } else {
                let method = self.metamethod(receiver, Event::NewIndex);
                if method.is_nil() {
                    return Err(self.type_error("index", receiver, step == 0));
                }
                method
            };
            if method.is_function() {
                return Ok(Some((method, receiver)));
            }
            receiver = method;
        }
        Err(self.error("'__newindex' chain too long; possible loop"))
    }

    /// `#value`.
    ///
    /// # Errors
    ///
    /// If the value has no length.
    pub fn length(self, value: Value<'gc>) -> Result<Access<'gc>, Error<'gc>> {
        let method = match value {
            Value::Str(string) => return Ok(Access::Value(Value::Int(string.len() as i64))),
            Value::Table(table) => match table.metatable() {
                None => return Ok(Access::Value(Value::Int(table.len(self)))),
                Some(metatable) => match self.event_field(metatable, Event::Len) {
                    Value::Nil => return Ok(Access::Value(Value::Int(table.len(self)))),
                    method => method,
                },
            },
            _ => self.metamethod(value, Event::Len),
        };
        if method.is_nil() {
            return Err(self.type_error("get length of", value, true));
        }
        Ok(Access::Call {
            method,
            receiver: value,
        })
    }

    /// `a == b`.
    #[must_use]
    pub fn equals(self, a: Value<'gc>, b: Value<'gc>) -> Compare<'gc> {
        let same = a.raw_equals(b);
        let both = matches!(
            (a, b),
            (Value::Table(_), Value::Table(_)) | (Value::UserData(_), Value::UserData(_))
        );
        if same || !both {
            return Compare::Done(same);
        }
        let method = match self.metamethod(a, Event::Eq) {
            Value::Nil => self.metamethod(b, Event::Eq),
            method => method,
        };
        if method.is_nil() {
            Compare::Done(false)
        } else {
            Compare::Call(method)
        }
    }

    /// `a < b`.
    ///
    /// # Errors
    ///
    /// If they can't be compared.
    pub fn less_than(self, a: Value<'gc>, b: Value<'gc>) -> Result<Compare<'gc>, Error<'gc>> {
        let answer = match (a, b) {
            (Value::Int(a), Value::Int(b)) => a < b,
            (Value::Float(a), Value::Float(b)) => a < b,
            (Value::Int(a), Value::Float(b)) => number::int_lt_float(a, b),
            (Value::Float(a), Value::Int(b)) => number::float_lt_int(a, b),
            (Value::Str(a), Value::Str(b)) => {
                self.look_in(a)?;
                a.as_bytes() < b.as_bytes()
            }
            _ => return self.compare_method(a, b, Event::Lt),
        };
        Ok(Compare::Done(answer))
    }

    /// `a <= b`.
    ///
    /// # Errors
    ///
    /// If they can't be compared.
    pub fn less_equal(self, a: Value<'gc>, b: Value<'gc>) -> Result<Compare<'gc>, Error<'gc>> {
        let answer = match (a, b) {
            (Value::Int(a), Value::Int(b)) => a <= b,
            (Value::Float(a), Value::Float(b)) => a <= b,
            (Value::Int(a), Value::Float(b)) => number::int_le_float(a, b),
            (Value::Float(a), Value::Int(b)) => number::float_le_int(a, b),
            (Value::Str(a), Value::Str(b)) => {
                self.look_in(a)?;
                a.as_bytes() <= b.as_bytes()
            }
            _ => return self.compare_method(a, b, Event::Le),
        };
        Ok(Compare::Done(answer))
    }

    fn compare_method(
        self,
        a: Value<'gc>,
        b: Value<'gc>,
        event: Event,
    ) -> Result<Compare<'gc>, Error<'gc>> {
        let method = self.binary_method(a, b, event);
        if !method.is_nil() {
            return Ok(Compare::Call(method));
        }
        let (a, b) = (self.type_name(a), self.type_name(b));
        let mut message = b"attempt to compare ".to_vec();
        if a == b {
            message.extend_from_slice(b"two ");
            message.extend_from_slice(&a);
            message.extend_from_slice(b" values");
        } else {
            message.extend_from_slice(&a);
            message.extend_from_slice(b" with ");
            message.extend_from_slice(&b);
        }
        Err(self.error(message))
    }

    /// The method of the first of two operands that has one; nil if none has.
    #[inline]
    #[must_use]
    pub fn binary_method(self, a: Value<'gc>, b: Value<'gc>, event: Event) -> Value<'gc> {
        match self.metamethod(a, event) {
            Value::Nil => self.metamethod(b, event),
            method => method,
        }
    }

    /// "attempt to … a … value"; `named`: the value is what the instruction's first operand names.
    #[cold]
    fn type_error(self, what: &str, value: Value<'gc>, named: bool) -> Error<'gc> {
        let error = self.type_error_of(what, value, 0);
        if named { error } else { error.anonymous() }
    }

    /// "attempt to … a … value", about operand `number` of the instruction.
    #[cold]
    pub(super) fn type_error_of(self, what: &str, value: Value<'gc>, number: u8) -> Error<'gc> {
        let mut message = format!("attempt to {what} a ").into_bytes();
        message.extend_from_slice(&self.type_name(value));
        message.extend_from_slice(b" value");
        Error::operand(self.string(&message), number)
    }

    /// The text of a number or string; none for other values.
    #[must_use]
    pub fn number_or_string(self, value: Value<'gc>) -> Option<LuaStr<'gc>> {
        match value {
            Value::Str(string) => Some(string),
            Value::Int(_) | Value::Float(_) => {
                let mut text = Vec::with_capacity(24);
                write_number(&mut text, value);
                Some(LuaStr::new(self, &text))
            }
            _ => None,
        }
    }
}

/// Appends a number as `tostring` shows it; nothing for other values.
pub(super) fn write_number(out: &mut Vec<u8>, value: Value<'_>) {
    match value {
        Value::Int(v) => crate::text::number::write_int(out, v),
        Value::Float(v) => crate::text::number::write_float(out, v),
        _ => {}
    }
}
