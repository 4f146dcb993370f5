//! Expressions under way.

use super::jumps::JumpList;
use crate::lexer::Symbol;

/// Where the value of an expression is, or how to get it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// No expression (an empty list).
    Void,
    Nil,
    True,
    False,
    Int(i64),
    Float(f64),
    Str(Symbol),
    /// A constant in the function's table.
    Constant(u32),
    /// A value in a register that was given to it.
    NonReloc(u8),
    /// A local variable: its register, and its number in the function.
    Local {
        reg: u8,
        var: usize,
    },
    /// An upvalue, by number.
    Upvalue(u8),
    /// A variable with a value known to the compiler: its place among all active variables.
    CompileTime(usize),
    /// A field: registers of the table and of the key.
    Indexed {
        table: u8,
        key: u8,
    },
    /// A field of an upvalue: number of the upvalue and of the constant.
    IndexedUp {
        upvalue: u8,
        key: u8,
    },
    /// A field with a small integer as key.
    IndexedInt {
        table: u8,
        key: u8,
    },
    /// A field with a constant string as key.
    IndexedStr {
        table: u8,
        key: u8,
    },
    /// A comparison: its jump, which is taken when it holds.
    Jump(usize),
    /// The result of an instruction that can still be told its register.
    Reloc(usize),
    /// A call instruction.
    Call(usize),
    /// A vararg instruction.
    Vararg(usize),
}

/// An expression under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExpDesc {
    pub kind: Kind,
    /// Jumps that leave it when it's true.
    pub if_true: JumpList,
    /// Jumps that leave it when it's false.
    pub if_false: JumpList,
}

/// A number that is known to the compiler.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Numeral {
    Int(i64),
    Float(f64),
}

/// The value of a compile-time constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ConstValue {
    Nil,
    Bool(bool),
    Number(Numeral),
    Str(Symbol),
}

impl ExpDesc {
    pub(super) const fn new(kind: Kind) -> Self {
        ExpDesc {
            kind,
            if_true: JumpList::EMPTY,
            if_false: JumpList::EMPTY,
        }
    }

    pub(super) fn has_jumps(&self) -> bool {
        self.if_true != self.if_false
    }

    /// Whether it is a call or `...`, which may give any number of values.
    pub(super) fn is_multi(&self) -> bool {
        matches!(self.kind, Kind::Call(_) | Kind::Vararg(_))
    }

    pub(super) fn is_indexed(&self) -> bool {
        matches!(
            self.kind,
            Kind::Indexed { .. }
                | Kind::IndexedUp { .. }
                | Kind::IndexedInt { .. }
                | Kind::IndexedStr { .. }
        )
    }

    /// Whether something can be assigned to it (or could, if it were not constant).
    pub(super) fn is_variable(&self) -> bool {
        self.is_indexed()
            || matches!(
                self.kind,
                Kind::Local { .. } | Kind::Upvalue(_) | Kind::CompileTime(_)
            )
    }

    /// The number it is, if it's a numeral.
    pub(super) fn numeral(&self) -> Option<Numeral> {
        match self.kind {
            _ if self.has_jumps() => None,
            Kind::Int(value) => Some(Numeral::Int(value)),
            Kind::Float(value) => Some(Numeral::Float(value)),
            _ => None,
        }
    }

    /// The integer it is, if it's an integer numeral.
    pub(super) fn int(&self) -> Option<i64> {
        match self.numeral() {
            Some(Numeral::Int(value)) => Some(value),
            _ => None,
        }
    }
}

impl From<ConstValue> for Kind {
    fn from(value: ConstValue) -> Kind {
        match value {
            ConstValue::Nil => Kind::Nil,
            ConstValue::Bool(true) => Kind::True,
            ConstValue::Bool(false) => Kind::False,
            ConstValue::Number(number) => number.into(),
            ConstValue::Str(symbol) => Kind::Str(symbol),
        }
    }
}

impl From<Numeral> for Kind {
    fn from(number: Numeral) -> Kind {
        match number {
            Numeral::Int(value) => Kind::Int(value),
            Numeral::Float(value) => Kind::Float(value),
        }
    }
}
