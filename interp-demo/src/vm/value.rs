//! A Lua value: 16 bytes, a tag and a payload.
//!
//! Values are `Copy`; those that refer to objects hold one pointer into the arena.

use std::mem::MaybeUninit;

use sleepy_gc::collect::Trace;
use sleepy_gc::{Collect, Gc};

use super::closure::Closure;
use super::native::Native;
use super::string::LuaStr;
use super::table::Table;
use super::thread::Thread;
use super::userdata::UserData;

/// Any Lua value.
///
/// The tag takes eight bytes, so that a copy is two moves of a word: with a narrow tag the compiler copies the bytes
/// behind it in overlapping pieces, which the processor can't forward from one to the next.
#[derive(Clone, Copy, Default)]
#[repr(C, u64)]
pub enum Value<'gc> {
    /// `nil`.
    #[default]
    Nil,
    /// `true` or `false`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A string of any bytes.
    Str(LuaStr<'gc>),
    /// A table.
    Table(Table<'gc>),
    /// A function written in Lua.
    Closure(Closure<'gc>),
    /// A function written in Rust.
    Native(Native<'gc>),
    /// An object of the host.
    UserData(UserData<'gc>),
    /// A coroutine.
    Thread(Thread<'gc>),
    /// A light userdata: an address that stands for itself.
    Light(usize),
}

const _: () = assert!(size_of::<Value<'static>>() == 16);

/// The type of a value, as `type` tells it; also the index of per-type metatables.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(u8)]
pub enum Type {
    /// `nil`.
    Nil,
    /// A boolean.
    Boolean,
    /// An integer or a float.
    Number,
    /// A string.
    String,
    /// A table.
    Table,
    /// A function, in Lua or in Rust.
    Function,
    /// An object of the host.
    UserData,
    /// A coroutine.
    Thread,
}

impl Type {
    /// How many types there are.
    pub const COUNT: usize = 8;

    /// The name that `type` returns.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Type::Nil => "nil",
            Type::Boolean => "boolean",
            Type::Number => "number",
            Type::String => "string",
            Type::Table => "table",
            Type::Function => "function",
            Type::UserData => "userdata",
            Type::Thread => "thread",
        }
    }
}

impl<'gc> Value<'gc> {
    /// A copy of the value at `place`, by two loads of a word. Registers are written by two stores, and a processor does
    /// not forward two stores to one wide load: where a value has just been written, that load would wait for both.
    ///
    /// # Safety
    ///
    /// `place` points at a value.
    #[inline(always)]
    pub(super) unsafe fn load(place: *const Value<'gc>) -> Value<'gc> {
        let words = place.cast::<MaybeUninit<u64>>();
        // SAFETY: a value is two words, by its representation, whose bytes may be anything; both are read from one value
        // that nothing changes meanwhile. Volatile, so that the two loads are not made one.
        unsafe {
            let words = [words.read_volatile(), words.add(1).read_volatile()];
            std::mem::transmute::<[MaybeUninit<u64>; 2], Value<'gc>>(words)
        }
    }

    /// Puts the value at `place`, by two stores of a word: the other half of [`Value::load`]. A value that is copied as a
    /// whole gets a place in memory of its own on the way, written by words and read wide, with the wait described there.
    ///
    /// # Safety
    ///
    /// `place` is that of a value and may be written to.
    #[inline(always)]
    pub(super) unsafe fn store(place: *mut Value<'gc>, value: Value<'gc>) {
        let to = place.cast::<MaybeUninit<u64>>();
        // SAFETY: a value is two words, by its representation, and `place` has room for both. Volatile, so that the two
        // stores are not made one.
        unsafe {
            let words = std::mem::transmute::<Value<'gc>, [MaybeUninit<u64>; 2]>(value);
            to.write_volatile(words[0]);
            to.add(1).write_volatile(words[1]);
        }
    }

    /// The value's type.
    #[inline]
    #[must_use]
    pub const fn kind(self) -> Type {
        match self {
            Value::Nil => Type::Nil,
            Value::Bool(_) => Type::Boolean,
            Value::Int(_) | Value::Float(_) => Type::Number,
            Value::Str(_) => Type::String,
            Value::Table(_) => Type::Table,
            Value::Closure(_) | Value::Native(_) => Type::Function,
            Value::UserData(_) | Value::Light(_) => Type::UserData,
            Value::Thread(_) => Type::Thread,
        }
    }

    /// The name of the value's type.
    #[must_use]
    pub const fn type_name(self) -> &'static str {
        self.kind().name()
    }

    /// Whether this is `nil`.
    #[inline(always)]
    #[must_use]
    pub const fn is_nil(self) -> bool {
        matches!(self, Value::Nil)
    }

    /// Whether a condition takes this as false: `nil` and `false`.
    #[inline(always)]
    #[must_use]
    pub const fn is_falsy(self) -> bool {
        matches!(self, Value::Nil | Value::Bool(false))
    }

    /// Whether a condition takes this as true.
    #[inline(always)]
    #[must_use]
    pub const fn is_truthy(self) -> bool {
        !self.is_falsy()
    }

    /// Whether this is a function, in Lua or in Rust.
    #[inline]
    #[must_use]
    pub const fn is_function(self) -> bool {
        matches!(self, Value::Closure(_) | Value::Native(_))
    }

    /// The table, if this is one.
    #[inline]
    #[must_use]
    pub const fn as_table(self) -> Option<Table<'gc>> {
        match self {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The string, if this is one; numbers are not converted.
    #[inline]
    #[must_use]
    pub const fn as_str(self) -> Option<LuaStr<'gc>> {
        match self {
            Value::Str(string) => Some(string),
            _ => None,
        }
    }

    /// Equality without metamethods: numbers by their mathematical value, strings by content, other objects by identity.
    #[inline]
    #[must_use]
    pub fn raw_equals(self, other: Value<'gc>) -> bool {
        match (self, other) {
            (Value::Nil, Value::Nil) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::Float(a), Value::Float(b)) => a == b,
            (Value::Int(a), Value::Float(b)) | (Value::Float(b), Value::Int(a)) => {
                super::number::float_to_int(b) == Some(a)
            }
            (Value::Str(a), Value::Str(b)) => a == b,
            (Value::Light(a), Value::Light(b)) => a == b,
            _ => self.same_object(other),
        }
    }

    /// Whether both refer to the same object that is not a string.
    #[inline]
    #[must_use]
    pub fn same_object(self, other: Value<'gc>) -> bool {
        match (self, other) {
            (Value::Table(a), Value::Table(b)) => a.ptr_eq(b),
            (Value::Closure(a), Value::Closure(b)) => a.ptr_eq(b),
            (Value::Native(a), Value::Native(b)) => a.ptr_eq(b),
            (Value::UserData(a), Value::UserData(b)) => a.ptr_eq(b),
            (Value::Thread(a), Value::Thread(b)) => a.ptr_eq(b),
            _ => false,
        }
    }

    /// The object that a weak table may lose; none for strings, which count as plain values there.
    pub(super) fn weak_object(self) -> Option<Gc<'gc, ()>> {
        match self {
            Value::Nil
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Float(_)
            | Value::Str(_)
            | Value::Light(_) => None,
            Value::Table(v) => Some(v.erase()),
            Value::Closure(v) => Some(v.erase()),
            Value::Native(v) => Some(v.erase()),
            Value::UserData(v) => Some(v.erase()),
            Value::Thread(v) => Some(v.erase()),
        }
    }

    /// The object that the value refers to, a string too: one comparison and one load, as all have their pointer at one place.
    #[inline(always)]
    fn object(self) -> Option<Gc<'gc, ()>> {
        match self {
            Value::Nil | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Light(_) => None,
            Value::Str(v) => Some(v.erase()),
            Value::Table(v) => Some(v.erase()),
            Value::Closure(v) => Some(v.erase()),
            Value::Native(v) => Some(v.erase()),
            Value::UserData(v) => Some(v.erase()),
            Value::Thread(v) => Some(v.erase()),
        }
    }

    /// The address that `%p` and `tostring` show, for values that are objects.
    #[must_use]
    pub fn address(self) -> Option<*const ()> {
        match self {
            Value::Nil | Value::Bool(_) | Value::Int(_) | Value::Float(_) => None,
            Value::Light(v) => Some(std::ptr::without_provenance(v)),
            Value::Str(v) => Some(v.address()),
            Value::Table(v) => Some(v.address()),
            Value::Closure(v) => Some(v.address()),
            Value::Native(v) => Some(v.address()),
            Value::UserData(v) => Some(v.address()),
            Value::Thread(v) => Some(v.address()),
        }
    }
}

// SAFETY: every variant that holds a pointer traces it; there is no `Drop`; there is no interior mutability here.
unsafe impl<'gc> Collect<'gc> for Value<'gc> {
    const SEND: bool = true;

    // Inline: marking calls it for every value that it meets.
    #[inline(always)]
    fn trace<T: Trace<'gc>>(&self, cc: &mut T) {
        if let Some(object) = self.object() {
            cc.trace_gc(object);
        }
    }
}

impl From<bool> for Value<'_> {
    fn from(v: bool) -> Self {
        Value::Bool(v)
    }
}

impl From<i64> for Value<'_> {
    fn from(v: i64) -> Self {
        Value::Int(v)
    }
}

impl From<f64> for Value<'_> {
    fn from(v: f64) -> Self {
        Value::Float(v)
    }
}

macro_rules! value_from {
    ($($variant:ident($type:ident)),*) => {$(
        impl<'gc> From<$type<'gc>> for Value<'gc> {
            fn from(v: $type<'gc>) -> Self {
                Value::$variant(v)
            }
        }
    )*};
}

value_from!(
    Str(LuaStr),
    Table(Table),
    Closure(Closure),
    Native(Native),
    UserData(UserData),
    Thread(Thread)
);

impl<'gc, T: Into<Value<'gc>>> From<Option<T>> for Value<'gc> {
    fn from(v: Option<T>) -> Self {
        v.map_or(Value::Nil, Into::into)
    }
}
