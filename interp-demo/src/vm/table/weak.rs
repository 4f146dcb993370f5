//! Weak tables: a table whose metatable has a `__mode` keeps all its entries in a map that the collector clears.
//!
//! Such a table has no array part and no hash part, so that the fast paths find nothing and come here.

use std::hash::{BuildHasherDefault, Hash, Hasher};

use sleepy_gc::collect::Trace;
use sleepy_gc::ephemeron::{EphemeronMap, WeakTarget, Weakness};
use sleepy_gc::{Collect, Gc};

use super::{Table, normal_key};
use crate::vm::error::Error;
use crate::vm::state::Ctx;
use crate::vm::value::Value;

/// A value as key or value of a weak table: objects other than strings are weak.
#[derive(Clone, Copy)]
struct Weak<'gc>(Value<'gc>);

// SAFETY: the value is traced.
unsafe impl<'gc> Collect<'gc> for Weak<'gc> {
    fn trace<T: Trace<'gc>>(&self, cc: &mut T) {
        self.0.trace(cc);
    }
}

// SAFETY: a value owns at most one pointer, that of the object it refers to; the answer depends on the value alone.
unsafe impl<'gc> WeakTarget<'gc> for Weak<'gc> {
    fn weak_target(&self) -> Option<Gc<'gc, ()>> {
        self.0.weak_object()
    }
}

impl PartialEq for Weak<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self.0, other.0) {
            (Value::Int(_), Value::Float(_)) | (Value::Float(_), Value::Int(_)) => false,
            (a, b) => a.raw_equals(b),
        }
    }
}

// Keys are never NaN, and floats with an integer's value are integers.
impl Eq for Weak<'_> {}

impl Hash for Weak<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(match self.0 {
            Value::Str(string) => u64::from(string.hash()),
            Value::Int(int) => int as u64,
            Value::Float(float) => float.to_bits(),
            Value::Bool(v) => u64::from(v),
            object => object.address().map_or(0, |address| address.addr() as u64),
        });
    }
}

/// Mixes the one word that is hashed.
#[derive(Default)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, word: u64) {
        let mixed = (self.0 ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

/// The entries of a weak table.
pub(super) struct Entries<'gc>(EphemeronMap<'gc, Weak<'gc>, Weak<'gc>, BuildHasherDefault<Mixer>>);

// SAFETY: the map is traced.
unsafe impl<'gc> Collect<'gc> for Entries<'gc> {
    fn trace<T: Trace<'gc>>(&self, cc: &mut T) {
        self.0.trace(cc);
    }
}

impl<'gc> Entries<'gc> {
    fn get(&self, ctx: Ctx<'gc>, key: Value<'gc>) -> Value<'gc> {
        let value = self.0.get(ctx.mc, &Weak(normal_key(key)));
        value.map_or(Value::Nil, |value| value.0)
    }
}

/// What a `__mode` field asks for.
fn weakness(mode: Value<'_>) -> Option<Weakness> {
    let Value::Str(mode) = mode else { return None };
    let has = |letter| mode.as_bytes().contains(&letter);
    match (has(b'k'), has(b'v')) {
        (true, true) => Some(Weakness::Both),
        (true, false) => Some(Weakness::Keys),
        (false, true) => Some(Weakness::Values),
        (false, false) => None,
    }
}

impl<'gc> Table<'gc> {
    /// Becomes weak, or strong again, as the `__mode` of a new metatable says.
    pub(in crate::vm) fn set_mode(self, ctx: Ctx<'gc>, mode: Value<'gc>) -> Result<(), Error<'gc>> {
        match (self.body().weak.get(), weakness(mode)) {
            (None, None) => Ok(()),
            (Some(entries), Some(weakness)) => {
                if entries.0.weakness() != weakness {
                    entries.0.set_weakness(ctx.mc, weakness);
                }
                Ok(())
            }
            (None, Some(weakness)) => self.weaken(ctx, weakness),
            (Some(entries), None) => {
                self.body().weak.set(None);
                for (key, value) in entries.0.iter(ctx.mc) {
                    self.set(ctx, key.0, value.0)?;
                }
                Ok(())
            }
        }
    }

    fn weaken(self, ctx: Ctx<'gc>, weakness: Weakness) -> Result<(), Error<'gc>> {
        let map = EphemeronMap::try_with_hasher(ctx.mc, weakness, BuildHasherDefault::default());
        let Ok(map) = map else {
            return Err(ctx.out_of_memory());
        };
        let mut key = Value::Nil;
        while let Some((next, value)) = self.next(ctx, key)? {
            if map.try_insert(ctx.mc, Weak(next), Weak(value)).is_err() {
                return Err(ctx.out_of_memory());
            }
            key = next;
        }
        let Ok(entries) = Gc::try_new(ctx.mc, Entries(map)) else {
            return Err(ctx.out_of_memory());
        };
        self.clear_parts(ctx);
        ctx.mc.shade(&entries);
        self.body().weak.set(Some(entries));
        Ok(())
    }

    /// The value of a key that neither part holds.
    #[inline]
    pub(super) fn get_weak(self, ctx: Ctx<'gc>, key: Value<'gc>) -> Value<'gc> {
        match self.body().weak.get() {
            None => Value::Nil,
            Some(entries) => entries.get(ctx, key),
        }
    }

    /// Sets a key of a weak table.
    pub(super) fn set_weak(
        self,
        ctx: Ctx<'gc>,
        entries: Gc<'gc, Entries<'gc>>,
        key: Value<'gc>,
        value: Value<'gc>,
    ) -> Result<(), Error<'gc>> {
        self.body().absent.set(0);
        if value.is_nil() {
            entries.0.remove(ctx.mc, &Weak(key));
            return Ok(());
        }
        match entries.0.try_insert(ctx.mc, Weak(key), Weak(value)) {
            Ok(_) => Ok(()),
            Err(_) => Err(ctx.out_of_memory()),
        }
    }

    /// The entry after that of `key`; `None`: the key is not there.
    pub(super) fn next_weak(
        self,
        ctx: Ctx<'gc>,
        entries: Gc<'gc, Entries<'gc>>,
        key: Value<'gc>,
    ) -> Option<Option<(Value<'gc>, Value<'gc>)>> {
        let start = if key.is_nil() {
            0
        } else {
            entries.0.index_of(&Weak(normal_key(key)))? + 1
        };
        let mut places = start..entries.0.slots();
        Some(places.find_map(|at| {
            let (key, value) = entries.0.entry_at(ctx.mc, at)?;
            Some((key.0, value.0))
        }))
    }
}
