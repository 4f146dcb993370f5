//! The nodes of a table's hash part: 24 bytes each, key and value with their tags packed together.
//!
//! ```text
//!   0        8          9        10   12     16        24
//!   [ value  | value tag | key tag | –  | next | key    ]
//! ```
//!
//! Collisions are chained through `next`, a distance in nodes (0: the end). This file alone knows the layout of a
//! [`Value`] in memory.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use sleepy_gc::Collect;
use sleepy_gc::collect::Trace;

use crate::vm::string::LuaStr;
use crate::vm::value::Value;

/// The bytes of a payload; those that its tag does not use may be uninitialised.
type Payload = MaybeUninit<u64>;

/// A value taken apart. `Value` is `repr(C, u64)`: the tag, then the union of the payloads at its alignment.
#[derive(Clone, Copy)]
#[repr(C)]
struct Parts {
    tag: u64,
    payload: Payload,
}

const _: () = assert!(size_of::<Parts>() == size_of::<Value<'static>>());
const _: () = assert!(align_of::<Parts>() == align_of::<Value<'static>>());

#[inline(always)]
fn split(value: Value<'_>) -> Parts {
    // SAFETY: both have the same size; `Parts` is what `repr(C, u64)` defines `Value` to be, with a payload whose bytes
    // may be anything.
    unsafe { std::mem::transmute::<Value<'_>, Parts>(value) }
}

/// # Safety
///
/// The parts are those of a value of an arena in which `'gc` holds, and objects it refers to are alive.
#[inline(always)]
unsafe fn join<'gc>(tag: u8, payload: Payload) -> Value<'gc> {
    // SAFETY: by the caller's contract these are the parts of a value.
    unsafe {
        std::mem::transmute::<Parts, Value<'gc>>(Parts {
            tag: u64::from(tag),
            payload,
        })
    }
}

/// The tags, as `repr(C, u64)` numbers the variants of [`Value`].
const TAG_NIL: u8 = 0;
const TAG_INT: u8 = 2;
const TAG_STR: u8 = 4;

/// An entry of the hash part.
///
/// An entry without a value is free, or its key was removed. Such a key is not kept alive: its payload may dangle, or be
/// the address of another object by now, so it is only compared. A key that is found in this way is as good as the
/// one that was removed: it has the same address, and its chain leads here (but see `TableBody::would_hide`).
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Node {
    value: Payload,
    value_tag: u8,
    key_tag: u8,
    next: i32,
    key: Payload,
}

const _: () = assert!(size_of::<Node>() == 24);

/// What the buffer of a hash part has before its nodes.
pub(super) struct NodesHeader {
    /// Free nodes are looked for below this one.
    pub last_free: Cell<u32>,
}

// SAFETY: holds no pointer.
unsafe impl<'gc> Collect<'gc> for NodesHeader {
    const NEEDS_TRACE: bool = false;
    const SEND: bool = true;
}

/// The node that all empty hash parts share. It is never written.
struct Shared(Node);

// SAFETY: nothing ever writes to the shared node: all writers look first whether a hash part is the shared one.
unsafe impl Sync for Shared {}

static EMPTY: Shared = Shared(Node::FREE);

impl Node {
    /// An entry without key and value.
    pub const FREE: Node = Node {
        value: MaybeUninit::new(0),
        value_tag: TAG_NIL,
        key_tag: TAG_NIL,
        next: 0,
        key: MaybeUninit::new(0),
    };

    /// The shared node of empty hash parts.
    #[inline(always)]
    pub fn shared() -> NonNull<Node> {
        NonNull::from(&EMPTY.0)
    }

    /// The value; nil means that the entry is free or its key removed.
    #[inline(always)]
    pub fn value<'gc>(&self) -> Value<'gc> {
        // SAFETY: set by `set_value` of the same table; the trace keeps it alive.
        unsafe { join(self.value_tag, self.value) }
    }

    #[inline(always)]
    pub fn has_value(&self) -> bool {
        self.value_tag != TAG_NIL
    }

    /// Changes the value; the caller has run the barrier.
    #[inline(always)]
    pub fn set_value(&mut self, value: Value<'_>) {
        let parts = split(value);
        self.value = parts.payload;
        self.value_tag = parts.tag as u8;
    }

    /// Whether no key was ever put here.
    #[inline]
    pub fn has_no_key(&self) -> bool {
        self.key_tag == TAG_NIL
    }

    /// The key, if the entry has a value.
    #[inline]
    pub fn key<'gc>(&self) -> Option<Value<'gc>> {
        // SAFETY: set by `set_key` of the same table, and kept alive by the trace because there is a value.
        self.has_value()
            .then(|| unsafe { join(self.key_tag, self.key) })
    }

    /// Changes the key; the caller has run the barrier.
    #[inline]
    pub fn set_key(&mut self, key: Value<'_>) {
        let parts = split(key);
        self.key = parts.payload;
        self.key_tag = parts.tag as u8;
    }

    /// Whether the key is `key`, which is not nil, has no integer's value as a float, and is no short string.
    #[inline(always)]
    pub fn is_key(&self, key: Value<'_>) -> bool {
        let parts = split(key);
        if u64::from(self.key_tag) != parts.tag {
            return false;
        }
        match key {
            // SAFETY: the payload of a boolean is one byte, which is initialised.
            Value::Bool(key) => key == unsafe { self.key.as_ptr().cast::<bool>().read() },
            // SAFETY: numbers and pointers fill the payload. A NaN is no key, and the one float that equals another of
            // different bits, zero, is an integer here.
            _ if unsafe { self.key.assume_init() == parts.payload.assume_init() } => true,
            Value::Str(key) => self.is_equal_string(key),
            _ => false,
        }
    }

    /// Whether the key is a string with the content of `key`, and there is a value.
    #[inline(never)]
    fn is_equal_string(&self, key: LuaStr<'_>) -> bool {
        matches!(self.key(), Some(Value::Str(own)) if key == own)
    }

    /// Whether the key is the integer `key`.
    #[inline(always)]
    pub fn is_int(&self, key: i64) -> bool {
        // SAFETY: an integer's payload is initialised.
        self.key_tag == TAG_INT && unsafe { self.key.assume_init() } == key as u64
    }

    /// Whether the key is the short string `key`.
    #[inline(always)]
    pub fn is_short(&self, key: LuaStr<'_>) -> bool {
        // SAFETY: a string's payload is a pointer, all of whose bytes are initialised.
        self.key_tag == TAG_STR && unsafe { self.key.assume_init() } == key.address().addr() as u64
    }

    #[inline(always)]
    pub fn next(&self) -> i32 {
        self.next
    }

    #[inline]
    pub fn set_next(&mut self, next: i32) {
        self.next = next;
    }
}

// SAFETY: key and value are traced where there is a value; where there is none the key is not used as a pointer any
// more (see the type). The table runs barriers for all stores.
unsafe impl<'gc> Collect<'gc> for Node {
    const SEND: bool = true;

    #[inline]
    fn trace<T: Trace<'gc>>(&self, cc: &mut T) {
        if let Some(key) = self.key() {
            key.trace(cc);
            self.value().trace(cc);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_apart_and_together() {
        let mut node = Node::FREE;
        assert!(!node.has_value() && node.has_no_key());
        node.set_key(Value::Int(-7));
        assert!(
            node.key().is_none(),
            "a key without a value is not to be used"
        );
        node.set_value(Value::Bool(true));
        assert!(matches!(node.key(), Some(Value::Int(-7))));
        assert!(matches!(node.value(), Value::Bool(true)));
        assert!(node.is_int(-7) && !node.is_int(7));
        node.set_value(Value::Float(0.5));
        assert!(matches!(node.value(), Value::Float(f) if f == 0.5));
        node.set_key(Value::Bool(false));
        assert!(node.is_key(Value::Bool(false)) && !node.is_key(Value::Bool(true)));
        node.set_key(Value::Float(1.5));
        assert!(node.is_key(Value::Float(1.5)) && !node.is_key(Value::Int(1)));
        assert_eq!(split(Value::Int(0)).tag, u64::from(TAG_INT));
    }
}
