//! Weak tables: a table whose metatable has a `__mode` keeps all its entries in a map that the collector clears.
//!
//! Such a table has no array part and no hash part, so that the fast paths find nothing and come here. The same goes for
//! the metatable: so a change of its `__mode` is noticed, and told to the tables that it is about. A `__mode` that comes
//! later is noticed when a table gets its next entry (`Ctx::set_index`), or between two cycles (`vm/late_mode.rs`).

use std::cell::Cell;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use sleepy_gc::collect::Trace;
use sleepy_gc::ephemeron::{EphemeronMap, WeakTarget, Weakness};
use sleepy_gc::{Collect, Gc};

use super::{Table, normal_key};
use crate::opcode::Event;
use crate::vm::error::Error;
use crate::vm::state::Ctx;
use crate::vm::value::Value;

/// A value as key or value of a weak table: objects other than strings are weak.
#[derive(Clone, Copy)]
struct Weak<'gc>(Value<'gc>);

// SAFETY: the value is traced.
unsafe impl<'gc> Collect<'gc> for Weak<'gc> {
    const SEND: bool = true;

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
            // Keys of several types that are small numbers differ too: a key that was removed is known by its hash only.
            Value::Str(string) => u64::from(string.hash()) | 1 << 62,
            Value::Int(int) => int as u64,
            Value::Float(float) => !float.to_bits(),
            Value::Bool(v) => u64::from(v) | 1 << 61,
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
        // The map folds both halves into one, so that all bits of the word reach it: the lower half is not to be folded here.
        self.0 = (self.0.rotate_left(32) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

type Map<'gc> = EphemeronMap<'gc, Weak<'gc>, Weak<'gc>, BuildHasherDefault<Mixer>>;

/// The entries of a weak table, or of the metatable of one.
pub(super) struct Entries<'gc> {
    map: Map<'gc>,
    /// The tables whose `__mode` this table's is, as keys; they may have another metatable meanwhile.
    users: Cell<Option<Gc<'gc, Users<'gc>>>>,
}

// SAFETY: both are traced; a store into `users` shades.
unsafe impl<'gc> Collect<'gc> for Entries<'gc> {
    const SEND: bool = true;

    fn trace<T: Trace<'gc>>(&self, cc: &mut T) {
        self.map.trace(cc);
        self.users.get().trace(cc);
    }
}

struct Users<'gc>(Map<'gc>);

// SAFETY: the map is traced.
unsafe impl<'gc> Collect<'gc> for Users<'gc> {
    const SEND: bool = true;

    fn trace<T: Trace<'gc>>(&self, cc: &mut T) {
        self.0.trace(cc);
    }
}

impl<'gc> Entries<'gc> {
    fn get(&self, ctx: Ctx<'gc>, key: Value<'gc>) -> Value<'gc> {
        let value = self.map.get(ctx.mc, &Weak(normal_key(key)));
        value.map_or(Value::Nil, |value| value.0)
    }
}

/// What a `__mode` field asks for.
fn weakness(mode: Value<'_>) -> Weakness {
    let Value::Str(mode) = mode else {
        return Weakness::Neither;
    };
    let has = |letter| mode.as_bytes().contains(&letter);
    match (has(b'k'), has(b'v')) {
        (true, true) => Weakness::Both,
        (true, false) => Weakness::Keys,
        (false, true) => Weakness::Values,
        (false, false) => Weakness::Neither,
    }
}

impl<'gc> Table<'gc> {
    /// Becomes weak, or strong again, as the `__mode` of the metatable says.
    pub(in crate::vm) fn follow_mode(self, ctx: Ctx<'gc>) -> Result<(), Error<'gc>> {
        let metatable = self.metatable();
        let mode = metatable.map_or(Value::Nil, |it| ctx.event_field(it, Event::Mode));
        let weakness = weakness(mode);
        if weakness != Weakness::Neither
            && let Some(metatable) = metatable
        {
            metatable.watch_mode(ctx, self)?;
        }
        match self.body().weak() {
            None if weakness == Weakness::Neither => Ok(()),
            None => self.weaken(ctx, weakness).map(drop),
            Some(entries) => {
                // A table that is strong again keeps the map: that takes no memory.
                if entries.map.weakness() != weakness {
                    entries.map.set_weakness(ctx.mc, weakness);
                }
                Ok(())
            }
        }
    }

    /// Whether a `__mode` may have come to the metatable after the table did.
    #[inline]
    pub(in crate::vm) fn may_have_become_weak(self, metatable: Table<'gc>) -> bool {
        !metatable.is_absent(Event::Mode) && self.body().weak().is_none()
    }

    /// Tells `user` from now on when this metatable's `__mode` changes.
    fn watch_mode(self, ctx: Ctx<'gc>, user: Table<'gc>) -> Result<(), Error<'gc>> {
        let entries = match self.body().weak() {
            Some(entries) => entries,
            None => self.weaken(ctx, Weakness::Neither)?,
        };
        let users = match entries.users.get() {
            Some(users) => users,
            None => {
                let hasher = BuildHasherDefault::default();
                let users = Map::try_with_hasher(ctx.mc, Weakness::Keys, hasher)
                    .ok()
                    .and_then(|map| Gc::try_new(ctx.mc, Users(map)).ok());
                let Some(users) = users else {
                    return Err(ctx.out_of_memory());
                };
                ctx.mc.shade(&users);
                entries.users.set(Some(users));
                users
            }
        };
        let user = Weak(user.into());
        match users.0.try_insert(ctx.mc, user, Weak(Value::Bool(true))) {
            Ok(_) => Ok(()),
            Err(_) => Err(ctx.out_of_memory()),
        }
    }

    /// The `__mode` of this metatable has changed.
    fn tell_mode(self, ctx: Ctx<'gc>, users: Gc<'gc, Users<'gc>>) -> Result<(), Error<'gc>> {
        for at in 0..users.0.slots() {
            if let Some((Weak(Value::Table(user)), _)) = users.0.entry_at(ctx.mc, at)
                && user.metatable().is_some_and(|it| it.ptr_eq(self))
            {
                // All users are weak tables or have been, so their form does not change.
                user.follow_mode(ctx)?;
            }
        }
        Ok(())
    }

    /// Moves all entries into a map.
    fn weaken(
        self,
        ctx: Ctx<'gc>,
        weakness: Weakness,
    ) -> Result<Gc<'gc, Entries<'gc>>, Error<'gc>> {
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
        let entries = Entries {
            map,
            users: Cell::new(None),
        };
        let Ok(entries) = Gc::try_new(ctx.mc, entries) else {
            return Err(ctx.out_of_memory());
        };
        self.clear_parts(ctx);
        ctx.mc.shade(&entries);
        self.body().set_weak(entries);
        Ok(entries)
    }

    /// The value of a key that neither part holds.
    #[inline]
    pub(super) fn get_weak(self, ctx: Ctx<'gc>, key: Value<'gc>) -> Value<'gc> {
        match self.body().weak() {
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
        self.note_new_key(ctx, key);
        if value.is_nil() {
            entries.map.remove(ctx.mc, &Weak(key));
        } else if entries
            .map
            .try_insert(ctx.mc, Weak(key), Weak(value))
            .is_err()
        {
            return Err(ctx.out_of_memory());
        }
        match (entries.users.get(), key) {
            (Some(users), Value::Str(name)) if name == ctx.state.event_name(Event::Mode) => {
                self.tell_mode(ctx, users)
            }
            _ => Ok(()),
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
            entries.map.index_of(&Weak(normal_key(key)))? + 1
        };
        let mut places = start..entries.map.slots();
        Some(places.find_map(|at| {
            let (key, value) = entries.map.entry_at(ctx.mc, at)?;
            Some((key.0, value.0))
        }))
    }
}
