//! The frames of a coroutine: one for each function that has begun and not returned, plain data.
//!
//! ```text
//!   frame.func         base                          top
//!        │              │                             │
//!  ── [ function ][ R0 ][ R1 ] … [ R(max_stack-1) ]   │  a Lua function
//!  ── [ function ][ slot 0 ][ slot 1 ] … [ last slot ]   a native: `top` moves with its slots
//! ```
//!
//! A vararg function is moved above its arguments when it begins; `extra_args` tells how many stand below it.
//! Plain natives have no frame at all as long as they neither call back nor fail.

use super::native::NativeFn;
use crate::opcode::Instruction;

/// The callee wants all results.
pub(super) const ALL_RESULTS: i16 = -1;

/// What a frame is and how its end is handled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Flags(u16);

impl Flags {
    /// A Lua function; else a native.
    pub const LUA: Flags = Flags(1);
    /// When this frame ends, the Lua frame below finishes the instruction in which it made the call.
    pub const FINISH: Flags = Flags(1 << 1);
    /// A native whose callback is protected.
    pub const PROTECTED: Flags = Flags(1 << 2);
    /// A native whose callback is protected with a message handler, in slot `aux2`.
    pub const HANDLER: Flags = Flags(1 << 3);
    /// A native whose callback can't yield.
    pub const NO_YIELD: Flags = Flags(1 << 4);
    /// A frame of the interpreter itself, not shown in tracebacks.
    pub const HIDDEN: Flags = Flags(1 << 5);
    /// The callback of this native has failed.
    pub const FAILED: Flags = Flags(1 << 6);
    /// Entered by a tail call.
    pub const TAIL: Flags = Flags(1 << 7);
    /// A native that runs a message handler.
    pub const IN_HANDLER: Flags = Flags(1 << 8);
    /// A native that unwinds the stack: runs `__close` methods after an error.
    pub const UNWINDING: Flags = Flags(1 << 9);
    /// A finalizer.
    pub const FINALIZER: Flags = Flags(1 << 10);
    /// A native whose callback runs.
    pub const IN_CALLBACK: Flags = Flags(1 << 11);

    /// The hidden frame below a debug hook.
    pub const HOOK: Flags = Flags(1 << 12);
    /// A native whose return event is over.
    pub const RETURNING: Flags = Flags(1 << 13);

    /// A native that returns what comes back from another coroutine.
    pub const PASSES: Flags = Flags(1 << 14);
    /// With `PASSES`: and `true` before it.
    pub const TELLS: Flags = Flags(1 << 15);

    pub const NONE: Flags = Flags(0);

    #[inline(always)]
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 != 0
    }

    #[inline(always)]
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    pub const fn only(self, other: Flags) -> Flags {
        Flags(self.0 & other.0)
    }

    #[inline(always)]
    pub const fn without(self, other: Flags) -> Flags {
        Flags(self.0 & !other.0)
    }
}

/// One function that has begun and not returned.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    /// Stack index of the function.
    pub func: u32,
    /// Stack index of the first register or slot.
    pub base: u32,
    /// Stack index above the last register or slot.
    pub top: u32,
    /// How many results the caller wants.
    pub results: i16,
    pub flags: Flags,
    /// Lua: the next instruction, up to date only while the frame is not running.
    pub pc: *const Instruction,
    /// Native: what goes on when the callback has ended.
    pub then: Option<NativeFn>,
    /// Native: the number it keeps. Lua: how far its debug hooks have got.
    pub state: i64,
    /// Lua: how many extra arguments stand below the frame. Native: the stack index where results arrive.
    pub aux: u32,
    /// Lua: how many results a return that is interrupted by `__close` has. Native: the stack index of the handler.
    pub aux2: u32,
}

impl Frame {
    #[inline(always)]
    pub fn is_lua(&self) -> bool {
        self.flags.has(Flags::LUA)
    }

    /// A native frame with nothing pending.
    pub fn native(func: u32, top: u32, results: i16, flags: Flags) -> Frame {
        Frame {
            func,
            base: func + 1,
            top,
            results,
            flags,
            pc: std::ptr::null(),
            then: None,
            state: 0,
            aux: top,
            aux2: 0,
        }
    }
}
