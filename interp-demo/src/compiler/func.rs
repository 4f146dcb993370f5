//! Functions.

use std::sync::Arc;

use super::Compiler;
use super::expdesc::{ExpDesc, Kind};
use super::state::FuncState;
use crate::lexer::{Result, Token};
use crate::opcode::{Instruction, MAX_BX, Op};
use crate::proto::{Proto, VarKind};

impl Compiler<'_> {
    /// The whole text.
    pub(super) fn main_function(&mut self) -> Result<Proto> {
        self.enter_block(false);
        self.set_vararg();
        self.new_upvalue(0, self.env_name, (true, 0, VarKind::Regular))?;
        self.lexer.advance()?;
        self.statements()?;
        self.check(Token::Eof)?;
        self.end_function()?;
        Ok(std::mem::take(&mut self.fs.proto))
    }

    fn set_vararg(&mut self) {
        self.fs.proto.is_vararg = true;
        self.emit_abc(Op::VarargPrep, self.fs.proto.num_params, 0, 0);
    }

    /// Parameters and body of a function defined at `line`; gives the closure.
    pub(super) fn function_body(&mut self, is_method: bool, line: u32) -> Result<ExpDesc> {
        let inner = FuncState::new(
            Arc::clone(&self.chunk_name),
            line,
            self.vars.len(),
            self.labels.len(),
        );
        let outer = std::mem::replace(&mut self.fs, inner);
        self.outer.push(outer);
        self.enter_block(false);
        self.expect(Token::Byte(b'('))?;
        if is_method {
            self.new_hidden_var("self")?;
            self.activate(1);
        }
        self.parameters()?;
        self.expect(Token::Byte(b')'))?;
        self.statements()?;
        self.fs.proto.last_line_defined = self.lexer.line;
        self.expect_match(Token::End, Token::Function, line)?;
        self.end_function()?;
        let proto = std::mem::take(&mut self.fs.proto);
        if let Some(outer) = self.outer.pop() {
            self.fs = outer;
        }
        let number = self.fs.proto.protos.len();
        self.check_limit(number + 1, MAX_BX as usize + 1, "functions")?;
        self.fs.proto.protos.push(Arc::new(proto));
        let pc = self.emit(Instruction::abx(Op::Closure, 0, number as u32));
        let mut e = ExpDesc::new(Kind::Reloc(pc));
        self.put_next(&mut e)?;
        Ok(e)
    }

    fn parameters(&mut self) -> Result<()> {
        let mut count = 0;
        let mut is_vararg = false;
        if self.token() != Token::Byte(b')') {
            loop {
                match self.token() {
                    Token::Name => {
                        let name = self.expect_name()?;
                        self.new_var(name)?;
                        count += 1;
                    }
                    Token::Dots => {
                        self.lexer.advance()?;
                        is_vararg = true;
                    }
                    _ => return Err(self.lexer.syntax_error("<name> or '...' expected")),
                }
                if is_vararg || !self.skip_if(Token::Byte(b','))? {
                    break;
                }
            }
        }
        self.activate(count);
        self.fs.proto.num_params = self.fs.active as u8;
        if is_vararg {
            self.set_vararg();
        }
        self.reserve(self.fs.active)?;
        Ok(())
    }

    /// The end of the function under way: its last return, and what depends on the whole of it.
    fn end_function(&mut self) -> Result<()> {
        let first = self.active_regs();
        self.emit_return(first, Some(0));
        self.leave_block()?;
        self.finish()?;
        let proto = &mut self.fs.proto;
        proto.code.shrink_to_fit();
        proto.lines.shrink_to_fit();
        proto.constants.shrink_to_fit();
        proto.protos.shrink_to_fit();
        proto.upvalues.shrink_to_fit();
        proto.loc_vars.shrink_to_fit();
        Ok(())
    }
}
