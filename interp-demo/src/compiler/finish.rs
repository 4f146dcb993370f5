//! The last pass over a function's code: returns that must do more, and jumps to jumps.

use super::Compiler;
use crate::lexer::Result;
use crate::opcode::{Instruction, Op};

/// So many jumps are followed: there may be loops of nothing but jumps.
const MAX_HOPS: usize = 100;

impl Compiler<'_> {
    pub(super) fn finish(&mut self) -> Result<()> {
        let (needs_close, is_vararg) = (self.fs.needs_close, self.fs.proto.is_vararg);
        let params = self.fs.proto.num_params;
        for pc in 0..self.fs.pc() {
            let instruction = self.fs.code_mut(pc);
            match instruction.op() {
                op @ (Op::Return0 | Op::Return1 | Op::Return | Op::TailCall) => {
                    if !needs_close && !is_vararg {
                        continue;
                    }
                    let op = if op == Op::TailCall { op } else { Op::Return };
                    let mut mended = instruction.with_op(op);
                    if needs_close {
                        mended = mended.with_k(true);
                    }
                    if is_vararg {
                        mended = mended.with_c(params + 1);
                    }
                    *instruction = mended;
                }
                Op::Jmp => {
                    let target = final_target(&self.fs.proto.code, pc);
                    self.fix_jump(pc, target)?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Where the jump at `pc` leads in the end.
fn final_target(code: &[Instruction], mut pc: usize) -> usize {
    for _ in 0..MAX_HOPS {
        match code.get(pc) {
            Some(jump) if jump.op() == Op::Jmp => {
                pc = (pc + 1).saturating_add_signed(jump.sj() as isize)
            }
            _ => break,
        }
    }
    pc
}
