//! Growth: new keys, and new sizes of the two parts.

use super::node::{Node, NodesHeader};
use super::sizes::{self, Census, MAX_BITS};
use super::{Nodes, Table, TableBody};
use crate::vm::error::Error;
use crate::vm::state::Ctx;
use crate::vm::value::Value;
use sleepy_gc::collections::GcVec;
use std::cell::Cell;

impl<'gc> TableBody<'gc> {
    /// Takes another hash part, which is a buffer of the table's or the shared node.
    fn set_nodes(&self, nodes: Option<&Nodes<'gc>>) {
        let count = nodes.map_or(1, |nodes| nodes.len() as u32);
        self.nodes
            .set(nodes.map_or(Node::shared(), |nodes| nodes.elements()));
        self.node_count.set(count);
        // The bits of `count - 1`.
        self.node_bits
            .set((u32::BITS - (count - 1).leading_zeros()) as u8);
    }

    fn free_node(&self) -> Option<u32> {
        if self.has_no_nodes() {
            return None;
        }
        let buffer = self.buffer();
        let last_free = &buffer.header().last_free;
        while let Some(at) = last_free.get().checked_sub(1) {
            last_free.set(at);
            if self.node(at).has_no_key() {
                return Some(at);
            }
        }
        None
    }

    /// The keys of the hash part that have values.
    fn keys(&self) -> impl Iterator<Item = Value<'gc>> {
        // The shared node has none.
        (0..self.node_count()).filter_map(|i| self.node(i).key())
    }

    /// Puts an entry whose key is in neither part into the hash part; whether there was a free node.
    fn put(&self, ctx: Ctx<'gc>, key: Value<'gc>, value: Value<'gc>) -> bool {
        let mut at = self.main_position(key);
        if self.has_no_nodes() || self.node(at).has_value() {
            let Some(free) = self.free_node() else {
                return false;
            };
            let colliding = *self.node(at);
            // The free node's chain is that of the entry at `at`.
            let next = match colliding.next() {
                0 => 0,
                next => distance(free, at.wrapping_add_signed(next)),
            };
            let other = colliding.key().map_or(at, |key| self.main_position(key));
            if other == at {
                // The one here is at home: the new key goes to the free node.
                self.change_node(free, |node| node.set_next(next));
                self.change_node(at, |node| node.set_next(distance(at, free)));
                at = free;
            } else {
                // The one here is a guest: it moves to the free node, and its chain is mended.
                let mut before = other;
                loop {
                    let next = before.wrapping_add_signed(self.node(before).next());
                    if next == at {
                        break;
                    }
                    before = next;
                }
                self.change_node(before, |node| node.set_next(distance(before, free)));
                self.buffer().shade_in(ctx.mc, &colliding);
                self.change_node(free, |node| {
                    *node = colliding;
                    node.set_next(next);
                });
                self.change_node(at, |node| node.set_next(0));
            }
        }
        let buffer = self.buffer();
        buffer.shade_in(ctx.mc, &key);
        buffer.shade_in(ctx.mc, &value);
        self.change_node(at, |node| {
            node.set_key(key);
            node.set_value(value);
        });
        true
    }

    /// Whether `key`, in the node at `at` whose own key was removed, would be in the way of other entries: a guest in their main
    /// position, which a new one of theirs would send away with all that is behind it.
    ///
    /// Only an object can: it is at the address of the key that was removed, and may be another one, in another chain which
    /// goes on through this node.
    pub(super) fn would_hide(&self, at: u32, key: Value<'gc>) -> bool {
        if matches!(
            key,
            Value::Int(_) | Value::Float(_) | Value::Bool(_) | Value::Light(_)
        ) || self.main_position(key) == at
        {
            return false;
        }
        let mut behind = at;
        loop {
            match self.node(behind).next() {
                0 => return false,
                next => behind = behind.wrapping_add_signed(next),
            }
            if let Some(other) = self.node(behind).key()
                && self.main_position(other) == at
            {
                return true;
            }
        }
    }

    /// Puts an entry that was in a part before this was laid out anew; there is room for it.
    fn put_again(&self, ctx: Ctx<'gc>, key: Value<'gc>, value: Value<'gc>) {
        if let Value::Int(int) = key
            && let index = (int as u64).wrapping_sub(1)
            && index < u64::from(self.array_len.get())
        {
            self.set_item(ctx, index as u32, value);
        } else {
            let has_room = self.put(ctx, key, value);
            debug_assert!(has_room, "the hash part was made for all entries");
        }
    }
}

impl<'gc> Table<'gc> {
    /// An empty table with room for `array` items and `hash` other entries.
    ///
    /// # Errors
    ///
    /// If there is no memory.
    pub fn with_capacity(ctx: Ctx<'gc>, array: u32, hash: u32) -> Result<Table<'gc>, Error<'gc>> {
        let table = Table::new(ctx);
        if array > 0 || hash > 0 {
            let nodes = match hash {
                // What its cell has room for.
                1..=sizes::SMALL => Nodes::len_in_cell_of(ctx.mc, hash as usize) as u32,
                _ => hash,
            };
            table.resize(ctx, array, nodes)?;
        }
        Ok(table)
    }

    /// Puts a key that is not there yet, is not nil or NaN, and is no float that has an integer's value.
    #[inline(never)]
    pub(super) fn insert(
        self,
        ctx: Ctx<'gc>,
        key: Value<'gc>,
        value: Value<'gc>,
    ) -> Result<(), Error<'gc>> {
        self.note_new_key(ctx, key);
        if self.body().put(ctx, key, value) {
            self.end_traversals();
            return Ok(());
        }
        self.insert_anew(ctx, key, value)
    }

    /// Puts a key, which was noted as new, into the table, which is laid out anew for it.
    #[cold]
    pub(super) fn insert_anew(
        self,
        ctx: Ctx<'gc>,
        key: Value<'gc>,
        value: Value<'gc>,
    ) -> Result<(), Error<'gc>> {
        self.end_traversals();
        self.rehash(ctx, key)?;
        self.body().put_again(ctx, key, value);
        Ok(())
    }

    /// Lays the table out such that `extra`, which is about to come, has room.
    fn rehash(self, ctx: Ctx<'gc>, extra: Value<'gc>) -> Result<(), Error<'gc>> {
        let body = self.body();
        let len = body.array_len.get();
        // The usual growth of an array.
        if body.has_no_nodes()
            && let Value::Int(key) = extra
            && key == i64::from(len) + 1
            && (0..len).all(|i| !body.item(i).is_nil())
        {
            return self.resize_array(ctx, sizes::items_for(len + 1));
        }
        let is_integer = |key| matches!(key, Value::Int(_));
        let (mut entries, mut has_integers) = (1, is_integer(extra));
        for key in body.keys() {
            entries += 1;
            has_integers |= is_integer(key);
        }
        let has_removed = !body.has_no_nodes() && entries <= body.node_count();
        let mut array = len;
        if has_integers || len > 0 {
            let (inside, used);
            (array, inside, used) = self.best_array(extra);
            entries = entries + used - inside;
        }
        let nodes = match entries {
            0 => 0,
            // Where entries come and go, the next one is not to come here again.
            _ if has_removed => {
                sizes::nodes_for((entries + entries.div_ceil(4)).min(1 << MAX_BITS))
            }
            _ => sizes::nodes_for(entries),
        };
        self.resize(ctx, array, nodes)
    }

    /// The best size of the array part if `extra` comes, how many keys it has items for then, and how many it has now.
    #[inline(never)]
    fn best_array(self, extra: Value<'gc>) -> (u32, u32, u32) {
        let body = self.body();
        let len = body.array_len.get();
        let mut census = Census::new();
        for key in body.keys().chain([extra]) {
            if let Value::Int(key) = key {
                census.count(key);
            }
        }
        let used = census.count_items(len, |i| !body.item(i).is_nil());
        let (best, inside) = census.best();
        if inside > used || best < len {
            (best, inside, used)
        } else {
            // All that there is to have items has one.
            (len, used, used)
        }
    }

    /// Drops both parts.
    pub(super) fn clear_parts(self, ctx: Ctx<'gc>) {
        let body = self.body();
        body.array_len.set(0);
        body.border.set(0);
        body.array().replace(ctx.mc, GcVec::new()).free(ctx.mc);
        if !body.has_no_nodes() {
            let nodes = body.buffer();
            body.set_nodes(None);
            // SAFETY: the table was the only owner, and has given it up.
            unsafe { nodes.free(ctx.mc) };
        }
    }

    /// Makes the array part at least `len` items long; the hash part stays, but for keys that move.
    pub(super) fn resize_array(self, ctx: Ctx<'gc>, len: u32) -> Result<(), Error<'gc>> {
        let body = self.body();
        if body.weak().is_some() {
            return Ok(());
        }
        if body.has_no_nodes() {
            self.grow_array(ctx, len)
        } else {
            self.resize(ctx, len.max(body.array_len.get()), body.node_count())
        }
    }

    /// Gives the array part `len` items, if it has fewer.
    fn grow_array(self, ctx: Ctx<'gc>, len: u32) -> Result<(), Error<'gc>> {
        let body = self.body();
        let old_len = body.array_len.get();
        if len <= old_len {
            return Ok(());
        }
        if len > 1 << MAX_BITS {
            return Err(ctx.error("table overflow"));
        }
        let array = body.array();
        if array.capacity() == 0 {
            let items = GcVec::try_filled(ctx.mc, len as usize, Value::Nil)
                .map_err(|_| ctx.out_of_memory())?;
            // SAFETY: the body is the object, and traces both parts.
            unsafe { array.replace_in(ctx.mc, self.erase(), items) };
        } else {
            array
                .try_resize(ctx.mc, len as usize, Value::Nil)
                .map_err(|_| ctx.out_of_memory())?;
        }
        body.array_len.set(len);
        self.note_growth(ctx, old_len, len);
        Ok(())
    }

    /// Lays the table out anew, with `array` items and `nodes` for other entries. Items that do not fit into the
    /// array part go to the hash part, which the caller has made large enough.
    fn resize(self, ctx: Ctx<'gc>, array: u32, nodes: u32) -> Result<(), Error<'gc>> {
        let body = self.body();
        if nodes > 1 << MAX_BITS || array > 1 << MAX_BITS {
            return Err(ctx.error("table overflow"));
        }
        // Everything that can fail comes first.
        let mut fresh = None;
        if nodes != 0 {
            let header = NodesHeader {
                last_free: Cell::new(nodes),
            };
            let buffer = Nodes::try_filled(ctx.mc, nodes as usize, header, Node::FREE)
                .map_err(|_| ctx.out_of_memory())?;
            fresh = Some(buffer);
        }
        if let Err(error) = self.grow_array(ctx, array) {
            if let Some(fresh) = fresh {
                // SAFETY: nothing has it as a part.
                unsafe { fresh.free(ctx.mc) };
            }
            return Err(error);
        }
        if let Some(fresh) = &fresh {
            fresh.join(ctx.mc, self.erase());
        }
        let old = (!body.has_no_nodes()).then(|| body.buffer());
        body.set_nodes(fresh.as_ref());

        let old_len = body.array_len.get();
        if array < old_len {
            body.array_len.set(array);
            body.border.set(body.border.get().min(array));
            for i in array..old_len {
                let value = body.array().get(i as usize).unwrap_or_default();
                if !value.is_nil() {
                    body.put_again(ctx, Value::Int(i64::from(i) + 1), value);
                }
            }
            body.array().truncate(array as usize);
            body.array().shrink_to_fit(ctx.mc);
        }
        if let Some(old) = old {
            for i in (0..old.len()).rev() {
                // SAFETY: a node of the buffer, which nothing has freed.
                let node = unsafe { old.elements().add(i).read() };
                if let Some(key) = node.key() {
                    body.put_again(ctx, key, node.value());
                }
            }
            // SAFETY: the table was the only owner, and has given it up.
            unsafe { old.free(ctx.mc) };
        }
        Ok(())
    }
}

#[inline]
const fn distance(from: u32, to: u32) -> i32 {
    to as i32 - from as i32
}
