//! Jumps whose target is not known yet.
//!
//! All jumps that wait for the same target form a list: the offset of each jump leads to the next one, and an offset of -1
//! (a jump to itself) ends the list.

use super::Compiler;
use super::state::FuncState;
use crate::lexer::Result;
use crate::opcode::{Instruction, NO_REG, OFFSET_SJ, Op};

/// The end of a list, as an offset.
const END: i32 = -1;

/// A list of jumps: its first one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct JumpList(Option<usize>);

impl JumpList {
    pub(super) const EMPTY: JumpList = JumpList(None);

    pub(super) const fn of(pc: usize) -> JumpList {
        JumpList(Some(pc))
    }
}

impl FuncState {
    fn next_jump(&self, pc: usize) -> Option<usize> {
        match self.proto.code[pc].sj() {
            END => None,
            offset => (pc + 1).checked_add_signed(offset as isize),
        }
    }

    fn jumps(&self, list: JumpList) -> impl Iterator<Item = usize> {
        std::iter::successors(list.0, |&pc| self.next_jump(pc))
    }

    /// The instruction that decides about jump `pc`: the test before it, or the jump itself.
    fn control(&self, pc: usize) -> usize {
        match pc.checked_sub(1) {
            Some(before) if self.proto.code[before].op().is_test() => before,
            _ => pc,
        }
    }

    /// Whether some jump of the list brings no value of its own.
    pub(super) fn needs_value(&self, list: JumpList) -> bool {
        self.jumps(list)
            .any(|pc| self.proto.code[self.control(pc)].op() != Op::TestSet)
    }

    /// Makes the test of jump `pc` put its value into `reg`; without a register, or if the value is there already, makes
    /// it a plain test. False: it brings no value.
    fn patch_test(&mut self, pc: usize, reg: u8) -> bool {
        let control = self.control(pc);
        let test = self.proto.code[control];
        if test.op() != Op::TestSet {
            return false;
        }
        self.proto.code[control] = if reg != NO_REG && reg != test.b() {
            test.with_a(reg)
        } else {
            Instruction::abck(Op::Test, test.b(), 0, 0, test.k())
        };
        true
    }

    /// Makes all tests of the list plain tests.
    pub(super) fn remove_values(&mut self, list: JumpList) {
        let mut jump = list.0;
        while let Some(pc) = jump {
            self.patch_test(pc, NO_REG);
            jump = self.next_jump(pc);
        }
    }

    /// Inverts the comparison that decides about jump `pc`.
    pub(super) fn negate(&mut self, pc: usize) {
        let control = self.control(pc);
        let test = self.proto.code[control];
        self.proto.code[control] = test.with_k(!test.k());
    }
}

impl Compiler<'_> {
    /// Emits a jump with an open target.
    pub(super) fn jump(&mut self) -> usize {
        self.emit(Instruction::jump(Op::Jmp, END))
    }

    /// Emits a test and the jump that it decides about.
    pub(super) fn test_jump(&mut self, test: Instruction) -> usize {
        self.emit(test);
        self.jump()
    }

    /// Sets the target of a jump.
    pub(super) fn fix_jump(&mut self, pc: usize, target: usize) -> Result<()> {
        let offset = target as i64 - (pc as i64 + 1);
        if !(-i64::from(OFFSET_SJ)..=i64::from(OFFSET_SJ)).contains(&offset) {
            return Err(self.lexer.syntax_error("control structure too long"));
        }
        *self.fs.code_mut(pc) = Instruction::jump(Op::Jmp, offset as i32);
        Ok(())
    }

    /// Appends the second list to the first.
    pub(super) fn join(&mut self, list: &mut JumpList, other: JumpList) -> Result<()> {
        match (list.0, other.0) {
            (_, None) => {}
            (None, _) => *list = other,
            (Some(first), Some(target)) => {
                let last = self.fs.jumps(JumpList::of(first)).last().unwrap_or(first);
                self.fix_jump(last, target)?;
            }
        }
        Ok(())
    }

    /// Sends all jumps of the list to `target`.
    pub(super) fn patch(&mut self, list: JumpList, target: usize) -> Result<()> {
        self.patch_values(list, target, NO_REG, target)
    }

    /// Sends all jumps of the list to the next instruction.
    pub(super) fn patch_here(&mut self, list: JumpList) -> Result<()> {
        let here = self.fs.mark_target();
        self.patch(list, here)
    }

    /// Sends the jumps that bring a value to `with_value`, their value to `reg`, and all others to `without`.
    pub(super) fn patch_values(
        &mut self,
        list: JumpList,
        with_value: usize,
        reg: u8,
        without: usize,
    ) -> Result<()> {
        let mut jump = list.0;
        while let Some(pc) = jump {
            jump = self.fs.next_jump(pc);
            let target = if self.fs.patch_test(pc, reg) {
                with_value
            } else {
                without
            };
            self.fix_jump(pc, target)?;
        }
        Ok(())
    }
}
