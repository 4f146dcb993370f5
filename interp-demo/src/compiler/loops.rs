//! Loops.

use super::Compiler;
use super::jumps::JumpList;
use crate::lexer::{Result, Symbol, Token};
use crate::opcode::{Instruction, MAX_BX, Op};

/// The variables of the compiler's own in a numeric loop.
const NUMERIC_STATE: usize = 3;
/// Those in a generic loop.
const GENERIC_STATE: usize = 4;
/// Registers for a call of the iterator: it and its two arguments.
const ITERATOR_CALL_REGS: usize = 3;

impl Compiler<'_> {
    /// `while exp do block end`
    pub(super) fn while_statement(&mut self, line: u32) -> Result<()> {
        self.lexer.advance()?;
        let start = self.fs.mark_target();
        let exit = self.condition()?;
        self.enter_block(true);
        self.expect(Token::Do)?;
        self.block()?;
        let back = JumpList::of(self.jump());
        self.patch(back, start)?;
        self.expect_match(Token::End, Token::While, line)?;
        self.leave_block()?;
        self.patch_here(exit)
    }

    /// `repeat block until exp`
    pub(super) fn repeat_statement(&mut self, line: u32) -> Result<()> {
        let start = self.fs.mark_target();
        self.enter_block(true);
        self.enter_block(false);
        self.lexer.advance()?;
        self.statements()?;
        self.expect_match(Token::Until, Token::Repeat, line)?;
        // The condition sees the variables of the block.
        let mut exit = self.condition()?;
        let scope = self.leave_block()?;
        if let Some(scope) = scope
            && scope.has_upvalue
        {
            // Both ways out of the condition must close the variables: the block's own end did it for one of them.
            let done = JumpList::of(self.jump());
            self.patch_here(exit)?;
            let base = self.regs_of(scope.active);
            self.emit_abc(Op::Close, base, 0, 0);
            exit = JumpList::of(self.jump());
            self.patch_here(done)?;
        }
        self.patch(exit, start)?;
        self.leave_block()?;
        Ok(())
    }

    /// `for …`
    pub(super) fn for_statement(&mut self, line: u32) -> Result<()> {
        self.enter_block(true);
        self.lexer.advance()?;
        let name = self.expect_name()?;
        match self.token() {
            Token::Byte(b'=') => self.numeric_for(name, line)?,
            Token::Byte(b',') | Token::In => self.generic_for(name)?,
            _ => return Err(self.lexer.syntax_error("'=' or 'in' expected")),
        }
        self.expect_match(Token::End, Token::For, line)?;
        self.leave_block()?;
        Ok(())
    }

    /// `Name = exp, exp [, exp] do block`
    fn numeric_for(&mut self, name: Symbol, line: u32) -> Result<()> {
        let base = self.fs.free_reg;
        for _ in 0..NUMERIC_STATE {
            self.new_hidden_var("(for state)")?;
        }
        self.new_var(name)?;
        self.lexer.advance()?;
        self.for_bound()?;
        self.expect(Token::Byte(b','))?;
        self.for_bound()?;
        if self.skip_if(Token::Byte(b','))? {
            self.for_bound()?;
        } else {
            let reg = self.fs.free_reg;
            self.emit_int(reg, 1)?;
            self.reserve(1)?;
        }
        self.activate(NUMERIC_STATE);
        self.for_body(base, line, 1, false)
    }

    fn for_bound(&mut self) -> Result<()> {
        let mut e = self.expr()?;
        self.put_next(&mut e)?;
        Ok(())
    }

    /// `Name {, Name} in explist do block`
    fn generic_for(&mut self, first: Symbol) -> Result<()> {
        let base = self.fs.free_reg;
        for _ in 0..GENERIC_STATE {
            self.new_hidden_var("(for state)")?;
        }
        self.new_var(first)?;
        let mut names = 1;
        while self.skip_if(Token::Byte(b','))? {
            let name = self.expect_name()?;
            self.new_var(name)?;
            names += 1;
        }
        self.expect(Token::In)?;
        let line = self.lexer.line;
        let (mut e, count) = self.expr_list()?;
        self.adjust_values(GENERIC_STATE, count, &mut e)?;
        self.activate(GENERIC_STATE);
        self.mark_to_close();
        self.check_stack(ITERATOR_CALL_REGS)?;
        self.for_body(base, line, names, true)
    }

    /// `do block`, and the instructions around it.
    fn for_body(&mut self, base: u8, line: u32, names: usize, generic: bool) -> Result<()> {
        let (prepare, repeat) = if generic {
            (Op::TForPrep, Op::TForLoop)
        } else {
            (Op::ForPrep, Op::ForLoop)
        };
        self.expect(Token::Do)?;
        let start = self.emit(Instruction::abx(prepare, base, 0));
        self.enter_block(false);
        self.activate(names);
        self.reserve(names)?;
        self.block()?;
        self.leave_block()?;
        let end = self.fs.mark_target();
        self.fix_for(start, end - (start + 1))?;
        if generic {
            self.emit_abc(Op::TForCall, base, 0, names as u8);
            self.fix_line(line);
        }
        let back = self.emit(Instruction::abx(repeat, base, 0));
        self.fix_for(back, back - start)?;
        self.fix_line(line);
        Ok(())
    }

    /// Sets how far the loop instruction at `pc` jumps.
    fn fix_for(&mut self, pc: usize, distance: usize) -> Result<()> {
        if distance > MAX_BX as usize {
            return Err(self.lexer.syntax_error("control structure too long"));
        }
        let instruction = self.fs.code_mut(pc);
        *instruction = Instruction::abx(instruction.op(), instruction.a(), distance as u32);
        Ok(())
    }
}
