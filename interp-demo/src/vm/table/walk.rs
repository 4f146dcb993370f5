//! Going through a table, and its length.

use super::{FINALIZABLE, TRAVERSAL, Table, TableBody, WEAK, normal_key};
use crate::vm::error::Error;
use crate::vm::state::Ctx;
use crate::vm::value::Value;

impl<'gc> Table<'gc> {
    /// As [`Table::next`], for a program: notes a traversal that begins.
    ///
    /// # Errors
    ///
    /// As there.
    #[inline]
    pub(crate) fn next_of_program(
        self,
        ctx: Ctx<'gc>,
        key: Value<'gc>,
    ) -> Result<Option<(Value<'gc>, Value<'gc>)>, Error<'gc>> {
        if key.is_nil() {
            let marks = &self.body().marks;
            marks.set(marks.get().checked_add(TRAVERSAL).unwrap_or(marks.get()));
        }
        self.next(ctx, key)
    }

    /// Notes that a traversal has come to its end.
    #[inline]
    pub(in crate::vm) fn end_traversal(self) {
        let marks = &self.body().marks;
        // One that is full may have missed some.
        if (TRAVERSAL..u8::MAX - (TRAVERSAL - 1)).contains(&marks.get()) {
            marks.set(marks.get() - TRAVERSAL);
        }
    }

    /// Whether a traversal may be under way: one has begun, and has neither come to its end nor been ended by a new key. It is not known
    /// of a loop that was left, nor of `next` as the program calls it, that it has ended.
    pub(in crate::vm) fn is_traversed(self) -> bool {
        self.body().marks.get() >= TRAVERSAL
    }

    /// Notes that no traversal is under way: a table that gets a new key can't be traversed on.
    #[inline]
    pub(super) fn end_traversals(self) {
        let marks = &self.body().marks;
        marks.set(marks.get() & (FINALIZABLE | WEAK));
    }

    /// The entry after that of `key` (the first, for nil); none at the end. A key that was removed during the traversal
    /// still has its place.
    ///
    /// # Errors
    ///
    /// If `key` is not in the table.
    pub fn next(
        self,
        ctx: Ctx<'gc>,
        key: Value<'gc>,
    ) -> Result<Option<(Value<'gc>, Value<'gc>)>, Error<'gc>> {
        let next = match self.body().weak() {
            Some(entries) => self.next_weak(ctx, entries, key),
            None => match self.place_after(key) {
                Some(place) => Some(self.entry_from(ctx, place)?),
                None => None,
            },
        };
        next.ok_or_else(|| ctx.error("invalid key to 'next'"))
    }

    /// All entries; the table is not changed meanwhile.
    pub fn pairs(self, ctx: Ctx<'gc>) -> impl Iterator<Item = (Value<'gc>, Value<'gc>)> {
        let first = self.next(ctx, Value::Nil).ok().flatten();
        std::iter::successors(first, move |(key, _)| self.next(ctx, *key).ok().flatten())
    }

    /// The first entry at place `from` or after it. Places are numbers: first those of the array part, then those of
    /// the hash part.
    ///
    /// # Errors
    ///
    /// If the program is to stop, and many places are empty.
    fn entry_from(
        self,
        ctx: Ctx<'gc>,
        from: u32,
    ) -> Result<Option<(Value<'gc>, Value<'gc>)>, Error<'gc>> {
        let body = self.body();
        let len = body.array_len.get();
        for i in from..len {
            let value = body.item(i);
            if !value.is_nil() {
                ctx.look_for(i - from)?;
                return Ok(Some((Value::Int(i64::from(i) + 1), value)));
            }
        }
        ctx.look_for(len.saturating_sub(from))?;
        if body.has_no_nodes() {
            return Ok(None);
        }
        let first = from.saturating_sub(len);
        for i in first..body.node_count() {
            let node = body.node(i);
            if let Some(key) = node.key() {
                ctx.look_for(i - first)?;
                return Ok(Some((key, node.value())));
            }
        }
        ctx.look_for(body.node_count().saturating_sub(first))?;
        Ok(None)
    }

    fn place_after(self, key: Value<'gc>) -> Option<u32> {
        let body = self.body();
        let len = body.array_len.get();
        let key = normal_key(key);
        match key {
            Value::Nil => return Some(0),
            Value::Int(int) if 1 <= int && int <= i64::from(len) => return Some(int as u32),
            _ => {}
        }
        if body.has_no_nodes() {
            return None;
        }
        body.find(key).map(|at| len + at + 1)
    }

    /// A border: `n` such that item `n` has a value (or `n` is 0) and item `n + 1` has none.
    #[inline]
    #[must_use]
    pub fn len(self, ctx: Ctx<'gc>) -> i64 {
        let body = self.body();
        let len = body.array_len.get();
        let hint = body.border.get();
        // A last item with a value says the most: only then may the border lie in the hash part.
        if hint < len && body.item(len - 1).is_nil() && (hint == 0 || !body.item(hint - 1).is_nil())
        {
            // The border often is where it was, or one item further on.
            if body.item(hint).is_nil() {
                return i64::from(hint);
            }
            if hint + 1 < len && body.item(hint + 1).is_nil() {
                body.border.set(hint + 1);
                return i64::from(hint + 1);
            }
        }
        self.find_border(ctx)
    }

    /// Whether the border is at 0.
    #[must_use]
    pub fn is_empty(self, ctx: Ctx<'gc>) -> bool {
        self.len(ctx) == 0
    }

    #[inline(never)]
    fn find_border(self, ctx: Ctx<'gc>) -> i64 {
        let body = self.body();
        let len = body.array_len.get();
        if len > 0 && body.item(len - 1).is_nil() {
            let border = border_in_array(body, len);
            body.border.set(border);
            return i64::from(border);
        }
        body.border.set(len);
        let has_entries = !body.has_no_nodes() || body.weak().is_some();
        if !has_entries || self.get_int(ctx, i64::from(len) + 1).is_nil() {
            return i64::from(len);
        }
        self.border_in_hash(ctx, i64::from(len) + 1)
    }

    /// A border above `present`, whose item has a value.
    fn border_in_hash(self, ctx: Ctx<'gc>, present: i64) -> i64 {
        let (mut present, mut absent) = (present, present);
        loop {
            match absent.checked_mul(2) {
                Some(twice) => absent = twice,
                None if self.get_int(ctx, i64::MAX).is_nil() => {
                    absent = i64::MAX;
                    break;
                }
                None => return i64::MAX,
            }
            if self.get_int(ctx, absent).is_nil() {
                break;
            }
            present = absent;
        }
        while absent - present > 1 {
            let middle = present + (absent - present) / 2;
            if self.get_int(ctx, middle).is_nil() {
                absent = middle;
            } else {
                present = middle;
            }
        }
        present
    }
}

/// A border in an array part whose last item has no value.
fn border_in_array(body: &TableBody<'_>, len: u32) -> u32 {
    let (mut present, mut absent) = (0, len);
    while absent - present > 1 {
        let middle = present + (absent - present) / 2;
        if body.item(middle - 1).is_nil() {
            absent = middle;
        } else {
            present = middle;
        }
    }
    present
}
