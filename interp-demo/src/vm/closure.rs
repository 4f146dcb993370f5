//! Functions written in Lua: prototypes made ready for the arena, closures, and their upvalues.
//!
//! ```text
//! Closure ──▶ [ Function | UpValue | UpValue | … ]        one allocation
//!                 │           │
//!                 │           └─▶ [ at | value ]           closed: `at` points at `value`
//!                 │               [ at | owner, next ]     open: `at` points into the owner's stack
//!                 └─▶ [ code, constants, prototypes inside, Arc<Proto> ]
//! ```

use std::cell::{Cell, UnsafeCell};
use std::collections::HashMap;
use std::sync::Arc;

use sleepy_gc::collect::Trace;
use sleepy_gc::collections::GcTail;
use sleepy_gc::{Collect, Gc};

use super::error::Error;
use super::external::External;
use super::state::Ctx;
use super::string::{LuaStr, SHORT_MAX};
use super::thread::Thread;
use super::value::Value;
use crate::opcode::Instruction;
use crate::proto::{Constant, Proto};

/// A prototype whose constants are values of the arena.
pub struct Function<'gc> {
    proto: Arc<Proto>,
    /// The instructions of `proto`, which never changes or moves.
    code: *const Instruction,
    constants: Box<[Value<'gc>]>,
    functions: Box<[Gc<'gc, Function<'gc>>]>,
    max_stack: u8,
    num_params: u8,
    _external: External,
}

// SAFETY: both arrays of pointers are traced and never change; the destructor touches neither's targets.
unsafe impl<'gc> Collect<'gc> for Function<'gc> {
    const SEND: bool = true;

    fn trace<T: Trace<'gc>>(&self, cc: &mut T) {
        for constant in &self.constants {
            constant.trace(cc);
        }
        for function in &self.functions {
            function.trace(cc);
        }
    }
}

impl<'gc> Function<'gc> {
    /// Makes `proto`, and all prototypes inside it, ready to run.
    ///
    /// # Errors
    ///
    /// If there is no memory.
    pub fn new(ctx: Ctx<'gc>, proto: &Arc<Proto>) -> Result<Gc<'gc, Function<'gc>>, Error<'gc>> {
        Self::make(ctx, proto, &mut HashMap::new()).ok_or_else(|| ctx.out_of_memory())
    }

    /// `long`: the long strings of the chunk. Equal ones are the same object.
    fn make(
        ctx: Ctx<'gc>,
        proto: &Arc<Proto>,
        long: &mut HashMap<Arc<[u8]>, LuaStr<'gc>>,
    ) -> Option<Gc<'gc, Function<'gc>>> {
        let functions = proto.protos.iter();
        let functions = functions
            .map(|p| Self::make(ctx, p, long))
            .collect::<Option<_>>()?;
        let constants = proto.constants.iter().map(|constant| {
            Some(match constant {
                Constant::Nil => Value::Nil,
                Constant::Bool(v) => Value::Bool(*v),
                Constant::Int(v) => Value::Int(*v),
                Constant::Float(v) => Value::Float(*v),
                Constant::Str(v) if v.len() <= SHORT_MAX => Value::Str(LuaStr::try_new(ctx, v)?),
                Constant::Str(v) => match long.get(v) {
                    Some(string) => Value::Str(*string),
                    None => {
                        let string = LuaStr::try_new(ctx, v)?;
                        long.insert(Arc::clone(v), string);
                        Value::Str(string)
                    }
                },
            })
        });
        let function = Function {
            code: proto.code.as_ptr(),
            constants: constants.collect::<Option<_>>()?,
            functions,
            max_stack: proto.max_stack,
            num_params: proto.num_params,
            _external: External::new(ctx.mc, proto.bytes()),
            proto: Arc::clone(proto),
        };
        Gc::try_new(ctx.mc, function).ok()
    }

    /// The compiled function.
    #[inline]
    #[must_use]
    pub fn proto(&self) -> &Arc<Proto> {
        &self.proto
    }

    #[inline]
    pub(super) fn code(&self) -> *const Instruction {
        self.code
    }

    #[inline]
    pub(super) fn constants(&self) -> *const Value<'gc> {
        self.constants.as_ptr()
    }

    /// The number of registers.
    #[inline]
    pub(super) fn max_stack(&self) -> u32 {
        u32::from(self.max_stack)
    }

    /// The number of fixed parameters.
    #[inline]
    pub(super) fn num_params(&self) -> u32 {
        u32::from(self.num_params)
    }

    #[inline]
    pub(super) fn inner(&self, i: usize) -> Gc<'gc, Function<'gc>> {
        self.functions[i]
    }
}

/// What stands before a closure's upvalues.
pub struct ClosureHeader<'gc> {
    function: Gc<'gc, Function<'gc>>,
}

// SAFETY: the one pointer is traced and never changes.
unsafe impl<'gc> Collect<'gc> for ClosureHeader<'gc> {
    const SEND: bool = true;

    fn trace<T: Trace<'gc>>(&self, cc: &mut T) {
        self.function.trace(cc);
    }
}

/// A place for an upvalue in a closure; `debug.upvaluejoin` may put another upvalue there.
struct UpValueSlot<'gc>(Cell<UpValue<'gc>>);

// SAFETY: the pointer is traced; `Closure::join`, the only store, runs a barrier.
unsafe impl<'gc> Collect<'gc> for UpValueSlot<'gc> {
    const SEND: bool = true;

    fn trace<T: Trace<'gc>>(&self, cc: &mut T) {
        self.0.get().trace(cc);
    }
}

/// A function written in Lua.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Closure<'gc>(GcTail<'gc, ClosureHeader<'gc>, UpValueSlot<'gc>>);

// SAFETY: the one pointer is traced.
unsafe impl<'gc> Collect<'gc> for Closure<'gc> {
    const SEND: bool = true;

    #[inline]
    fn trace<T: Trace<'gc>>(&self, cc: &mut T) {
        self.0.trace(cc);
    }
}

impl<'gc> Closure<'gc> {
    /// A closure of `function` with as many upvalues as it declares: `upvalue(i)` for each.
    pub(super) fn new(
        ctx: Ctx<'gc>,
        function: Gc<'gc, Function<'gc>>,
        mut upvalue: impl FnMut(usize) -> UpValue<'gc>,
    ) -> Closure<'gc> {
        let count = function.proto.upvalues.len();
        let header = ClosureHeader { function };
        Closure(GcTail::new(ctx.mc, header, count, |i| {
            UpValueSlot(Cell::new(upvalue(i)))
        }))
    }

    /// A closure of a main function: its first upvalue is `env`, others are nil.
    #[must_use]
    pub fn main(ctx: Ctx<'gc>, function: Gc<'gc, Function<'gc>>, env: Value<'gc>) -> Closure<'gc> {
        Self::new(ctx, function, |i| {
            UpValue::closed(ctx, if i == 0 { env } else { Value::Nil })
        })
    }

    /// The prototype.
    #[inline(always)]
    #[must_use]
    pub fn function(self) -> Gc<'gc, Function<'gc>> {
        self.0.header().function
    }

    /// The compiled function.
    #[inline]
    #[must_use]
    pub fn proto(self) -> &'gc Arc<Proto> {
        &Gc::as_ref(self.function()).proto
    }

    /// The number of upvalues.
    #[must_use]
    pub fn upvalue_count(self) -> usize {
        self.0.tail().len()
    }

    /// Upvalue `i`.
    ///
    /// # Panics
    ///
    /// If there is no such upvalue.
    #[inline]
    #[must_use]
    pub fn upvalue(self, i: usize) -> UpValue<'gc> {
        self.0.tail()[i].0.get()
    }

    /// Upvalue `i`, without a check.
    ///
    /// # Safety
    ///
    /// The closure has more than `i` upvalues.
    #[inline(always)]
    pub(super) unsafe fn upvalue_unchecked(self, i: usize) -> UpValue<'gc> {
        // SAFETY: the caller's contract.
        unsafe { self.0.tail().get_unchecked(i).0.get() }
    }

    /// Makes upvalue `i` the same variable as `upvalue`.
    ///
    /// # Panics
    ///
    /// If there is no such upvalue.
    pub fn join(self, ctx: Ctx<'gc>, i: usize, upvalue: UpValue<'gc>) {
        ctx.mc.shade_in(self.0.erase(), &upvalue);
        self.0.tail()[i].0.set(upvalue);
    }

    /// Whether both are the same object.
    #[inline]
    #[must_use]
    pub fn ptr_eq(self, other: Closure<'gc>) -> bool {
        self.address() == other.address()
    }

    /// The object, its type forgotten.
    pub(in crate::vm) fn erase(self) -> Gc<'gc, ()> {
        self.0.erase()
    }

    /// The object's address.
    #[inline]
    #[must_use]
    pub fn address(self) -> *const () {
        GcTail::as_ptr(self.0).cast()
    }
}

/// A variable that closures share.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct UpValue<'gc>(Gc<'gc, UpValueBody<'gc>>);

/// The object behind an [`UpValue`].
///
/// It is closed if `at` points at its own `closed` value, and open otherwise: `at` then points into the stack of
/// `owner`, which is kept alive, and `next` is the owner's open upvalue of the next lower stack slot.
pub struct UpValueBody<'gc> {
    at: Cell<*mut Value<'gc>>,
    rest: UnsafeCell<Rest<'gc>>,
}

union Rest<'gc> {
    closed: Value<'gc>,
    open: Open<'gc>,
}

#[derive(Clone, Copy)]
struct Open<'gc> {
    owner: Thread<'gc>,
    next: Option<UpValue<'gc>>,
}

// SAFETY: a closed upvalue traces its value, an open one its owner (which holds the value in its stack) and its
// neighbour; stores run barriers (`set`, `close`, `set_next`).
unsafe impl<'gc> Collect<'gc> for UpValueBody<'gc> {
    const SEND: bool = true;

    fn trace<T: Trace<'gc>>(&self, cc: &mut T) {
        if self.is_open() {
            // SAFETY: the upvalue is open, so `rest` is `open`; nothing writes to it during a trace.
            let open = unsafe { (*self.rest.get()).open };
            open.owner.trace(cc);
            if let Some(next) = open.next {
                next.trace(cc);
            }
        } else {
            // SAFETY: the upvalue is closed, so `rest` is `closed`.
            unsafe { (*self.rest.get()).closed }.trace(cc);
        }
    }
}

// SAFETY: the one pointer is traced.
unsafe impl<'gc> Collect<'gc> for UpValue<'gc> {
    const SEND: bool = true;

    #[inline]
    fn trace<T: Trace<'gc>>(&self, cc: &mut T) {
        self.0.trace(cc);
    }
}

impl<'gc> UpValueBody<'gc> {
    fn own_value(&self) -> *mut Value<'gc> {
        self.rest.get().cast()
    }

    fn is_open(&self) -> bool {
        !std::ptr::eq(self.at.get(), self.own_value())
    }
}

impl<'gc> UpValue<'gc> {
    /// A closed upvalue.
    #[must_use]
    pub fn closed(ctx: Ctx<'gc>, value: Value<'gc>) -> UpValue<'gc> {
        let upvalue = Gc::new(
            ctx.mc,
            UpValueBody {
                at: Cell::new(std::ptr::null_mut()),
                rest: UnsafeCell::new(Rest { closed: value }),
            },
        );
        upvalue.at.set(upvalue.own_value());
        UpValue(upvalue)
    }

    /// An open upvalue of the stack slot at `at`.
    ///
    /// # Safety
    ///
    /// `at` is a slot of `owner`'s stack; [`UpValue::move_to`] is called when the stack moves, and [`UpValue::close`]
    /// before the slot is given up.
    pub(super) unsafe fn open(
        ctx: Ctx<'gc>,
        owner: Thread<'gc>,
        at: *mut Value<'gc>,
        next: Option<UpValue<'gc>>,
    ) -> UpValue<'gc> {
        UpValue(Gc::new(
            ctx.mc,
            UpValueBody {
                at: Cell::new(at),
                rest: UnsafeCell::new(Rest {
                    open: Open { owner, next },
                }),
            },
        ))
    }

    /// The variable's value.
    #[inline(always)]
    #[must_use]
    pub fn get(self) -> Value<'gc> {
        // SAFETY: `at` points at the own value or, by the contract of `open`, at a slot of a living stack.
        unsafe { Value::load(self.0.as_ref().at.get()) }
    }

    /// Assigns to the variable.
    #[inline(always)]
    pub fn set(self, ctx: Ctx<'gc>, value: Value<'gc>) {
        if ctx.mc.is_marking() {
            self.barrier(ctx, value);
        }
        // SAFETY: as in `get`; values are plain data and no reference to the place is alive.
        unsafe { Value::store(self.0.as_ref().at.get(), value) };
    }

    #[cold]
    fn barrier(self, ctx: Ctx<'gc>, value: Value<'gc>) {
        if self.0.as_ref().is_open() {
            // The slot is one of a stack that may have been scanned already.
            ctx.barrier(value);
        } else {
            ctx.barrier_in(Gc::erase(self.0), value);
        }
    }

    /// Where the value is.
    #[inline]
    pub(super) fn place(self) -> *mut Value<'gc> {
        self.0.as_ref().at.get()
    }

    /// The open upvalue of the next lower stack slot.
    ///
    /// # Safety
    ///
    /// The upvalue is open.
    pub(super) unsafe fn next(self) -> Option<UpValue<'gc>> {
        // SAFETY: open by contract, so `rest` is `open`.
        unsafe { (*self.0.as_ref().rest.get()).open.next }
    }

    /// Changes the neighbour.
    ///
    /// # Safety
    ///
    /// The upvalue is open.
    pub(super) unsafe fn set_next(self, ctx: Ctx<'gc>, next: Option<UpValue<'gc>>) {
        if let Some(next) = next {
            ctx.mc.shade_in(Gc::erase(self.0), &next);
        }
        // SAFETY: open by contract, so `rest` is `open`; no reference into it is alive.
        unsafe { (*self.0.as_ref().rest.get()).open.next = next };
    }

    /// The stack has moved: the slot is at `at` now.
    ///
    /// # Safety
    ///
    /// The upvalue is open, and `at` is the same slot in the moved stack.
    pub(super) unsafe fn move_to(self, at: *mut Value<'gc>) {
        self.0.as_ref().at.set(at);
    }

    /// Takes the value out of the stack.
    pub(super) fn close(self, ctx: Ctx<'gc>) {
        let value = self.get();
        ctx.barrier_in(Gc::erase(self.0), value);
        let body = self.0.as_ref();
        // SAFETY: `rest` is a union of plain data, no reference into it is alive.
        unsafe { (*body.rest.get()).closed = value };
        body.at.set(body.own_value());
    }

    /// Whether both are the same variable.
    #[must_use]
    pub fn ptr_eq(self, other: UpValue<'gc>) -> bool {
        Gc::ptr_eq(self.0, other.0)
    }

    /// The object's address, for `debug.upvalueid`.
    #[must_use]
    pub fn address(self) -> *const () {
        Gc::as_ptr(self.0).cast()
    }
}
