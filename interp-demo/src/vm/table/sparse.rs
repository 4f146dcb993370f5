//! Large tables of which little is left.
//!
//! A table's array part does not shrink while nothing is added: a program that has cleared most of a large one may be in
//! the middle of a traversal. So the part stays, but the memory of those of its OS pages that hold only nil is given back
//! when the program asks for a full collection: nil is zero bits, as such pages are when they are used again.

use super::{Table, Value};
use crate::vm::state::Ctx;

/// An array part of so many items is large.
const LARGE_ITEMS: u32 = 16 * 1024;

impl<'gc> Table<'gc> {
    /// Notes that the array part has grown from `old` to `new` items.
    pub(super) fn note_growth(self, ctx: Ctx<'gc>, old: u32, new: u32) {
        if old < LARGE_ITEMS && new >= LARGE_ITEMS {
            // For want of memory it is not noted, and keeps what it has.
            let _ = ctx.large_tables().set(ctx, self.into(), Value::Bool(true));
        }
    }

    fn give_back_nils(self, ctx: Ctx<'gc>) -> usize {
        if self.body().weak().is_some() {
            return 0;
        }
        // SAFETY: zero bits are nil, whose payload means nothing.
        unsafe {
            self.body()
                .array()
                .give_back_blank(ctx.mc, |value| value.is_nil())
        }
    }
}

impl<'gc> Ctx<'gc> {
    /// Gives back what large tables hold for items that are nil. Returns the bytes.
    pub fn give_back_nils(self) -> usize {
        let tables = self.large_tables();
        let (mut bytes, mut key) = (0, Value::Nil);
        while let Ok(Some((next, _))) = tables.next(self, key) {
            if let Value::Table(table) = next {
                bytes += table.give_back_nils(self);
            }
            key = next;
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nil_is_zero_bits() {
        // SAFETY: a value may be any two words with a tag that there is; zero is one.
        let zero = unsafe { std::mem::zeroed::<Value<'static>>() };
        assert!(zero.is_nil());
    }
}
