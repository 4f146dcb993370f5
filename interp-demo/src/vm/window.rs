//! The running function's view of the stack, its constants and its code: the pointers of the interpreter's loop.
//!
//! Register operands are not checked one by one. What makes that sound:
//! - the compiler counts the registers of each function and numbers its constants and jumps within bounds;
//! - a frame is entered only after the stack has been made as large as its registers need, and [`MIN_FREE`] more;
//! - [`Window::new`] is called again whenever the stack may have moved: after every call, and in each new callback.
//!
//! [`MIN_FREE`]: super::thread::MIN_FREE

use super::thread::Thread;
use super::value::Value;
use crate::opcode::Instruction;

/// The registers of the running function.
#[derive(Clone, Copy)]
pub(super) struct Window<'gc> {
    base: *mut Value<'gc>,
}

impl<'gc> Window<'gc> {
    /// # Safety
    ///
    /// `base` is the first register of the frame on top of a stack that does not move while the window is used, and the
    /// stack has slots for all registers of the frame's function.
    #[inline(always)]
    pub unsafe fn new(base: *mut Value<'gc>) -> Self {
        Window { base }
    }

    /// The registers of the frame at `base`, after the stack may have moved.
    #[inline(always)]
    pub fn of(thread: Thread<'gc>, base: u32) -> Self {
        // SAFETY: the frame's registers are there since it was entered; a stack never becomes shorter than its frames.
        unsafe { Window::new(thread.stack().add(base as usize)) }
    }

    /// A register's value.
    #[inline(always)]
    pub fn get(self, reg: u8) -> Value<'gc> {
        // SAFETY: the compiler's register numbers lie within the frame (see the module).
        unsafe { Value::load(self.base.add(reg as usize)) }
    }

    /// A register's value in place; not to be kept over a store.
    #[inline(always)]
    pub fn at<'a>(self, reg: u8) -> &'a Value<'gc> {
        // SAFETY: as in `get`; all slots hold values. The reference is used up before the next store.
        unsafe { &*self.base.add(reg as usize) }
    }

    /// Changes a register.
    #[inline(always)]
    pub fn set(self, reg: u8, value: Value<'gc>) {
        // SAFETY: as in `get`; no reference to the slot is alive.
        unsafe { Value::store(self.base.add(reg as usize), value) }
    }

    /// A register counted from another one, which may lie beyond the operand range.
    #[inline(always)]
    pub fn get_above(self, reg: u8, more: u32) -> Value<'gc> {
        // SAFETY: as in `get`: such pairs come from instructions that use consecutive registers.
        unsafe { Value::load(self.base.add(reg as usize + more as usize)) }
    }

    /// Changes a register counted from another one.
    #[inline(always)]
    pub fn set_above(self, reg: u8, more: u32, value: Value<'gc>) {
        // SAFETY: as in `get_above`.
        unsafe { Value::store(self.base.add(reg as usize + more as usize), value) }
    }

    /// The running function itself, which stands below its registers.
    #[inline(always)]
    pub fn function(self) -> Value<'gc> {
        // SAFETY: every frame's function stands below its base.
        unsafe { Value::load(self.base.sub(1)) }
    }
}

/// The constants of the running function.
#[derive(Clone, Copy)]
pub(super) struct Constants<'gc>(*const Value<'gc>);

impl<'gc> Constants<'gc> {
    /// # Safety
    ///
    /// These are the constants of the function whose instructions index them, and it is alive.
    #[inline(always)]
    pub unsafe fn new(first: *const Value<'gc>) -> Self {
        Constants(first)
    }

    /// A constant.
    #[inline(always)]
    pub fn get(self, index: u32) -> Value<'gc> {
        // SAFETY: the compiler's constant numbers lie within the array.
        unsafe { Value::load(self.0.add(index as usize)) }
    }

    /// A constant in place.
    #[inline(always)]
    pub fn at<'a>(self, index: u32) -> &'a Value<'gc> {
        // SAFETY: as in `get`; constants never change, and the function outlives the instruction.
        unsafe { &*self.0.add(index as usize) }
    }
}

/// The place in the running function's code.
#[derive(Clone, Copy)]
pub(super) struct Cursor(*const Instruction);

impl Cursor {
    /// # Safety
    ///
    /// `next` points into the code of a living function.
    #[inline(always)]
    pub unsafe fn new(next: *const Instruction) -> Self {
        Cursor(next)
    }

    /// The next instruction; moves behind it.
    #[inline(always)]
    pub fn fetch(&mut self) -> Instruction {
        // SAFETY: code ends in a return, and jumps stay within it, so there is a next instruction.
        unsafe {
            let i = *self.0;
            self.0 = self.0.add(1);
            i
        }
    }

    /// Moves by `distance` instructions.
    #[inline(always)]
    pub fn jump(&mut self, distance: i32) {
        // SAFETY: the compiler's jumps stay within the code.
        self.0 = unsafe { self.0.offset(distance as isize) };
    }

    /// Skips the next instruction.
    #[inline(always)]
    pub fn skip(&mut self) {
        self.jump(1);
    }

    /// The place, to be kept in a frame.
    #[inline(always)]
    pub fn pointer(self) -> *const Instruction {
        self.0
    }
}
