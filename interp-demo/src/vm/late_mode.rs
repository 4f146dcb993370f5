//! A `__mode` that comes to a metatable after tables have got it.
//!
//! Lua looks at the mode of a table when it traverses the table. Here a weak table has another form than a strong one, which it can't be
//! given while the program traverses it, and a metatable does not know its tables. So the metatable notes that a `__mode` has come
//! ([`Table::note_new_key`]), and before a full collection that is asked for, and after cycles, a walk over all that is
//! reachable finds the tables. That is a pause of as much work as marking, only where there is such a note, and only when as much
//! was allocated since the last one as there is in the heap.
//!
//! A table that is in a traversal ([`Table::is_traversed`]) stays as it is, and the note stays for the next walk.

use std::collections::HashSet;

use super::error::Error;
use super::state::Ctx;
use super::table::Table;
use super::value::Value;
use crate::opcode::Event;

/// What is to be looked at, and what was.
#[derive(Default)]
struct Walk<'gc> {
    pending: Vec<Value<'gc>>,
    seen: HashSet<usize>,
}

impl<'gc> Walk<'gc> {
    fn add(&mut self, value: impl Into<Value<'gc>>) {
        let value = value.into();
        let leads_on = matches!(
            value,
            Value::Table(_)
                | Value::Closure(_)
                | Value::Native(_)
                | Value::UserData(_)
                | Value::Thread(_)
        );
        if leads_on
            && let Some(address) = value.address()
            && self.seen.insert(address.addr())
        {
            self.pending.push(value);
        }
    }

    fn add_all(&mut self, values: impl IntoIterator<Item = Value<'gc>>) {
        for value in values {
            self.add(value);
        }
    }
}

impl<'gc> Ctx<'gc> {
    /// Makes tables weak whose metatables have got a `__mode` later than they have. To be called between two callbacks, when the live part
    /// of all stacks is known.
    ///
    /// Answers whether there was a note, and so a walk.
    ///
    /// # Errors
    ///
    /// If there is no memory for it.
    pub(crate) fn follow_late_modes(self) -> Result<bool, Error<'gc>> {
        if !self.state.late_mode.replace(false) {
            return Ok(false);
        }
        let mut walk = Walk::default();
        self.add_roots(&mut walk);
        while let Some(value) = walk.pending.pop() {
            match value {
                Value::Table(table) => self.look_at(table, &mut walk)?,
                Value::Closure(closure) => {
                    let count = closure.upvalue_count();
                    walk.add_all((0..count).map(|i| closure.upvalue(i).get()));
                }
                Value::Native(native) => {
                    let count = native.upvalue_count();
                    walk.add_all((0..count).map(|i| native.upvalue(i)));
                }
                Value::UserData(data) => {
                    walk.add(data.metatable());
                    walk.add(data.user_value());
                }
                Value::Thread(thread) => walk.add_all(thread.values(self)),
                _ => {}
            }
        }
        Ok(true)
    }

    fn add_roots(self, walk: &mut Walk<'gc>) {
        let state = self.state;
        walk.add(state.globals());
        walk.add(state.registry());
        walk.add(state.loaded());
        walk.add(state.main_thread());
        walk.add(state.current());
        walk.add(state.interrupted.get());
        walk.add_all(state.threads.values());
        walk.add_all(state.type_metatables().map(Value::from));
    }

    fn look_at(self, table: Table<'gc>, walk: &mut Walk<'gc>) -> Result<(), Error<'gc>> {
        if let Some(metatable) = table.metatable() {
            walk.add(metatable);
            if table.may_have_become_weak(metatable)
                && !self.event_field(metatable, Event::Mode).is_nil()
            {
                // The metatable changes its form as well.
                if table.is_traversed() || metatable.is_traversed() {
                    self.state.late_mode.set(true);
                } else {
                    table.follow_mode(self)?;
                }
            }
        }
        for (key, value) in table.pairs(self) {
            walk.add(key);
            walk.add(value);
        }
        Ok(())
    }
}
