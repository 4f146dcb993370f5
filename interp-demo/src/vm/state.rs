//! The interpreter's state, the arena's root; and the context that everything in the interpreter is handed.

use std::any::{Any, TypeId};
use std::cell::{Cell, RefCell, RefMut};
use std::collections::HashMap;
use std::ops::Deref;
use std::time::Instant;

use sleepy_gc::collect::Trace;
use sleepy_gc::collections::InternSet;
use sleepy_gc::finalize::FinalizerQueue;
use sleepy_gc::{Collect, Gc, Mutation, SendRoot};

use super::buffer::{Buffer, Reservation};
use super::closure::{Closure, Function};
use super::error::Error;
use super::finalize::Finalizable;
use super::roster::{MAIN, NOBODY, ThreadId};
use super::string::{LuaStr, StrHeader};
use super::suspend::{Answer, Suspend};
use super::table::Table;
use super::thread::Thread;
use super::turn::Threads;
use super::value::{Type, Value};
use crate::opcode::Event;

/// Everything that outlives a single run of the interpreter.
pub struct State<'gc> {
    pub(super) seed: u32,
    pub(super) interned: InternSet<'gc, StrHeader>,
    /// The keys of the events, by number.
    event_names: Box<[LuaStr<'gc>]>,
    names: Names<'gc>,
    globals: Cell<Table<'gc>>,
    registry: Table<'gc>,
    loaded: Table<'gc>,
    metatables: [Cell<Option<Table<'gc>>>; Type::COUNT],
    main: Thread<'gc>,
    current: Cell<Thread<'gc>>,
    no_memory: LuaStr<'gc>,
    /// Where strings are put together.
    pub(super) scratch: RefCell<Buffer>,
    /// What a native has asked of the host.
    pub(super) request: RefCell<Option<Suspend>>,
    /// What the host has answered.
    pub(super) answer: RefCell<Option<Answer>>,
    /// Whether there are limits that the host must look at.
    pub(crate) watched: Cell<bool>,
    /// When the program's time is over.
    pub(crate) deadline: Cell<Option<Instant>>,
    /// Whether there is more than one OS thread, so that the host must let the others run now and then.
    pub(super) shared: Cell<bool>,
    /// The OS thread that runs.
    pub(super) holder: Cell<ThreadId>,
    pub(super) threads: Threads<'gc>,
    /// The OS thread that runs a finalizer, or nobody. One runs at a time.
    pub(super) finalizer_of: Cell<ThreadId>,
    /// The coroutine on which finalizers run.
    pub(super) finalizer_thread: Thread<'gc>,
    /// Whether the program was told that memory is short since the host looked last.
    pub(crate) told_of_memory: Cell<bool>,
    /// How large the heap may become, with what belongs to it outside of it.
    pub(crate) hard_limit_bytes: Cell<usize>,
    /// Whether a string could not be made since the host looked last ([`Ctx::string`]).
    pub(crate) lost_string: Cell<bool>,
    /// Whether an instruction or a native is done once more, after a collection, as there was no memory for it. Over at the
    /// next safe point.
    pub(super) retrying: Cell<bool>,
    /// Whether a coroutine has ended whose end is to be told ([`Thread::tell_end`]) since the host looked last.
    pub(crate) has_told_end: Cell<bool>,
    /// The coroutine that the finalizer interrupts.
    pub(super) interrupted: Cell<Option<Thread<'gc>>>,
    /// Whether a `__mode` has come to a table that was a metatable before, since the last cycle began.
    pub(super) late_mode: Cell<bool>,
    /// Whether warnings are shown.
    pub(super) warnings: Cell<bool>,
    /// Objects that have a `__gc` method.
    pub(super) finalizable: FinalizerQueue<'gc, dyn Finalizable<'gc> + 'gc>,
    /// Tables whose array part is large: weak keys.
    large_tables: Cell<Option<Table<'gc>>>,
    host: RefCell<HashMap<TypeId, Box<dyn Any + Send>>>,
}

/// Names that the interpreter looks up.
#[derive(Clone, Copy)]
pub(super) struct Names<'gc> {
    pub name: LuaStr<'gc>,
    pub to_string: LuaStr<'gc>,
    pub metatable: LuaStr<'gc>,
}

// SAFETY: every value and pointer is traced; stores to the cells run a barrier (the setters below); requests, answers
// and the host's data are `'static`.
unsafe impl<'gc> Collect<'gc> for State<'gc> {
    const SEND: bool = true;

    fn trace<T: Trace<'gc>>(&self, cc: &mut T) {
        self.interned.trace(cc);
        for name in &self.event_names {
            name.trace(cc);
        }
        self.names.name.trace(cc);
        self.names.to_string.trace(cc);
        self.names.metatable.trace(cc);
        self.globals.get().trace(cc);
        self.registry.trace(cc);
        self.loaded.trace(cc);
        for metatable in &self.metatables {
            metatable.get().trace(cc);
        }
        self.main.trace(cc);
        self.current.get().trace(cc);
        self.no_memory.trace(cc);
        self.interrupted.get().trace(cc);
        self.finalizer_thread.trace(cc);
        self.finalizable.trace(cc);
        self.threads.trace(cc);
        self.large_tables.get().trace(cc);
    }
}

// SAFETY: what is reached through it is values of the arena, all of whose types are `Collect::SEND`, and data of the host that is
// `Send`: requests, answers, what stands behind userdata, and the host's own.
unsafe impl SendRoot for State<'_> {}

impl<'gc> State<'gc> {
    /// A state without libraries.
    pub(crate) fn new(mc: &Mutation<'gc>, seed: u32) -> Gc<'gc, State<'gc>> {
        let interned = InternSet::new();
        let intern = |text: &str| LuaStr::intern(mc, &interned, seed, text.as_bytes());
        let event_names = Event::ALL
            .iter()
            .map(|event| intern(event.name()))
            .collect();
        let names = Names {
            name: intern("__name"),
            to_string: intern("__tostring"),
            metatable: intern("__metatable"),
        };
        let no_memory = intern("not enough memory");
        let main = Thread::empty(mc);
        Gc::new(
            mc,
            State {
                seed,
                event_names,
                names,
                globals: Cell::new(Table::new_in(mc)),
                registry: Table::new_in(mc),
                loaded: Table::new_in(mc),
                metatables: [const { Cell::new(None) }; Type::COUNT],
                main,
                current: Cell::new(main),
                no_memory,
                scratch: RefCell::new(Buffer::new()),
                request: RefCell::new(None),
                answer: RefCell::new(None),
                watched: Cell::new(false),
                deadline: Cell::new(None),
                shared: Cell::new(false),
                holder: Cell::new(MAIN),
                threads: Threads::default(),
                finalizer_of: Cell::new(NOBODY),
                finalizer_thread: Thread::empty(mc),
                told_of_memory: Cell::new(false),
                hard_limit_bytes: Cell::new(usize::MAX),
                lost_string: Cell::new(false),
                retrying: Cell::new(false),
                has_told_end: Cell::new(false),
                interrupted: Cell::new(None),
                late_mode: Cell::new(false),
                warnings: Cell::new(false),
                finalizable: FinalizerQueue::new(mc),
                large_tables: Cell::new(None),
                host: RefCell::new(HashMap::new()),
                interned,
            },
        )
    }

    /// The table of global variables.
    #[must_use]
    pub fn globals(&self) -> Table<'gc> {
        self.globals.get()
    }

    /// The registry: a table that only natives see.
    #[must_use]
    pub fn registry(&self) -> Table<'gc> {
        self.registry
    }

    /// `package.loaded`.
    #[must_use]
    pub fn loaded(&self) -> Table<'gc> {
        self.loaded
    }

    /// The main coroutine.
    #[must_use]
    pub fn main_thread(&self) -> Thread<'gc> {
        self.main
    }

    /// The running coroutine.
    #[inline]
    #[must_use]
    pub fn current(&self) -> Thread<'gc> {
        self.current.get()
    }

    pub(super) fn set_current(&self, ctx: Ctx<'gc>, thread: Thread<'gc>) {
        // The state is traced again, so that a coroutine does not outlive the cycle for having run.
        // SAFETY: the state is an object of the arena.
        let this = unsafe { Gc::from_ptr(std::ptr::from_ref(self)) };
        ctx.mc.backward_barrier(Gc::erase(this), None);
        self.current.set(thread);
    }

    /// All metatables of types.
    pub(super) fn type_metatables(&self) -> impl Iterator<Item = Table<'gc>> {
        self.metatables.iter().filter_map(Cell::get)
    }

    /// The metatable of all values of a type (tables and userdata have their own).
    #[must_use]
    pub fn type_metatable(&self, kind: Type) -> Option<Table<'gc>> {
        self.metatables[kind as usize].get()
    }

    /// Changes the metatable of all values of a type.
    pub fn set_type_metatable(&self, ctx: Ctx<'gc>, kind: Type, metatable: Option<Table<'gc>>) {
        ctx.barrier(metatable.into());
        self.metatables[kind as usize].set(metatable);
    }

    /// The key of an event, as `__add`.
    #[inline]
    #[must_use]
    pub fn event_name(&self, event: Event) -> LuaStr<'gc> {
        self.event_names[event as usize]
    }

    /// Whether the host wants to look at its limits now and then.
    #[inline]
    pub(super) fn needs_attention(&self) -> bool {
        // While finalizers are due there are safe points, so that they don't wait until the collector has something to do again.
        self.watched.get()
            || self.shared.get()
            || self.finalizable.ready() != 0
            || crate::runtime::is_interrupted()
    }

    pub(super) fn names(&self) -> Names<'gc> {
        self.names
    }

    /// A place for Rust state of a library, one for each type; made when it is first asked for. It is not to be asked for
    /// again while it is in use.
    #[must_use]
    pub fn host<T: Any + Default + Send>(&self) -> RefMut<'_, T> {
        RefMut::map(self.host.borrow_mut(), |host| {
            let entry = host
                .entry(TypeId::of::<T>())
                .or_insert_with(|| Box::new(T::default()));
            entry.downcast_mut().expect("a place is found by its type")
        })
    }
}

/// The state and the right to change the arena: handed to everything in the interpreter.
#[derive(Clone, Copy)]
pub struct Ctx<'gc> {
    /// The right to allocate and to change objects.
    pub mc: &'gc Mutation<'gc>,
    /// The interpreter's state.
    pub state: &'gc State<'gc>,
}

impl<'gc> Deref for Ctx<'gc> {
    type Target = State<'gc>;

    fn deref(&self) -> &State<'gc> {
        self.state
    }
}

impl<'gc> Ctx<'gc> {
    /// The set of tables with a large array part, which it does not keep alive; made when it is first asked for.
    pub(super) fn large_tables(self) -> Table<'gc> {
        if let Some(tables) = self.state.large_tables.get() {
            return tables;
        }
        let (tables, metatable) = (Table::new(self), Table::new(self));
        metatable.set_name(self, "__mode", self.string(b"k"));
        self.barrier(tables.into());
        self.state.large_tables.set(Some(tables));
        // For want of memory the set keeps what is put into it.
        let _ = self.set_metatable(tables.into(), Some(metatable));
        tables
    }

    /// Must run before `value` is stored in an object (stacks excepted): while the collector marks, it shades the value.
    #[inline(always)]
    pub fn barrier(self, value: Value<'gc>) {
        self.mc.shade(&value);
    }

    /// As [`Ctx::barrier`], where `parent` is the object.
    #[inline(always)]
    pub(super) fn barrier_in(self, parent: Gc<'gc, ()>, value: Value<'gc>) {
        self.mc.shade_in(parent, &value);
    }

    /// A string value. Where there is no memory for a large one, another stands in its place, and the program is told so at its next
    /// safe point, which is due then: before it comes to see that value.
    #[must_use]
    pub fn string(self, bytes: &[u8]) -> Value<'gc> {
        Value::Str(LuaStr::new(self, bytes))
    }

    /// A string value, or the error "not enough memory": for strings that may be large.
    ///
    /// # Errors
    ///
    /// If there is no memory for it.
    pub fn try_string(self, bytes: &[u8]) -> Result<Value<'gc>, Error<'gc>> {
        LuaStr::try_new(self, bytes)
            .map(Value::Str)
            .ok_or_else(|| self.out_of_memory())
    }

    /// An error with a message. If it arises in an instruction of a Lua function, the position is put before it.
    pub fn error(self, message: impl AsRef<[u8]>) -> Error<'gc> {
        Error::unlocated(self.string(message.as_ref()))
    }

    /// What stands in the place of a string for which there is no memory.
    pub(super) fn lose_string(self) -> LuaStr<'gc> {
        self.state.lost_string.set(true);
        self.state.no_memory
    }

    /// The error "not enough memory".
    pub fn out_of_memory(self) -> Error<'gc> {
        self.state.told_of_memory.set(true);
        Error::raw(self.state.no_memory.into())
    }

    /// Whether what has failed with `error` is to be done once more after a collection: if there was no memory for it, and this
    /// was the first attempt.
    pub(super) fn begin_retry(self, error: Error<'gc>) -> bool {
        let retrying = &self.state.retrying;
        if !self.is_out_of_memory(error) || retrying.replace(!retrying.get()) {
            return false;
        }
        self.state.told_of_memory.set(false);
        true
    }

    /// Whether what runs is a second attempt, after a collection.
    pub(crate) fn is_retrying(self) -> bool {
        self.state.retrying.get()
    }

    /// Whether it is the error of [`Ctx::out_of_memory`].
    pub(crate) fn is_out_of_memory(self, error: Error<'gc>) -> bool {
        error.is_raw() && self.is_no_memory(error.value())
    }

    /// The error of a stack that can't grow.
    pub(super) fn stack_overflow(self, thread: Thread<'gc>) -> Error<'gc> {
        if thread.handlers() > 0 {
            return Error::raw(self.string(b"error in error handling"));
        }
        self.error("stack overflow")
    }

    /// Whether what is outside of the heap is to be counted: under a limit, and where tests have requests fail.
    #[inline]
    pub(super) fn has_memory_limit(self) -> bool {
        cfg!(debug_assertions) || self.state.hard_limit_bytes.get() != usize::MAX
    }

    /// The bytes that the collector accounts for.
    #[must_use]
    pub fn heap_bytes(self) -> usize {
        self.mc.heap_bytes()
    }

    /// Whether a value is the message of [`Ctx::out_of_memory`].
    pub(crate) fn is_no_memory(self, message: Value<'gc>) -> bool {
        message.raw_equals(self.state.no_memory.into())
    }

    /// What a native has asked of the host.
    pub(crate) fn take_request(self) -> Option<Suspend> {
        self.state.request.take()
    }

    /// Puts a request back.
    pub(crate) fn put_request(self, request: Suspend) {
        self.state.request.replace(Some(request));
    }

    /// Withdraws the request if it is to wait for another thread; whether it was that.
    pub(crate) fn withdraw_park(self) -> bool {
        let mut request = self.state.request.borrow_mut();
        request
            .take_if(|request| matches!(request, Suspend::Park { .. }))
            .is_some()
    }

    /// Answers the native that has asked something of the host.
    pub(crate) fn put_answer(self, answer: Answer) {
        self.state.answer.replace(Some(answer));
    }

    /// Forgets an answer that nobody will take.
    pub(crate) fn drop_answer(self) {
        self.state.answer.take();
    }

    /// Compiles a chunk and makes a function of it, with `env` as its first upvalue.
    ///
    /// # Errors
    ///
    /// The message of a syntax error. If the program [is to stop](Ctx::is_to_stop), compiling ends with an error, too.
    pub fn load(
        self,
        source: &[u8],
        chunk_name: &[u8],
        env: Value<'gc>,
    ) -> Result<Closure<'gc>, Value<'gc>> {
        let taken = RefCell::new(None);
        let compiled = if crate::dump::is_binary(source) {
            crate::dump::load(source, chunk_name)
        } else {
            crate::compiler::compile_while(source, chunk_name, &|bytes| {
                !self.is_to_stop() && self.takes(&mut taken.borrow_mut(), bytes)
            })
        };
        let was_short =
            self.has_memory_limit() && taken.borrow().as_ref().is_some_and(Result::is_err);
        drop(taken);
        match compiled {
            Ok(proto) => match Function::new(self, &proto) {
                Ok(function) => Ok(Closure::main(self, function, env)),
                Err(error) => Err(error.value()),
            },
            Err(_) if was_short => Err(self.state.no_memory.into()),
            Err(error) => Err(self.string(&error.message)),
        }
    }

    /// Has compiling take so many bytes; false if there is no room.
    fn takes(self, taken: &mut Option<Result<Reservation, ()>>, bytes: usize) -> bool {
        if !self.has_memory_limit() {
            return true;
        }
        let has_room = match taken {
            Some(Ok(reservation)) => reservation.grow_to(self, bytes),
            _ => {
                *taken = Some(Reservation::new(self, bytes).ok_or(()));
                matches!(taken, Some(Ok(_)))
            }
        };
        if !has_room {
            *taken = Some(Err(()));
        }
        has_room
    }

    /// The metatable of any value.
    #[inline]
    #[must_use]
    pub fn metatable(self, value: Value<'gc>) -> Option<Table<'gc>> {
        match value {
            Value::Table(table) => table.metatable(),
            Value::UserData(data) => data.metatable(),
            _ => self.state.type_metatable(value.kind()),
        }
    }

    /// Changes the metatable of a table, of a userdata, or of all values of the type. If it has a `__gc` field, the object
    /// will be finalized; if it has a `__mode` field, the table becomes weak.
    ///
    /// # Errors
    ///
    /// If there is no memory.
    pub fn set_metatable(
        self,
        value: Value<'gc>,
        metatable: Option<Table<'gc>>,
    ) -> Result<(), Error<'gc>> {
        match value {
            Value::Table(table) => {
                table.put_metatable(self, metatable);
                table.follow_mode(self)?;
            }
            Value::UserData(data) => data.set_metatable(self, metatable),
            _ => {
                self.state.set_type_metatable(self, value.kind(), metatable);
                return Ok(());
            }
        }
        match metatable {
            Some(metatable) if !self.event_field(metatable, Event::Gc).is_nil() => {
                self.register_finalizer(value)
            }
            _ => Ok(()),
        }
    }

    /// The method for an event in a metatable; nil if there is none.
    #[inline]
    #[must_use]
    pub fn event_field(self, metatable: Table<'gc>, event: Event) -> Value<'gc> {
        if metatable.is_absent(event) {
            return Value::Nil;
        }
        let method = metatable.get_short(self, self.state.event_name(event));
        if method.is_nil() {
            metatable.note_absent(event);
        }
        method
    }

    /// The method of a value for an event; nil if there is none.
    #[inline]
    #[must_use]
    pub fn metamethod(self, value: Value<'gc>, event: Event) -> Value<'gc> {
        match self.metatable(value) {
            Some(metatable) => self.event_field(metatable, event),
            None => Value::Nil,
        }
    }

    /// A field of a value's metatable; nil if there is none.
    #[must_use]
    pub fn metafield(self, value: Value<'gc>, name: &str) -> Value<'gc> {
        match self.metatable(value) {
            Some(metatable) => metatable.get_name(self, name),
            None => Value::Nil,
        }
    }

    /// The name of a value's type in messages: the `__name` of its metatable if that is a string.
    #[must_use]
    pub fn type_name(self, value: Value<'gc>) -> std::borrow::Cow<'gc, [u8]> {
        if let Some(metatable) = match value {
            Value::Table(table) => table.metatable(),
            Value::UserData(data) => data.metatable(),
            _ => None,
        } && let Value::Str(name) = metatable.get_short(self, self.state.names().name)
        {
            return name.as_bytes().into();
        }
        value.type_name().as_bytes().into()
    }
}
