//! Arithmetic on any values: what the fast paths of the interpreter leave over.

use super::error::Error;
use super::number::{self, float_to_int};
use super::state::Ctx;
use super::value::Value;
use crate::opcode::Event;

/// A number as a float; none for other values.
#[inline(always)]
pub(super) const fn as_float(value: Value<'_>) -> Option<f64> {
    match value {
        Value::Int(v) => Some(v as f64),
        Value::Float(v) => Some(v),
        _ => None,
    }
}

/// A number that has an integer's value, as that; none for other values.
#[inline(always)]
pub(super) fn as_int(value: Value<'_>) -> Option<i64> {
    match value {
        Value::Int(v) => Some(v),
        Value::Float(v) => float_to_int(v),
        _ => None,
    }
}

impl<'gc> Ctx<'gc> {
    /// The result of an operation on numbers; `Ok(None)` if an operand is no number, or has no integer's value where one
    /// is needed. For unary operations `b` is ignored.
    ///
    /// # Errors
    ///
    /// A division of integers by zero.
    pub fn arith(
        self,
        event: Event,
        a: Value<'gc>,
        b: Value<'gc>,
    ) -> Result<Option<Value<'gc>>, Error<'gc>> {
        let value = match event {
            Event::Unm => match a {
                Value::Int(a) => Some(Value::Int(a.wrapping_neg())),
                Value::Float(a) => Some(Value::Float(-a)),
                _ => None,
            },
            Event::BNot => as_int(a).map(|a| Value::Int(!a)),
            Event::BAnd | Event::BOr | Event::BXor | Event::Shl | Event::Shr => {
                let (Some(a), Some(b)) = (as_int(a), as_int(b)) else {
                    return Ok(None);
                };
                Some(Value::Int(match event {
                    Event::BAnd => a & b,
                    Event::BOr => a | b,
                    Event::BXor => a ^ b,
                    Event::Shl => number::shift_left(a, b),
                    _ => number::shift_right(a, b),
                }))
            }
            _ => return self.arith_numbers(event, a, b),
        };
        Ok(value)
    }

    fn arith_numbers(
        self,
        event: Event,
        a: Value<'gc>,
        b: Value<'gc>,
    ) -> Result<Option<Value<'gc>>, Error<'gc>> {
        if let (Value::Int(a), Value::Int(b)) = (a, b) {
            let value = match event {
                Event::Add => a.wrapping_add(b),
                Event::Sub => a.wrapping_sub(b),
                Event::Mul => a.wrapping_mul(b),
                Event::Mod => number::int_mod(a, b).ok_or_else(|| self.modulo_by_zero())?,
                Event::IDiv => {
                    number::int_floor_div(a, b).ok_or_else(|| self.division_by_zero())?
                }
                Event::Div => return Ok(Some(Value::Float(a as f64 / b as f64))),
                Event::Pow => return Ok(Some(Value::Float(number::pow(a as f64, b as f64)))),
                _ => return Ok(None),
            };
            return Ok(Some(Value::Int(value)));
        }
        let (Some(a), Some(b)) = (as_float(a), as_float(b)) else {
            return Ok(None);
        };
        let value = match event {
            Event::Add => a + b,
            Event::Sub => a - b,
            Event::Mul => a * b,
            Event::Div => a / b,
            Event::Mod => number::float_mod(a, b),
            Event::IDiv => number::float_floor_div(a, b),
            Event::Pow => number::pow(a, b),
            _ => return Ok(None),
        };
        Ok(Some(Value::Float(value)))
    }

    /// The error of `n // 0`.
    #[cold]
    pub(super) fn division_by_zero(self) -> Error<'gc> {
        self.error("attempt to divide by zero")
    }

    /// The error of `n % 0`.
    #[cold]
    pub(super) fn modulo_by_zero(self) -> Error<'gc> {
        self.error("attempt to perform 'n%0'")
    }

    /// The method that does the operation on operands that are not numbers.
    ///
    /// # Errors
    ///
    /// If none of them has one.
    pub(super) fn arith_method(
        self,
        event: Event,
        a: Value<'gc>,
        b: Value<'gc>,
    ) -> Result<Value<'gc>, Error<'gc>> {
        let method = self.binary_method(a, b, event);
        if !method.is_nil() {
            return Ok(method);
        }
        Err(match event {
            Event::BAnd | Event::BOr | Event::BXor | Event::Shl | Event::Shr | Event::BNot => {
                if as_float(a).is_some() && as_float(b).is_some() {
                    let number = u8::from(as_int(a).is_some());
                    Error::operand(self.string(b"number has no integer representation"), number)
                } else {
                    self.operand_error("perform bitwise operation on", a, b)
                }
            }
            _ => self.operand_error("perform arithmetic on", a, b),
        })
    }

    /// The error about the first of two operands that is no number.
    fn operand_error(self, what: &str, a: Value<'gc>, b: Value<'gc>) -> Error<'gc> {
        if as_float(a).is_some() {
            self.type_error_of(what, b, 1)
        } else {
            self.type_error_of(what, a, 0)
        }
    }
}
