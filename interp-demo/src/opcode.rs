//! The instruction set of the register machine: Lua 5.4's own, with its formats and operand meanings.
//!
//! An instruction is 32 bits. The opcode takes the low 7 bits, in every format:
//!
//! ```text
//!          31      24 23      16 15 14       7 6      0
//! iABC     [   C    ][    B    ][k][    A    ][  op   ]
//! iABx     [        Bx (17)       ][    A    ][  op   ]
//! iAsBx    [   sBx = Bx - 65535   ][    A    ][  op   ]
//! iAx      [             Ax (25)             ][  op   ]
//! isJ      [      sJ = raw - 16777215        ][  op   ]
//! ```
//!
//! `sB` and `sC` are `B - 127` and `C - 127`.
//! Notation of the comments below: `R[x]` a register, `K[x]` a constant, `U[x]` an upvalue, `RK(x)` is `K[x]` if the
//! `k` bit is set and `R[x]` if not, `pc` already points at the next instruction.

use std::fmt;

/// Largest value of an 8-bit operand (`A`, `B`, `C`).
pub const MAX_ARG: u32 = 0xff;
/// Largest value of `Bx`.
pub const MAX_BX: u32 = (1 << 17) - 1;
/// What is added to a signed `sBx` to store it.
pub const OFFSET_SBX: i32 = (MAX_BX >> 1) as i32;
/// Largest value of `Ax`.
pub const MAX_AX: u32 = (1 << 25) - 1;
/// What is added to a signed `sJ` to store it.
pub const OFFSET_SJ: i32 = (MAX_AX >> 1) as i32;
/// What is added to a signed `sB` or `sC` to store it.
pub const OFFSET_SC: i32 = 127;
/// `A` of a jump test, or of a dummy operand, that names no register.
pub const NO_REG: u8 = 0xff;

macro_rules! opcodes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $mode:ident $(, $flag:ident)*;)*) => {
        /// The operations.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        #[repr(u8)]
        pub enum Op { $($(#[$doc])* $name,)* }

        /// All operations, by number.
        const ALL: &[Op] = &[$(Op::$name,)*];
        const NAMES: &[&str] = &[$($text,)*];
        const MODES: &[Mode] = &[$(Mode { format: Format::$mode, ..Mode::NONE }$(.$flag())*,)*];
    };
}

/// How the operands of an operation are laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Three 8-bit operands and the `k` bit.
    ABC,
    /// `A` and an unsigned 17-bit operand.
    ABx,
    /// `A` and a signed 17-bit operand.
    AsBx,
    /// One unsigned 25-bit operand.
    Ax,
    /// One signed 25-bit operand.
    SJ,
}

/// What an operation does apart from its own work.
#[derive(Clone, Copy)]
struct Mode {
    format: Format,
    sets_a: bool,
    is_test: bool,
}

impl Mode {
    const NONE: Mode = Mode {
        format: Format::ABC,
        sets_a: false,
        is_test: false,
    };

    const fn sets_a(mut self) -> Mode {
        self.sets_a = true;
        self
    }

    const fn is_test(mut self) -> Mode {
        self.is_test = true;
        self
    }
}

opcodes! {
    /// `A B`: R[A] := R[B]
    Move = "MOVE", ABC, sets_a;
    /// `A sBx`: R[A] := sBx, an integer
    LoadI = "LOADI", AsBx, sets_a;
    /// `A sBx`: R[A] := sBx, as a float
    LoadF = "LOADF", AsBx, sets_a;
    /// `A Bx`: R[A] := K[Bx]
    LoadK = "LOADK", ABx, sets_a;
    /// `A`: R[A] := K[Ax of the `ExtraArg` that follows]; skips it
    LoadKX = "LOADKX", ABx, sets_a;
    /// `A`: R[A] := false
    LoadFalse = "LOADFALSE", ABC, sets_a;
    /// `A`: R[A] := false; pc++
    LFalseSkip = "LFALSESKIP", ABC, sets_a;
    /// `A`: R[A] := true
    LoadTrue = "LOADTRUE", ABC, sets_a;
    /// `A B`: R[A], R[A+1], …, R[A+B] := nil
    LoadNil = "LOADNIL", ABC, sets_a;
    /// `A B`: R[A] := U[B]
    GetUpval = "GETUPVAL", ABC, sets_a;
    /// `A B`: U[B] := R[A]
    SetUpval = "SETUPVAL", ABC;
    /// `A B C`: R[A] := U[B][K[C]], K[C] a short string
    GetTabUp = "GETTABUP", ABC, sets_a;
    /// `A B C`: R[A] := R[B][R[C]]
    GetTable = "GETTABLE", ABC, sets_a;
    /// `A B C`: R[A] := R[B][C], C an integer
    GetI = "GETI", ABC, sets_a;
    /// `A B C`: R[A] := R[B][K[C]], K[C] a short string
    GetField = "GETFIELD", ABC, sets_a;
    /// `A B C k`: U[A][K[B]] := RK(C), K[B] a short string
    SetTabUp = "SETTABUP", ABC;
    /// `A B C k`: R[A][R[B]] := RK(C)
    SetTable = "SETTABLE", ABC;
    /// `A B C k`: R[A][B] := RK(C), B an integer
    SetI = "SETI", ABC;
    /// `A B C k`: R[A][K[B]] := RK(C), K[B] a short string
    SetField = "SETFIELD", ABC;
    /// `A B C k`: R[A] := {}; B > 0: room for 2^(B-1) keys, less those that the `ExtraArg` that follows and is skipped says ([`Instruction::unused_keys`]); room for C items (plus 256 times those that it says, if k)
    NewTable = "NEWTABLE", ABC, sets_a;
    /// `A B C k`: R[A+1] := R[B]; R[A] := R[B][RK(C)], RK(C) a string
    SelfOp = "SELF", ABC, sets_a;
    /// `A B sC`: R[A] := R[B] + sC; on success skips the `MmBinI` that follows
    AddI = "ADDI", ABC, sets_a;
    /// `A B C`: R[A] := R[B] + K[C], a number; on success skips the `MmBinK` that follows, as do all down to `BXorK`
    AddK = "ADDK", ABC, sets_a;
    /// `A B C`: R[A] := R[B] - K[C]
    SubK = "SUBK", ABC, sets_a;
    /// `A B C`: R[A] := R[B] * K[C]
    MulK = "MULK", ABC, sets_a;
    /// `A B C`: R[A] := R[B] % K[C]
    ModK = "MODK", ABC, sets_a;
    /// `A B C`: R[A] := R[B] ^ K[C]
    PowK = "POWK", ABC, sets_a;
    /// `A B C`: R[A] := R[B] / K[C]
    DivK = "DIVK", ABC, sets_a;
    /// `A B C`: R[A] := R[B] // K[C]
    IDivK = "IDIVK", ABC, sets_a;
    /// `A B C`: R[A] := R[B] & K[C], K[C] has an integer's value
    BAndK = "BANDK", ABC, sets_a;
    /// `A B C`: R[A] := R[B] | K[C]
    BOrK = "BORK", ABC, sets_a;
    /// `A B C`: R[A] := R[B] ~ K[C]
    BXorK = "BXORK", ABC, sets_a;
    /// `A B sC`: R[A] := R[B] >> sC; on success skips the `MmBinI` that follows
    ShrI = "SHRI", ABC, sets_a;
    /// `A B sC`: R[A] := sC << R[B]; on success skips the `MmBinI` that follows
    ShlI = "SHLI", ABC, sets_a;
    /// `A B C`: R[A] := R[B] + R[C]; on success skips the `MmBin` that follows, as do all down to `Shr`
    Add = "ADD", ABC, sets_a;
    /// `A B C`: R[A] := R[B] - R[C]
    Sub = "SUB", ABC, sets_a;
    /// `A B C`: R[A] := R[B] * R[C]
    Mul = "MUL", ABC, sets_a;
    /// `A B C`: R[A] := R[B] % R[C]
    Mod = "MOD", ABC, sets_a;
    /// `A B C`: R[A] := R[B] ^ R[C]
    Pow = "POW", ABC, sets_a;
    /// `A B C`: R[A] := R[B] / R[C]
    Div = "DIV", ABC, sets_a;
    /// `A B C`: R[A] := R[B] // R[C]
    IDiv = "IDIV", ABC, sets_a;
    /// `A B C`: R[A] := R[B] & R[C]
    BAnd = "BAND", ABC, sets_a;
    /// `A B C`: R[A] := R[B] | R[C]
    BOr = "BOR", ABC, sets_a;
    /// `A B C`: R[A] := R[B] ~ R[C]
    BXor = "BXOR", ABC, sets_a;
    /// `A B C`: R[A] := R[B] << R[C]
    Shl = "SHL", ABC, sets_a;
    /// `A B C`: R[A] := R[B] >> R[C]
    Shr = "SHR", ABC, sets_a;
    /// `A B C`: calls metamethod C (an [`Event`]) over R[A] and R[B]; the result goes to A of the instruction before
    MmBin = "MMBIN", ABC;
    /// `A sB C k`: calls metamethod C over R[A] and sB (in reverse order if k); the result goes to A of the instruction before
    MmBinI = "MMBINI", ABC;
    /// `A B C k`: calls metamethod C over R[A] and K[B] (in reverse order if k); the result goes to A of the instruction before
    MmBinK = "MMBINK", ABC;
    /// `A B`: R[A] := -R[B]
    Unm = "UNM", ABC, sets_a;
    /// `A B`: R[A] := ~R[B]
    BNot = "BNOT", ABC, sets_a;
    /// `A B`: R[A] := not R[B]
    Not = "NOT", ABC, sets_a;
    /// `A B`: R[A] := #R[B]
    Len = "LEN", ABC, sets_a;
    /// `A B`: R[A] := R[A] .. … .. R[A+B-1]
    Concat = "CONCAT", ABC, sets_a;
    /// `A`: closes all upvalues and to-be-closed variables >= R[A]
    Close = "CLOSE", ABC;
    /// `A`: marks R[A] as to be closed
    Tbc = "TBC", ABC;
    /// `sJ`: pc += sJ
    Jmp = "JMP", SJ;
    /// `A B k`: if (R[A] == R[B]) ~= k then pc++ (skips the `Jmp` that follows) else does that `Jmp`; all tests work so
    Eq = "EQ", ABC, is_test;
    /// `A B k`: if (R[A] < R[B]) ~= k then pc++
    Lt = "LT", ABC, is_test;
    /// `A B k`: if (R[A] <= R[B]) ~= k then pc++
    Le = "LE", ABC, is_test;
    /// `A B k`: if (R[A] == K[B]) ~= k then pc++, a raw comparison
    EqK = "EQK", ABC, is_test;
    /// `A sB k`: if (R[A] == sB) ~= k then pc++, a raw comparison
    EqI = "EQI", ABC, is_test;
    /// `A sB C k`: if (R[A] < sB) ~= k then pc++; C ~= 0: the immediate was a float (for a metamethod)
    LtI = "LTI", ABC, is_test;
    /// `A sB C k`: if (R[A] <= sB) ~= k then pc++
    LeI = "LEI", ABC, is_test;
    /// `A sB C k`: if (R[A] > sB) ~= k then pc++; a metamethod sees `__lt(sB, R[A])`
    GtI = "GTI", ABC, is_test;
    /// `A sB C k`: if (R[A] >= sB) ~= k then pc++; a metamethod sees `__le(sB, R[A])`
    GeI = "GEI", ABC, is_test;
    /// `A k`: if (not R[A]) == k then pc++
    Test = "TEST", ABC, is_test;
    /// `A B k`: if (not R[B]) == k then pc++ else R[A] := R[B] and does the `Jmp`
    TestSet = "TESTSET", ABC, is_test, sets_a;
    /// `A B C`: R[A], …, R[A+C-2] := R[A](R[A+1], …, R[A+B-1]); B = 0: arguments up to the top; C = 0: all results, sets the top
    Call = "CALL", ABC, sets_a;
    /// `A B C k`: return R[A](R[A+1], …, R[A+B-1]); k: there are upvalues to close; C > 0: a vararg function with C-1 fixed parameters
    TailCall = "TAILCALL", ABC, sets_a;
    /// `A B C k`: return R[A], …, R[A+B-2]; B = 0: up to the top; k: there are upvalues or variables to close; C > 0: a vararg function with C-1 fixed parameters
    Return = "RETURN", ABC;
    /// return nothing (nothing to close, not vararg)
    Return0 = "RETURN0", ABC;
    /// `A`: return R[A] (nothing to close, not vararg)
    Return1 = "RETURN1", ABC;
    /// `A Bx`: steps the counter or index; if the loop goes on R[A+3] := index and pc -= Bx
    ForLoop = "FORLOOP", ABx, sets_a;
    /// `A Bx`: checks and prepares R[A] (start), R[A+1] (limit, becomes the count of iterations of an integer loop), R[A+2] (step), R[A+3] := start; if the loop does not run pc += Bx + 1
    ForPrep = "FORPREP", ABx, sets_a;
    /// `A Bx`: marks R[A+3] as to be closed; pc += Bx
    TForPrep = "TFORPREP", ABx;
    /// `A C`: R[A+4], …, R[A+3+C] := R[A](R[A+1], R[A+2])
    TForCall = "TFORCALL", ABC;
    /// `A Bx`: if R[A+4] ~= nil then { R[A+2] := R[A+4]; pc -= Bx }
    TForLoop = "TFORLOOP", ABx, sets_a;
    /// `A B C k`: R[A][C+i] := R[A+i], 1 <= i <= B; B = 0: up to the top; k: C += 256 * Ax of the `ExtraArg` that follows, which is skipped
    SetList = "SETLIST", ABC;
    /// `A Bx`: R[A] := closure of prototype Bx
    Closure = "CLOSURE", ABx, sets_a;
    /// `A C`: R[A], …, R[A+C-2] := the variable arguments; C = 0: all, sets the top
    Vararg = "VARARG", ABC, sets_a;
    /// `A`: the frame of a vararg function with A fixed parameters is moved above its arguments
    VarargPrep = "VARARGPREP", ABC, sets_a;
    /// `Ax`: a larger operand of the instruction before
    ExtraArg = "EXTRAARG", Ax;
}

impl Op {
    /// The operation's number as it stands in an instruction, if there is one.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Op> {
        if (number as usize) < ALL.len() {
            Some(ALL[number as usize])
        } else {
            None
        }
    }

    /// The name of a listing, in capitals.
    #[must_use]
    pub const fn name(self) -> &'static str {
        NAMES[self as usize]
    }

    /// The layout of the operands.
    #[must_use]
    pub const fn format(self) -> Format {
        MODES[self as usize].format
    }

    /// Whether the operation writes register `A`.
    #[must_use]
    pub const fn sets_a(self) -> bool {
        MODES[self as usize].sets_a
    }

    /// Whether the operation is a test: the instruction after it is the `Jmp` it may skip.
    #[must_use]
    pub const fn is_test(self) -> bool {
        MODES[self as usize].is_test
    }
}

/// One instruction. It always holds a valid opcode: only the constructors below and [`Instruction::from_raw`] make one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Instruction(u32);

impl Instruction {
    /// An iABC instruction.
    #[inline]
    #[must_use]
    pub const fn abck(op: Op, a: u8, b: u8, c: u8, k: bool) -> Self {
        Self(op as u32 | (a as u32) << 7 | (k as u32) << 15 | (b as u32) << 16 | (c as u32) << 24)
    }

    /// An iABx instruction; `bx` is cut to 17 bits.
    #[inline]
    #[must_use]
    pub const fn abx(op: Op, a: u8, bx: u32) -> Self {
        Self(op as u32 | (a as u32) << 7 | (bx & MAX_BX) << 15)
    }

    /// An iAsBx instruction.
    #[inline]
    #[must_use]
    pub const fn asbx(op: Op, a: u8, sbx: i32) -> Self {
        Self::abx(op, a, sbx.wrapping_add(OFFSET_SBX) as u32)
    }

    /// An iAx instruction; `ax` is cut to 25 bits.
    #[inline]
    #[must_use]
    pub const fn ax_op(op: Op, ax: u32) -> Self {
        Self(op as u32 | (ax & MAX_AX) << 7)
    }

    /// The `ExtraArg` of a `NewTable`: `items` fit into 17 bits, or are cut to as many as there are; of more unused keys than 8
    /// bits tell none are told, for both are but hints.
    #[inline]
    #[must_use]
    pub const fn table_room(items: u32, unused_keys: u32) -> Self {
        let items = if items > MAX_BX { MAX_BX } else { items };
        let unused_keys = if unused_keys > MAX_ARG {
            0
        } else {
            unused_keys
        };
        Self::ax_op(Op::ExtraArg, unused_keys << 17 | items)
    }

    /// An isJ instruction.
    #[inline]
    #[must_use]
    pub const fn jump(op: Op, sj: i32) -> Self {
        Self::ax_op(op, sj.wrapping_add(OFFSET_SJ) as u32)
    }

    /// The instruction with these bits, if its opcode exists.
    #[must_use]
    pub const fn from_raw(raw: u32) -> Option<Self> {
        match Op::from_number((raw & 0x7f) as u8) {
            Some(_) => Some(Self(raw)),
            None => None,
        }
    }

    /// The bits.
    #[inline]
    #[must_use]
    pub const fn raw(self) -> u32 {
        self.0
    }

    /// The operation.
    #[inline]
    #[must_use]
    pub const fn op(self) -> Op {
        // SAFETY: the low 7 bits were put there from an `Op` or checked by `from_raw`, and nothing else writes them;
        // `Op` is `repr(u8)` without explicit discriminants, so each checked number is a variant.
        unsafe { std::mem::transmute::<u8, Op>((self.0 & 0x7f) as u8) }
    }

    /// Operand `A`.
    #[inline]
    #[must_use]
    pub const fn a(self) -> u8 {
        (self.0 >> 7) as u8
    }

    /// Operand `B`.
    #[inline]
    #[must_use]
    pub const fn b(self) -> u8 {
        (self.0 >> 16) as u8
    }

    /// Operand `C`.
    #[inline]
    #[must_use]
    pub const fn c(self) -> u8 {
        (self.0 >> 24) as u8
    }

    /// `B` as a signed number.
    #[inline]
    #[must_use]
    pub const fn sb(self) -> i32 {
        self.b() as i32 - OFFSET_SC
    }

    /// `C` as a signed number.
    #[inline]
    #[must_use]
    pub const fn sc(self) -> i32 {
        self.c() as i32 - OFFSET_SC
    }

    /// The `k` bit.
    #[inline]
    #[must_use]
    pub const fn k(self) -> bool {
        self.0 & (1 << 15) != 0
    }

    /// Operand `Bx`.
    #[inline]
    #[must_use]
    pub const fn bx(self) -> u32 {
        self.0 >> 15
    }

    /// `Bx` as a signed number.
    #[inline]
    #[must_use]
    pub const fn sbx(self) -> i32 {
        self.bx() as i32 - OFFSET_SBX
    }

    /// Operand `Ax`.
    #[inline]
    #[must_use]
    pub const fn ax(self) -> u32 {
        self.0 >> 7
    }

    /// Of the `ExtraArg` of a `NewTable`: 256 times so many items.
    #[inline]
    #[must_use]
    pub const fn extra_items(self) -> u32 {
        self.ax() & MAX_BX
    }

    /// Of the `ExtraArg` of a `NewTable`: so many keys there are fewer than the power of two that it tells.
    #[inline]
    #[must_use]
    pub const fn unused_keys(self) -> u32 {
        self.ax() >> 17
    }

    /// The offset of a jump.
    #[inline]
    #[must_use]
    pub const fn sj(self) -> i32 {
        self.ax() as i32 - OFFSET_SJ
    }

    /// The same operands under another operation.
    #[must_use]
    pub const fn with_op(self, op: Op) -> Self {
        Self(self.0 & !0x7f | op as u32)
    }

    /// The same instruction with another `A`.
    #[must_use]
    pub const fn with_a(self, a: u8) -> Self {
        Self(self.0 & !(0xff << 7) | (a as u32) << 7)
    }

    /// The same instruction with another `B`.
    #[must_use]
    pub const fn with_b(self, b: u8) -> Self {
        Self(self.0 & !(0xff << 16) | (b as u32) << 16)
    }

    /// The same instruction with another `C`.
    #[must_use]
    pub const fn with_c(self, c: u8) -> Self {
        Self(self.0 & !(0xff << 24) | (c as u32) << 24)
    }

    /// The same instruction with another `k` bit.
    #[must_use]
    pub const fn with_k(self, k: bool) -> Self {
        Self(self.0 & !(1 << 15) | (k as u32) << 15)
    }
}

impl fmt::Debug for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (a, op) = (self.a(), self.op());
        match op.format() {
            Format::ABC => {
                let k = if self.k() { " k" } else { "" };
                write!(f, "{} {a} {} {}{k}", op.name(), self.b(), self.c())
            }
            Format::ABx => write!(f, "{} {a} {}", op.name(), self.bx()),
            Format::AsBx => write!(f, "{} {a} {}", op.name(), self.sbx()),
            Format::Ax => write!(f, "{} {}", op.name(), self.ax()),
            Format::SJ => write!(f, "{} {}", op.name(), self.sj()),
        }
    }
}

/// The events a metatable may handle; the number is what operand `C` of the `MmBin` operations holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(u8)]
#[expect(
    missing_docs,
    reason = "each is the event of the same name in the manual, §2.4"
)]
pub enum Event {
    Index,
    NewIndex,
    Gc,
    Mode,
    Len,
    Eq,
    Add,
    Sub,
    Mul,
    Mod,
    Pow,
    Div,
    IDiv,
    BAnd,
    BOr,
    BXor,
    Shl,
    Shr,
    Unm,
    BNot,
    Lt,
    Le,
    Concat,
    Call,
    Close,
}

impl Event {
    /// All events, by number.
    pub const ALL: [Event; 25] = [
        Event::Index,
        Event::NewIndex,
        Event::Gc,
        Event::Mode,
        Event::Len,
        Event::Eq,
        Event::Add,
        Event::Sub,
        Event::Mul,
        Event::Mod,
        Event::Pow,
        Event::Div,
        Event::IDiv,
        Event::BAnd,
        Event::BOr,
        Event::BXor,
        Event::Shl,
        Event::Shr,
        Event::Unm,
        Event::BNot,
        Event::Lt,
        Event::Le,
        Event::Concat,
        Event::Call,
        Event::Close,
    ];

    /// The event with this number.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Event> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// The key in the metatable, as `__add`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        const NAMES: [&str; 25] = [
            "__index",
            "__newindex",
            "__gc",
            "__mode",
            "__len",
            "__eq",
            "__add",
            "__sub",
            "__mul",
            "__mod",
            "__pow",
            "__div",
            "__idiv",
            "__band",
            "__bor",
            "__bxor",
            "__shl",
            "__shr",
            "__unm",
            "__bnot",
            "__lt",
            "__le",
            "__concat",
            "__call",
            "__close",
        ];
        NAMES[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_match_the_tables() {
        assert_eq!(ALL.len(), 83);
        for (number, op) in ALL.iter().enumerate() {
            assert_eq!(*op as usize, number);
        }
        for (number, event) in Event::ALL.iter().enumerate() {
            assert_eq!(*event as usize, number);
        }
        assert!(Op::from_number(83).is_none());
        assert!(Instruction::from_raw(0x7f).is_none());
    }

    #[test]
    fn operands_come_back() {
        let i = Instruction::abck(Op::EqI, 255, 0, 254, true);
        assert_eq!(
            (i.op(), i.a(), i.sb(), i.sc(), i.k()),
            (Op::EqI, 255, -127, 127, true)
        );
        assert!(!i.with_k(false).k());
        assert_eq!(
            i.with_a(3).with_b(4).with_c(5).with_op(Op::Add),
            Instruction::abck(Op::Add, 3, 4, 5, true)
        );
        let i = Instruction::asbx(Op::LoadI, 7, -65535);
        assert_eq!((i.a(), i.sbx()), (7, -65535));
        assert_eq!(Instruction::asbx(Op::LoadI, 7, 65536).sbx(), 65536);
        let i = Instruction::jump(Op::Jmp, -5);
        assert_eq!((i.op(), i.sj()), (Op::Jmp, -5));
        assert_eq!(Instruction::ax_op(Op::ExtraArg, MAX_AX).ax(), MAX_AX);
        let i = Instruction::table_room(MAX_BX, MAX_ARG);
        assert_eq!((i.extra_items(), i.unused_keys()), (MAX_BX, MAX_ARG));
        let i = Instruction::table_room(MAX_BX + 1, MAX_ARG + 1);
        assert_eq!((i.extra_items(), i.unused_keys()), (MAX_BX, 0));
    }
}
