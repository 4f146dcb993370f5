//! Whether bytecode that came from outside may be run.
//!
//! The virtual machine trusts the compiler in what is checked here: every operand names something that exists and is of
//! the right sort, control never leaves the code, and instructions that work in pairs stand in pairs. The registers that
//! an instruction uses are within the frame. What a value *is* at run time is not checked: the machine looks itself.

use crate::compiler::MAX_SHORT_BYTES;
use crate::opcode::{Event, Instruction, Op};
use crate::proto::{Constant, Proto};

/// Checks one function; those inside it were checked before.
pub(super) fn verify(proto: &Proto) -> bool {
    let registers = usize::from(proto.max_stack);
    let shape = proto.max_stack >= 2
        && proto.num_params <= proto.max_stack
        && proto.upvalues.len() <= 255
        && (proto.lines.is_empty() || proto.lines.len() == proto.code.len())
        && proto.is_vararg == (proto.code.first().map(|i| i.op()) == Some(Op::VarargPrep))
        && matches!(
            proto.code.last().map(|i| i.op()),
            Some(Op::Return | Op::Return0 | Op::Return1)
        );
    let captures = |inner: &Proto| {
        inner.upvalues.iter().all(|upvalue| {
            usize::from(upvalue.index)
                < if upvalue.in_stack {
                    registers
                } else {
                    proto.upvalues.len()
                }
        })
    };
    shape
        && proto.protos.iter().all(|inner| captures(inner))
        && (0..proto.code.len()).all(|pc| {
            Check {
                proto,
                pc,
                i: proto.code[pc],
            }
            .instruction()
                == Some(true)
        })
}

/// The check of one instruction. `None` is as good as false.
struct Check<'p> {
    proto: &'p Proto,
    pc: usize,
    i: Instruction,
}

impl Check<'_> {
    fn instruction(&self) -> Option<bool> {
        let i = self.i;
        let (a, b, c) = (usize::from(i.a()), usize::from(i.b()), usize::from(i.c()));
        if i.op().sets_a() && i.op() != Op::VarargPrep && i.op() != Op::TestSet {
            self.regs(a)?;
        }
        let fine = match i.op() {
            Op::LoadI | Op::LoadF | Op::LoadFalse | Op::LoadTrue => true,
            Op::LFalseSkip => self.target(2),
            Op::LoadK => self.constant(i.bx()).is_some(),
            Op::LoadKX => self.constant(self.extra()?).is_some(),
            Op::LoadNil => self.regs(a + b).is_some(),
            Op::Move | Op::Unm | Op::BNot | Op::Not | Op::Len => self.regs(b).is_some(),
            Op::GetUpval => self.upvalue(b),
            Op::SetUpval => self.upvalue(b) && self.regs(a).is_some(),
            Op::GetTabUp => self.upvalue(b) && self.name(c),
            Op::GetTable => self.regs(b).and(self.regs(c)).is_some(),
            Op::GetI => self.regs(b).is_some(),
            Op::GetField => self.regs(b).is_some() && self.name(c),
            Op::SetTabUp => self.upvalue(a) && self.name(b) && self.stored(),
            Op::SetTable => self.regs(a).and(self.regs(b)).is_some() && self.stored(),
            Op::SetI => self.regs(a).is_some() && self.stored(),
            Op::SetField => self.regs(a).is_some() && self.name(b) && self.stored(),
            Op::NewTable => self.extra().is_some() && b <= 32,
            Op::SelfOp => {
                let key = if i.k() {
                    self.is_string(c)
                } else {
                    self.regs(c).is_some()
                };
                key && self.regs(b).and(self.regs(a + 1)).is_some()
            }
            Op::AddI | Op::ShrI | Op::ShlI => self.regs(b).is_some() && self.before(Op::MmBinI),
            Op::MmBin => self.after_arithmetic(c) && self.regs(a).and(self.regs(b)).is_some(),
            Op::MmBinI => self.after_arithmetic(c) && self.regs(a).is_some(),
            Op::MmBinK => self.after_arithmetic(c) && self.regs(a).is_some() && self.is_number(b),
            Op::Concat => b >= 2 && self.regs(a + b - 1).is_some(),
            Op::Close | Op::Tbc => self.regs(a).is_some(),
            Op::Jmp => self.target(1 + i64::from(i.sj())),
            Op::Eq | Op::Lt | Op::Le => self.regs(a).and(self.regs(b)).is_some() && self.test(),
            Op::EqK => self.regs(a).and(self.constant(b as u32)).is_some() && self.test(),
            Op::EqI | Op::LtI | Op::LeI | Op::GtI | Op::GeI | Op::Test => {
                self.regs(a).is_some() && self.test()
            }
            Op::TestSet => self.regs(a).and(self.regs(b)).is_some() && self.test(),
            Op::Call => {
                self.values(a, b)
                    && (c == 0 && self.is_consumed()
                        || c > 0 && self.regs((a + c).saturating_sub(2)).is_some())
            }
            Op::TailCall => self.values(a, b) && self.frame() && self.next()? == Op::Return,
            Op::Return => {
                self.frame()
                    && if b == 0 {
                        self.is_fed(a)
                    } else {
                        self.regs((a + b).saturating_sub(2)).is_some()
                    }
            }
            Op::Return0 => !self.proto.is_vararg,
            Op::Return1 => !self.proto.is_vararg && self.regs(a).is_some(),
            Op::ForPrep => self.regs(a + 3).is_some() && self.target(2 + i64::from(i.bx())),
            Op::ForLoop => self.regs(a + 3).is_some() && self.target(1 - i64::from(i.bx())),
            Op::TForPrep => {
                let call = self.pc + 1 + i.bx() as usize;
                self.regs(a + 3).is_some() && self.proto.code.get(call)?.op() == Op::TForCall
            }
            Op::TForCall => {
                c >= 1
                    && self.regs(a + 6).and(self.regs(a + 3 + c)).is_some()
                    && self.next()? == Op::TForLoop
            }
            Op::TForLoop => self.regs(a + 4).is_some() && self.target(1 - i64::from(i.bx())),
            Op::SetList => {
                let count = if b == 0 {
                    self.is_fed(a + 1)
                } else {
                    self.regs(a + b).is_some()
                };
                count && self.regs(a).is_some() && (!i.k() || self.extra().is_some())
            }
            Op::Closure => (i.bx() as usize) < self.proto.protos.len(),
            Op::Vararg => {
                let count = c == 0 && self.is_consumed()
                    || c > 0 && self.regs((a + c).saturating_sub(2)).is_some();
                self.proto.is_vararg && count
            }
            Op::VarargPrep => self.pc == 0 && i.a() == self.proto.num_params,
            Op::ExtraArg => self.pc.checked_sub(1).is_some_and(|before| {
                matches!(
                    self.proto.code[before].op(),
                    Op::NewTable | Op::SetList | Op::LoadKX
                )
            }),
            // Arithmetic with a constant, and on two registers.
            op if (op as u8) < Op::Add as u8 => {
                self.regs(b).is_some() && self.is_number(c) && self.before(Op::MmBinK)
            }
            _ => self.regs(b).and(self.regs(c)).is_some() && self.before(Op::MmBin),
        };
        Some(fine)
    }

    /// Whether a register is within the frame.
    fn regs(&self, reg: usize) -> Option<()> {
        (reg < usize::from(self.proto.max_stack)).then_some(())
    }

    fn constant(&self, number: u32) -> Option<&Constant> {
        self.proto.constants.get(number as usize)
    }

    fn is_string(&self, number: usize) -> bool {
        matches!(self.proto.constants.get(number), Some(Constant::Str(_)))
    }

    /// Whether a constant is a string that is kept once for all.
    fn name(&self, number: usize) -> bool {
        matches!(self.proto.constants.get(number), Some(Constant::Str(text)) if text.len() <= MAX_SHORT_BYTES)
    }

    fn is_number(&self, number: usize) -> bool {
        matches!(
            self.proto.constants.get(number),
            Some(Constant::Int(_) | Constant::Float(_))
        )
    }

    fn upvalue(&self, number: usize) -> bool {
        number < self.proto.upvalues.len()
    }

    /// Whether operand `C` is a constant or a register, as the `k` bit says.
    fn stored(&self) -> bool {
        let c = usize::from(self.i.c());
        if self.i.k() {
            c < self.proto.constants.len()
        } else {
            self.regs(c).is_some()
        }
    }

    fn next(&self) -> Option<Op> {
        self.proto.code.get(self.pc + 1).map(|i| i.op())
    }

    fn extra(&self) -> Option<u32> {
        let next = self.proto.code.get(self.pc + 1)?;
        (next.op() == Op::ExtraArg).then(|| next.ax())
    }

    /// Whether the instruction after the next one exists.
    fn may_skip(&self) -> bool {
        self.pc + 2 < self.proto.code.len()
    }

    fn before(&self, op: Op) -> bool {
        self.next() == Some(op) && self.may_skip()
    }

    fn test(&self) -> bool {
        self.before(Op::Jmp)
    }

    /// Whether it is a metamethod call of arithmetic, behind the instruction that needs it.
    fn after_arithmetic(&self, event: usize) -> bool {
        let wanted = match self.i.op() {
            Op::MmBin => Op::Add as u8..=Op::Shr as u8,
            Op::MmBinK => Op::AddK as u8..=Op::BXorK as u8,
            _ => Op::AddI as u8..=Op::ShlI as u8,
        };
        let is_behind = self
            .pc
            .checked_sub(1)
            .is_some_and(|before| wanted.contains(&(self.proto.code[before].op() as u8)));
        is_behind && (Event::Add as usize..=Event::Shr as usize).contains(&event)
    }

    /// Whether the instruction at this distance exists, and may run after any other: it is not the second one of a pair, nor the
    /// one that enters the function.
    fn target(&self, distance: i64) -> bool {
        let Some(target) = usize::try_from(self.pc as i64 + distance).ok() else {
            return false;
        };
        let is_tied = |op| {
            matches!(
                op,
                Op::ExtraArg | Op::MmBin | Op::MmBinI | Op::MmBinK | Op::VarargPrep
            )
        };
        match self.proto.code.get(target) {
            Some(instruction) if !is_tied(instruction.op()) => {
                target == 0
                    || !Check {
                        proto: self.proto,
                        pc: target,
                        i: *instruction,
                    }
                    .is_fed_by_top()
            }
            _ => false,
        }
    }

    /// Whether it takes values up to the top: then it must run right after the instruction that sets the top.
    fn is_fed_by_top(&self) -> bool {
        self.i.b() == 0
            && matches!(
                self.i.op(),
                Op::Call | Op::TailCall | Op::Return | Op::SetList
            )
    }

    /// Whether the instruction before it leaves values from above register `reg` up to the top.
    fn is_fed(&self, reg: usize) -> bool {
        self.pc.checked_sub(1).is_some_and(|before| {
            let feeder = self.proto.code[before];
            match feeder.op() {
                Op::Call | Op::Vararg => feeder.c() == 0 && usize::from(feeder.a()) >= reg,
                Op::TailCall => self.i.op() == Op::Return && usize::from(feeder.a()) >= reg,
                _ => false,
            }
        })
    }

    /// Whether the next instruction takes the values that this one leaves up to the top.
    fn is_consumed(&self) -> bool {
        self.proto.code.get(self.pc + 1).is_some_and(|next| {
            Check {
                proto: self.proto,
                pc: self.pc + 1,
                i: *next,
            }
            .is_fed_by_top()
        })
    }

    /// Whether the function and its arguments, of which there are `b - 1`, or up to the top, are there.
    fn values(&self, a: usize, b: usize) -> bool {
        if b == 0 {
            self.is_fed(a + 1)
        } else {
            self.regs(a + b - 1).is_some()
        }
    }

    /// Whether it knows of the variable arguments of its function.
    fn frame(&self) -> bool {
        let params = if self.proto.is_vararg {
            self.proto.num_params.saturating_add(1)
        } else {
            0
        };
        self.i.c() == params
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiler::compile;

    /// A function with its only instruction of operation `op` changed; whether it may run before and after.
    fn changed(
        source: &str,
        op: Op,
        change: impl Fn(&mut Vec<Instruction>, usize),
    ) -> (bool, bool) {
        let mut proto = Proto::clone(&compile(source.as_bytes(), b"=t").unwrap());
        let before = verify(&proto);
        let pc = proto.code.iter().position(|i| i.op() == op).unwrap();
        change(&mut proto.code, pc);
        (before, verify(&proto))
    }

    #[test]
    fn nothing_is_returned_from_beyond_the_frame() {
        let found = changed("local a <close> = nil", Op::Return, |code, pc| {
            code[pc] = code[pc].with_a(39);
        });
        assert_eq!(found, (true, false));
        let found = changed("return f()", Op::TailCall, |code, pc| {
            code[pc + 1] = code[pc + 1].with_a(39);
        });
        assert_eq!(found, (true, false));
    }

    #[test]
    fn what_sets_the_top_is_not_skipped() {
        // It would skip the call whose results are returned.
        let found = changed("local f return 1, f()", Op::Move, |code, pc| {
            code[pc] = Instruction::abck(Op::LFalseSkip, code[pc].a(), 0, 0, false);
        });
        assert_eq!(found, (true, false));
    }

    #[test]
    fn a_function_is_entered_once() {
        let found = changed("while x do end", Op::Jmp, |code, pc| {
            code[pc] = Instruction::jump(Op::Jmp, -(pc as i32) - 1);
        });
        assert_eq!(found, (true, false));
    }
}
