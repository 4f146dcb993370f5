//! Tables: an array part for the keys 1 … n and a hash part for all others.
//!
//! The array part holds plain values. The hash part is a chained scatter table with Brent's variation, as in PUC Lua:
//! a colliding entry that is not in its main position gives way, so that every entry of a chain is reached from the main
//! position of its key. It grows (and everything is laid out anew) when no free node is left. Small hash parts have any
//! number of nodes, such that their buffer fills its cell: a string's main position is its hash, taken for a fraction,
//! of the number of nodes (Lemire, "Fast random integer generation in an interval",
//! <https://arxiv.org/abs/1805.10941>), which costs what a mask does. `rehash.rs` grows the two parts, `sizes.rs` decides how
//! large they are, `node.rs` knows how an entry is packed, `walk.rs` goes through the entries.
//!
//! The body has 40 bytes, the buffers 8 and their nodes (24 each) or items (16 each). A weak table has its entries elsewhere, and the
//! pointer to them in the place of the array part.
//!
//! Invariants:
//! - stores run a forward barrier: what is stored is shaded while the collector marks, and so is what moves;
//! - `absent` has a bit for each event that is known not to be a key (tables are metatables too): the bits are cleared
//!   when any entry gets a value that had none.

mod node;
mod rehash;
mod sizes;
mod sparse;
mod walk;
mod weak;

use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use sleepy_gc::collect::Trace;
use sleepy_gc::collections::{GcBuffer, GcVec};
use sleepy_gc::{Collect, Gc, Mutation};

use self::node::{Node, NodesHeader};
use super::error::Error;
use super::number::float_to_int;
use super::state::Ctx;
use super::string::LuaStr;
use super::value::Value;
use crate::opcode::Event;

/// A table.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Table<'gc>(Gc<'gc, TableBody<'gc>>);

/// The object behind a [`Table`].
pub struct TableBody<'gc> {
    /// The hash part: the elements of a buffer of the table's own, or the shared node.
    nodes: Cell<NonNull<Node>>,
    items: Items<'gc>,
    metatable: Cell<Option<Table<'gc>>>,
    array_len: Cell<u32>,
    node_count: Cell<u32>,
    /// Where the border was found last.
    border: Cell<u32>,
    /// Events that are known not to be keys, one bit each.
    absent: Cell<u16>,
    /// The bits of a mask that is not below the number of nodes.
    node_bits: Cell<u8>,
    /// [`FINALIZABLE`] if the table is registered for finalization, [`WEAK`] if it is weak; in units of [`TRAVERSAL`] how many traversals
    /// may be under way.
    marks: Cell<u8>,
}

const _: () = assert!(size_of::<TableBody<'static>>() == 40);

/// What [`WEAK`] tells apart.
union Items<'gc> {
    /// The array part; its length is `array_len`.
    array: ManuallyDrop<GcVec<'gc, Value<'gc>>>,
    /// All entries of a weak table: both parts are empty then.
    weak: ManuallyDrop<Cell<Option<Gc<'gc, weak::Entries<'gc>>>>>,
}

/// The buffer of a hash part.
type Nodes<'gc> = GcBuffer<'gc, NodesHeader, Node>;

// SAFETY: both parts (or the entries) and the metatable are traced; all stores shade what they store while the collector marks.
unsafe impl<'gc> Collect<'gc> for TableBody<'gc> {
    const SEND: bool = true;

    fn trace<T: Trace<'gc>>(&self, cc: &mut T) {
        self.metatable.get().trace(cc);
        match self.weak() {
            None => self.array().trace(cc),
            Some(entries) => entries.trace(cc),
        }
        if !self.has_no_nodes() {
            self.buffer().trace(cc);
        }
    }
}

// SAFETY: the one pointer is traced.
unsafe impl<'gc> Collect<'gc> for Table<'gc> {
    const SEND: bool = true;

    #[inline]
    fn trace<T: Trace<'gc>>(&self, cc: &mut T) {
        self.0.trace(cc);
    }
}

impl<'gc> TableBody<'gc> {
    #[inline(always)]
    fn has_no_nodes(&self) -> bool {
        self.nodes.get() == Node::shared()
    }

    /// The buffer of the hash part, which is not the shared node.
    #[inline(always)]
    fn buffer(&self) -> Nodes<'gc> {
        debug_assert!(!self.has_no_nodes());
        // SAFETY: `nodes` is where the elements of a buffer of the table are, or the shared node, which it is not here.
        unsafe { Nodes::from_elements(self.nodes.get()) }
    }

    /// The entries of a weak table.
    #[inline(always)]
    fn weak(&self) -> Option<Gc<'gc, weak::Entries<'gc>>> {
        if self.marks.get() & WEAK == 0 {
            return None;
        }
        // SAFETY: `WEAK` says which it is.
        unsafe { self.items.weak.get() }
    }

    /// The array part of a table that is not weak.
    #[inline(always)]
    fn array(&self) -> &GcVec<'gc, Value<'gc>> {
        debug_assert!(self.marks.get() & WEAK == 0);
        // SAFETY: only a weak table has something else in this place, and whoever asks has found that there are items or
        // that it is not weak.
        unsafe { &self.items.array }
    }

    /// Makes the table, whose parts are empty, a weak one. The caller runs the barrier.
    fn set_weak(&self, entries: Gc<'gc, weak::Entries<'gc>>) {
        debug_assert!(self.array_len.get() == 0 && self.has_no_nodes());
        self.marks.set(self.marks.get() | WEAK);
        // SAFETY: both are cells of a pointer that may be missing, which any of them holds in the same way; `WEAK` says from now
        // on which it is.
        unsafe { self.items.weak.set(Some(entries)) };
    }

    #[inline(always)]
    fn node_count(&self) -> u32 {
        self.node_count.get()
    }

    /// A node. References to nodes are not kept while the table changes.
    #[inline(always)]
    fn node(&self, i: u32) -> &Node {
        debug_assert!(i < self.node_count());
        // SAFETY: within the hash part; see `node_mut`.
        unsafe { self.nodes.get().add(i as usize).as_ref() }
    }

    #[inline(always)]
    fn change_node(&self, i: u32, change: impl FnOnce(&mut Node)) {
        debug_assert!(i < self.node_count() && !self.has_no_nodes());
        // SAFETY: within the hash part, which is not the shared node: only keys that are there are changed, and the
        // shared node has none; `insert` looks first. No other reference to a node is alive: `node` is used in short
        // expressions only, and `change` does not reach the table.
        change(unsafe { self.nodes.get().add(i as usize).as_mut() });
    }

    /// Where item `i` (from 0) of the array part is, which has one.
    #[inline(always)]
    fn place(&self, i: u32) -> *mut Value<'gc> {
        debug_assert!(i < self.array_len.get());
        // SAFETY: `array_len`, which is above `i`, is the length of the array part.
        unsafe {
            let array = self.array();
            std::hint::assert_unchecked(!array.is_empty());
            array.as_ptr().add(i as usize).cast_mut()
        }
    }

    /// Item `i` (from 0) of the array part.
    #[inline(always)]
    fn item(&self, i: u32) -> Value<'gc> {
        // SAFETY: there is an item, and nothing changes it meanwhile.
        unsafe { Value::load(self.place(i)) }
    }

    #[inline(always)]
    fn set_item(&self, ctx: Ctx<'gc>, i: u32, value: Value<'gc>) {
        self.array().shade_in(ctx.mc, &value);
        // SAFETY: there is an item; the barrier has been run, and no reference to an item is ever held.
        unsafe { Value::store(self.place(i), value) };
    }

    /// The node in which the chain of `key` begins.
    #[inline]
    fn main_position(&self, key: Value<'gc>) -> u32 {
        match key {
            Value::Str(string) if string.is_short() => self.hash_position(string.short_hash()),
            _ => self.other_position(key),
        }
    }

    fn other_position(&self, key: Value<'gc>) -> u32 {
        let number = match key {
            Value::Str(string) => return self.hash_position(string.hash()),
            Value::Int(int) => int as u64,
            Value::Nil => 0,
            Value::Bool(v) => u64::from(v),
            Value::Float(v) => float_number(v),
            Value::Light(v) => v as u64,
            Value::Table(v) => address_number(v.address()),
            Value::Closure(v) => address_number(v.address()),
            Value::Native(v) => address_number(v.address()),
            Value::UserData(v) => address_number(v.address()),
            Value::Thread(v) => address_number(v.address()),
        };
        self.int_position(number as i64)
    }

    /// The node of a string's hash, all bits of which are as good as random.
    #[inline(always)]
    fn hash_position(&self, hash: u32) -> u32 {
        ((u64::from(hash) * u64::from(self.node_count())) >> 32) as u32
    }

    /// The node of an integer: consecutive ones get consecutive nodes, and so do those a power of two apart, as what
    /// lies above the bits of the mask is added to them. What is beyond the last node begins at the first again.
    #[inline(always)]
    fn int_position(&self, key: i64) -> u32 {
        let folded = (key as u64 ^ (key as u64 >> 32)) as u32;
        let bits = self.node_bits.get() & 31;
        let masked = folded.wrapping_add(folded >> bits) & ((1 << bits) - 1);
        masked.min(masked.wrapping_sub(self.node_count()))
    }

    #[inline(always)]
    fn find_short(&self, key: LuaStr<'gc>) -> Option<u32> {
        let mut at = self.hash_position(key.short_hash());
        loop {
            let node = self.node(at);
            if node.is_short(key) {
                return Some(at);
            }
            let next = node.next();
            if next == 0 {
                return None;
            }
            at = at.wrapping_add_signed(next);
        }
    }

    #[inline]
    fn find_int(&self, key: i64) -> Option<u32> {
        let mut at = self.int_position(key);
        loop {
            let node = self.node(at);
            if node.is_int(key) {
                return Some(at);
            }
            let next = node.next();
            if next == 0 {
                return None;
            }
            at = at.wrapping_add_signed(next);
        }
    }

    /// The entry of a key that is neither a short string nor a float with an integer's value; one that was removed only if
    /// there is no other: a long string may have both, as it need not be the object that was the key before.
    fn find_any(&self, key: Value<'gc>) -> Option<u32> {
        let mut at = self.main_position(key);
        let mut removed = None;
        loop {
            let node = self.node(at);
            if node.is_key(key) {
                if node.has_value() {
                    return Some(at);
                }
                removed = removed.or(Some(at));
            }
            let next = node.next();
            if next == 0 {
                return removed;
            }
            at = at.wrapping_add_signed(next);
        }
    }

    fn find(&self, key: Value<'gc>) -> Option<u32> {
        match key {
            Value::Str(string) if string.is_short() => self.find_short(string),
            Value::Int(int) => self.find_int(int),
            Value::Nil => None,
            _ => self.find_any(key),
        }
    }
}

/// A number for a float, such that floats at equal distances get numbers at equal distances: those above the lowest bit
/// that is set. What is made in order is found in order then, which a large table's way through the caches wants.
#[inline(always)]
const fn float_number(float: f64) -> u64 {
    let bits = float.to_bits();
    (bits >> (bits.trailing_zeros() & 63)) >> 1
}

/// The same for an object: cells begin at multiples of 16.
#[inline(always)]
fn address_number(address: *const ()) -> u64 {
    address.addr() as u64 >> 4
}

/// The bit of an event in `absent`; events without a bit are always looked up.
#[inline(always)]
const fn event_bit(event: Event) -> u16 {
    let number = event as u32;
    if number < IS_METATABLE.trailing_zeros() {
        1 << number
    } else {
        0
    }
}

/// Beside the events that are known to be absent: whether the table has been the metatable of another one.
const IS_METATABLE: u16 = 1 << 15;

/// Whether a table is registered for finalization.
const FINALIZABLE: u8 = 1;

/// Whether a table is weak, or was: its entries are in a map.
const WEAK: u8 = 2;

/// A traversal of a table. As many as there is room for stay counted until the table gets a new key.
const TRAVERSAL: u8 = 4;

/// A key as the hash part holds it: a float that has an integer's value is that integer.
#[inline]
fn normal_key(key: Value<'_>) -> Value<'_> {
    match key {
        Value::Float(float) => float_to_int(float).map_or(key, Value::Int),
        _ => key,
    }
}

impl<'gc> Table<'gc> {
    /// An empty table.
    #[must_use]
    pub fn new(ctx: Ctx<'gc>) -> Table<'gc> {
        Self::new_in(ctx.mc)
    }

    /// An empty table, before there is a state.
    pub(super) fn new_in(mc: &Mutation<'gc>) -> Table<'gc> {
        Table(Gc::new(
            mc,
            TableBody {
                nodes: Cell::new(Node::shared()),
                items: Items {
                    array: ManuallyDrop::new(GcVec::new()),
                },
                metatable: Cell::new(None),
                array_len: Cell::new(0),
                node_count: Cell::new(1),
                border: Cell::new(0),
                absent: Cell::new(0),
                node_bits: Cell::new(0),
                marks: Cell::new(0),
            },
        ))
    }

    #[inline(always)]
    fn body(self) -> &'gc TableBody<'gc> {
        self.0.as_ref()
    }

    /// Whether both are the same table.
    #[inline]
    #[must_use]
    pub fn ptr_eq(self, other: Table<'gc>) -> bool {
        Gc::ptr_eq(self.0, other.0)
    }

    /// The object, its type forgotten.
    pub(in crate::vm) fn erase(self) -> Gc<'gc, ()> {
        Gc::erase(self.0)
    }

    /// The object's address.
    #[inline]
    #[must_use]
    pub fn address(self) -> *const () {
        Gc::as_ptr(self.0).cast()
    }

    /// The metatable.
    #[inline(always)]
    #[must_use]
    pub fn metatable(self) -> Option<Table<'gc>> {
        self.body().metatable.get()
    }

    /// Changes the metatable. `__gc` and `__mode` are looked at by [`Ctx::set_metatable`], not here.
    pub(super) fn put_metatable(self, ctx: Ctx<'gc>, metatable: Option<Table<'gc>>) {
        ctx.barrier_in(self.erase(), metatable.into());
        self.body().metatable.set(metatable);
        if let Some(metatable) = metatable {
            let absent = &metatable.body().absent;
            absent.set(absent.get() | IS_METATABLE);
        }
    }

    /// The value of any key, without metamethods.
    #[must_use]
    pub fn get(self, ctx: Ctx<'gc>, key: Value<'gc>) -> Value<'gc> {
        match key {
            Value::Str(string) if string.is_short() => self.get_short(ctx, string),
            Value::Int(int) => self.get_int(ctx, int),
            Value::Nil => Value::Nil,
            Value::Float(float) => match float_to_int(float) {
                Some(int) => self.get_int(ctx, int),
                None => self.get_any(ctx, key),
            },
            _ => self.get_any(ctx, key),
        }
    }

    fn get_any(self, ctx: Ctx<'gc>, key: Value<'gc>) -> Value<'gc> {
        match self.body().find_any(key) {
            Some(at) => self.body().node(at).value(),
            None => self.get_weak(ctx, key),
        }
    }

    /// The value of an integer key, without metamethods.
    #[inline(always)]
    #[must_use]
    pub fn get_int(self, ctx: Ctx<'gc>, key: i64) -> Value<'gc> {
        let index = (key as u64).wrapping_sub(1);
        if index < u64::from(self.body().array_len.get()) {
            self.body().item(index as u32)
        } else {
            self.get_int_slow(ctx, key)
        }
    }

    #[inline(never)]
    fn get_int_slow(self, ctx: Ctx<'gc>, key: i64) -> Value<'gc> {
        match self.body().find_int(key) {
            Some(at) => self.body().node(at).value(),
            None => self.get_weak(ctx, Value::Int(key)),
        }
    }

    /// The value of a key that is a short string, without metamethods.
    #[inline(always)]
    #[must_use]
    pub(super) fn get_short(self, ctx: Ctx<'gc>, key: LuaStr<'gc>) -> Value<'gc> {
        match self.body().find_short(key) {
            Some(at) => self.body().node(at).value(),
            None => self.get_weak(ctx, key.into()),
        }
    }

    /// The value of a key that is a string, without metamethods.
    #[must_use]
    pub fn get_str(self, ctx: Ctx<'gc>, key: LuaStr<'gc>) -> Value<'gc> {
        if key.is_short() {
            self.get_short(ctx, key)
        } else {
            self.get_any(ctx, key.into())
        }
    }

    /// The value of a name, without metamethods: for the host.
    #[must_use]
    pub fn get_name(self, ctx: Ctx<'gc>, key: &str) -> Value<'gc> {
        self.get_str(ctx, LuaStr::new(ctx, key.as_bytes()))
    }

    /// Sets the value of any key, without metamethods.
    ///
    /// # Errors
    ///
    /// If the key is nil or NaN, or the table can't grow.
    pub fn set(self, ctx: Ctx<'gc>, key: Value<'gc>, value: Value<'gc>) -> Result<(), Error<'gc>> {
        let key = match normal_key(key) {
            Value::Int(int) => return self.set_int(ctx, int, value),
            Value::Nil => return Err(ctx.error("table index is nil")),
            Value::Float(float) if float.is_nan() => return Err(ctx.error("table index is NaN")),
            key => key,
        };
        if let Some(entries) = self.body().weak() {
            return self.set_weak(ctx, entries, key, value);
        }
        match self.body().find(key) {
            Some(at) => self.store(ctx, at, key, value),
            None if value.is_nil() => Ok(()),
            None => self.insert(ctx, key, value),
        }
    }

    /// Sets the value of an integer key, without metamethods.
    ///
    /// # Errors
    ///
    /// If the table can't grow.
    pub fn set_int(self, ctx: Ctx<'gc>, key: i64, value: Value<'gc>) -> Result<(), Error<'gc>> {
        let index = (key as u64).wrapping_sub(1);
        if index < u64::from(self.body().array_len.get()) {
            self.body().set_item(ctx, index as u32, value);
            return Ok(());
        }
        if let Some(entries) = self.body().weak() {
            return self.set_weak(ctx, entries, Value::Int(key), value);
        }
        match self.body().find_int(key) {
            Some(at) => self.store(ctx, at, Value::Int(key), value),
            None if value.is_nil() => Ok(()),
            None => self.insert(ctx, Value::Int(key), value),
        }
    }

    /// Sets the value of a name, without metamethods: for the host. A table that can't grow stays as it was.
    pub fn set_name(self, ctx: Ctx<'gc>, key: &str, value: impl Into<Value<'gc>>) {
        let key = LuaStr::new(ctx, key.as_bytes());
        // The key is a string, so the only error is a lack of memory, which the host's next safe point deals with.
        let _ = self.set(ctx, key.into(), value.into());
    }

    /// Changes the value of the entry at `at`, whose key is `key`.
    #[inline]
    fn store(
        self,
        ctx: Ctx<'gc>,
        at: u32,
        key: Value<'gc>,
        value: Value<'gc>,
    ) -> Result<(), Error<'gc>> {
        let body = self.body();
        let buffer = body.buffer();
        if !body.node(at).has_value() && !value.is_nil() {
            self.note_new_key(ctx, key);
            if body.would_hide(at, key) {
                return self.insert_anew(ctx, key, value);
            }
            // The key was not kept alive while there was no value.
            buffer.shade_in(ctx.mc, &key);
        }
        buffer.shade_in(ctx.mc, &value);
        body.change_node(at, |node| node.set_value(value));
        Ok(())
    }

    // The fast paths of the interpreter.

    /// Stores where nothing but the store can happen: the item has a value already, or there is no metatable.
    #[inline(always)]
    pub(super) fn try_store_int(self, ctx: Ctx<'gc>, key: i64, value: Value<'gc>) -> bool {
        let index = (key as u64).wrapping_sub(1);
        let body = self.body();
        if index < u64::from(body.array_len.get())
            && (body.metatable.get().is_none() || !body.item(index as u32).is_nil())
        {
            body.set_item(ctx, index as u32, value);
            return true;
        }
        false
    }

    /// Stores where nothing but the store can happen: the entry is there, and has a value or there is no metatable.
    #[inline(always)]
    pub(super) fn try_store_short(
        self,
        ctx: Ctx<'gc>,
        key: LuaStr<'gc>,
        value: Value<'gc>,
    ) -> bool {
        let body = self.body();
        match body.find_short(key) {
            Some(at) if body.node(at).has_value() => {
                body.buffer().shade_in(ctx.mc, &value);
                body.change_node(at, |node| node.set_value(value));
                true
            }
            Some(at) if body.metatable.get().is_none() => {
                self.store(ctx, at, key.into(), value).is_ok()
            }
            _ => false,
        }
    }

    /// Notes that the table is registered for finalization, or not any more; whether it was before.
    pub(super) fn set_finalizable(self, finalizable: bool) -> bool {
        let marks = &self.body().marks;
        let before = marks.get();
        marks.set((before & !FINALIZABLE) | u8::from(finalizable));
        before & FINALIZABLE != 0
    }

    /// The object, as the collector's queue of finalizers holds it.
    pub(super) fn object(self) -> Gc<'gc, TableBody<'gc>> {
        self.0
    }

    /// The table that an object is.
    pub(super) fn of_object(object: &TableBody<'gc>) -> Table<'gc> {
        // SAFETY: bodies of tables are made by `Gc::new` only, and are not moved.
        Table(unsafe { Gc::from_ptr(object) })
    }

    /// Whether `event` is known not to be a key.
    #[inline(always)]
    pub(super) fn is_absent(self, event: Event) -> bool {
        self.body().absent.get() & event_bit(event) != 0
    }

    /// A key has come that had no value: what was known to be absent may be there now. A `__mode` that comes to a metatable is told to
    /// the next cycle ([`Ctx::follow_late_modes`]).
    #[inline]
    pub(super) fn note_new_key(self, ctx: Ctx<'gc>, key: Value<'gc>) {
        let absent = &self.body().absent;
        let kept = absent.get() & IS_METATABLE;
        absent.set(kept);
        if kept != 0
            && let Value::Str(name) = key
            && name.ptr_eq(ctx.state.event_name(Event::Mode))
        {
            ctx.state.late_mode.set(true);
        }
    }

    /// Notes that `event` is not a key.
    pub(super) fn note_absent(self, event: Event) {
        let absent = &self.body().absent;
        absent.set(absent.get() | event_bit(event));
    }

    /// Stores items of a constructor: makes room and puts `values` at the keys from `first` on.
    ///
    /// # Errors
    ///
    /// If the table can't grow.
    pub(super) fn set_list(
        self,
        ctx: Ctx<'gc>,
        first: i64,
        count: u32,
        mut value: impl FnMut(u32) -> Value<'gc>,
    ) -> Result<(), Error<'gc>> {
        let last = first + i64::from(count) - 1;
        if last > i64::from(self.body().array_len.get())
            && let Ok(len) = u32::try_from(last)
        {
            self.resize_array(ctx, len)?;
        }
        for i in 0..count {
            self.set_int(ctx, first + i64::from(i), value(i))?;
        }
        Ok(())
    }
}
