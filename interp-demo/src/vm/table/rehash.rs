//! Growth: new keys, and how large the two parts are.

use super::node::Node;
use super::{Table, normal_key};
use crate::vm::error::Error;
use crate::vm::state::Ctx;
use crate::vm::value::Value;
use sleepy_gc::collections::GcVec;

/// The largest array part has `2^MAX_ARRAY_BITS` items, the largest hash part as many nodes.
const MAX_BITS: u32 = 30;

impl<'gc> Table<'gc> {
    /// An empty table with room for `array` items and `hash` other entries.
    ///
    /// # Errors
    ///
    /// If there is no memory.
    pub fn with_capacity(ctx: Ctx<'gc>, array: u32, hash: u32) -> Result<Table<'gc>, Error<'gc>> {
        let table = Table::new(ctx);
        if array > 0 || hash > 0 {
            table.resize(ctx, array, hash)?;
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
        let body = self.body();
        self.note_new_key(ctx, key);
        self.end_traversals();
        let mut at = body.main_position(key);
        if body.has_no_nodes() || body.node(at).has_value() {
            let Some(free) = self.free_node() else {
                self.rehash(ctx, key)?;
                return self.set(ctx, key, value);
            };
            let colliding = *body.node(at);
            // The free node's chain is that of the entry at `at`.
            let next = match colliding.next() {
                0 => 0,
                next => distance(free, at.wrapping_add_signed(next)),
            };
            let other = colliding.key().map_or(at, |key| body.main_position(key));
            if other == at {
                // The one here is at home: the new key goes to the free node.
                body.change_node(free, |node| node.set_next(next));
                body.change_node(at, |node| node.set_next(distance(at, free)));
                at = free;
            } else {
                // The one here is a guest: it moves to the free node, and its chain is mended.
                let mut before = other;
                loop {
                    let next = before.wrapping_add_signed(body.node(before).next());
                    if next == at {
                        break;
                    }
                    before = next;
                }
                body.change_node(before, |node| node.set_next(distance(before, free)));
                body.node_buffer.shade_in(ctx.mc, &colliding);
                body.change_node(free, |node| {
                    *node = colliding;
                    node.set_next(next);
                });
                body.change_node(at, |node| node.set_next(0));
            }
        }
        body.node_buffer.shade_in(ctx.mc, &key);
        body.node_buffer.shade_in(ctx.mc, &value);
        body.change_node(at, |node| {
            node.set_key(key);
            node.set_value(value);
        });
        Ok(())
    }

    fn free_node(self) -> Option<u32> {
        let body = self.body();
        if body.has_no_nodes() {
            return None;
        }
        while body.last_free.get() > 0 {
            let at = body.last_free.get() - 1;
            body.last_free.set(at);
            if body.node(at).has_no_key() {
                return Some(at);
            }
        }
        None
    }

    /// Chooses sizes such that `extra`, which is about to come, has room: the array part is the largest power of two of
    /// which more than half would be used.
    fn rehash(self, ctx: Ctx<'gc>, extra: Value<'gc>) -> Result<(), Error<'gc>> {
        let body = self.body();
        // counts[i]: how many integer keys k there are with 2^(i-1) < k <= 2^i.
        let mut counts = [0_u32; MAX_BITS as usize + 1];
        let mut total = 1_u32;
        let mut integers = count_integer(extra, &mut counts);
        let array = self.count_array(&mut counts);
        total += array;
        integers += array;
        if !body.has_no_nodes() {
            for i in 0..body.node_count() {
                if let Some(key) = body.node(i).key() {
                    total += 1;
                    integers += count_integer(key, &mut counts);
                }
            }
        }
        let (size, in_array) = best_array_size(&counts, integers);
        self.resize(ctx, size, total - in_array)
    }

    fn count_array(self, counts: &mut [u32]) -> u32 {
        let len = self.body().array_len.get();
        let mut total = 0;
        let mut from = 0;
        for (bits, count) in counts.iter_mut().enumerate() {
            if from >= len {
                break;
            }
            let to = (1_u32 << bits).min(len);
            let used = (from..to)
                .filter(|&i| !self.body().item(i).is_nil())
                .count() as u32;
            *count += used;
            total += used;
            from = to;
        }
        total
    }

    /// Drops both parts.
    pub(super) fn clear_parts(self, ctx: Ctx<'gc>) {
        let body = self.body();
        body.array_len.set(0);
        body.border.set(0);
        body.last_free.set(0);
        body.log2_nodes.set(0);
        body.nodes.set(Node::shared());
        body.array.replace(ctx.mc, GcVec::new()).free(ctx.mc);
        body.node_buffer.replace(ctx.mc, GcVec::new()).free(ctx.mc);
    }

    /// Makes the array part at least `len` items long; the hash part stays.
    pub(super) fn resize_array(self, ctx: Ctx<'gc>, len: u32) -> Result<(), Error<'gc>> {
        let body = self.body();
        let hash = if body.has_no_nodes() {
            0
        } else {
            body.node_count()
        };
        self.resize(ctx, len, hash)
    }

    /// Lays the table out anew, with `array` items and room for `hash` other entries. Items that do not fit into the
    /// array part go to the hash part, which the caller has made large enough.
    fn resize(self, ctx: Ctx<'gc>, array: u32, hash: u32) -> Result<(), Error<'gc>> {
        let body = self.body();
        let bits = if hash == 0 {
            0
        } else {
            u32::BITS - (hash - 1).leading_zeros()
        };
        if bits > MAX_BITS || array > 1 << MAX_BITS {
            return Err(ctx.error("table overflow"));
        }
        let old_len = body.array_len.get();
        // Everything that can fail comes first.
        let mut fresh = GcVec::new();
        if hash != 0 {
            fresh = GcVec::try_filled(ctx.mc, 1 << bits, Node::FREE)
                .map_err(|_| ctx.out_of_memory())?;
        }
        if array > old_len {
            if body.array.capacity() == 0 {
                let items = GcVec::try_filled(ctx.mc, array as usize, Value::Nil)
                    .map_err(|_| ctx.out_of_memory())?;
                // SAFETY: the body is the object, and traces both parts.
                unsafe { body.array.replace_in(ctx.mc, self.erase(), items) };
            } else {
                body.array
                    .try_resize(ctx.mc, array as usize, Value::Nil)
                    .map_err(|_| ctx.out_of_memory())?;
            }
            body.array_len.set(array);
            self.note_growth(ctx, old_len, array);
        }
        // SAFETY: the body is the object, and traces both parts.
        let old_nodes = unsafe { body.node_buffer.replace_in(ctx.mc, self.erase(), fresh) };
        body.nodes.set(if hash == 0 {
            Node::shared()
        } else {
            body.node_buffer.as_ptr().cast_mut()
        });
        body.log2_nodes.set(bits as u8);
        body.last_free.set(if hash == 0 { 0 } else { 1 << bits });

        let mut result = Ok(());
        if array < old_len {
            body.array_len.set(array);
            body.border.set(body.border.get().min(array));
            for i in array..old_len {
                let value = body.array.get(i as usize).unwrap_or_default();
                if !value.is_nil() && result.is_ok() {
                    result = self.set_int(ctx, i64::from(i) + 1, value);
                }
            }
            body.array.truncate(array as usize);
            body.array.shrink_to_fit(ctx.mc);
        }
        for i in (0..old_nodes.len()).rev() {
            if let Some(node) = old_nodes.get(i)
                && let Some(key) = node.key()
                && result.is_ok()
            {
                result = self.set(ctx, normal_key(key), node.value());
            }
        }
        old_nodes.free(ctx.mc);
        result
    }
}

#[inline]
const fn distance(from: u32, to: u32) -> i32 {
    to as i32 - from as i32
}

fn count_integer(key: Value<'_>, counts: &mut [u32]) -> u32 {
    match key {
        Value::Int(key) if (1..=1 << MAX_BITS).contains(&key) => {
            let bits = u64::BITS - (key as u64 - 1).leading_zeros();
            counts[bits as usize] += 1;
            1
        }
        _ => 0,
    }
}

/// The size of the array part, and how many keys it will hold.
fn best_array_size(counts: &[u32], integers: u32) -> (u32, u32) {
    let (mut size, mut in_array, mut below) = (0, 0, 0);
    for (bits, count) in counts.iter().enumerate() {
        let candidate = 1_u32 << bits;
        if integers <= candidate / 2 {
            break;
        }
        below += count;
        if below > candidate / 2 {
            size = candidate;
            in_array = below;
        }
    }
    (size, in_array)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_more_than_half_full() {
        let mut counts = [0; MAX_BITS as usize + 1];
        let mut integers = 0;
        for key in [1, 2, 3, 10_000_000] {
            integers += count_integer(Value::Int(key), &mut counts);
        }
        assert_eq!(best_array_size(&counts, integers), (4, 3));
        assert_eq!(count_integer(Value::Int(0), &mut counts), 0);
        assert_eq!(count_integer(Value::Int(i64::MAX), &mut counts), 0);
        assert_eq!(best_array_size(&[0; 31], 0), (0, 0));
    }
}
