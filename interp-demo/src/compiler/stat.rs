//! Statements other than loops.

use super::Compiler;
use super::expdesc::{ExpDesc, Kind};
use super::jumps::JumpList;
use crate::lexer::{Result, Symbol, Token};
use crate::opcode::Op;
use crate::proto::VarKind;

impl Compiler<'_> {
    /// Whether the current token ends a block; `until` ends one too, but the scope of its variables goes on.
    fn at_block_end(&self, with_until: bool) -> bool {
        match self.token() {
            Token::Else | Token::ElseIf | Token::End | Token::Eof => true,
            Token::Until => with_until,
            _ => false,
        }
    }

    /// `{stat} [retstat]`
    pub(super) fn statements(&mut self) -> Result<()> {
        while !self.at_block_end(true) {
            let is_return = self.token() == Token::Return;
            self.statement()?;
            if is_return {
                break;
            }
        }
        Ok(())
    }

    /// Statements in a scope of their own.
    pub(super) fn block(&mut self) -> Result<()> {
        self.enter_block(false);
        self.statements()?;
        self.leave_block()?;
        Ok(())
    }

    fn statement(&mut self) -> Result<()> {
        let line = self.lexer.line;
        self.enter_level()?;
        match self.token() {
            Token::Byte(b';') => self.lexer.advance()?,
            Token::If => self.if_statement(line)?,
            Token::While => self.while_statement(line)?,
            Token::Do => {
                self.lexer.advance()?;
                self.block()?;
                self.expect_match(Token::End, Token::Do, line)?;
            }
            Token::For => self.for_statement(line)?,
            Token::Repeat => self.repeat_statement(line)?,
            Token::Function => self.function_statement(line)?,
            Token::Local => {
                self.lexer.advance()?;
                if self.skip_if(Token::Function)? {
                    self.local_function()?;
                } else {
                    self.local_statement()?;
                }
            }
            Token::DoubleColon => {
                self.lexer.advance()?;
                let name = self.expect_name()?;
                self.label_statement(name, line)?;
            }
            Token::Return => {
                self.lexer.advance()?;
                self.return_statement()?;
            }
            Token::Break => {
                let line = self.lexer.line;
                self.lexer.advance()?;
                let jump = JumpList::of(self.jump());
                self.new_goto(self.break_name, line, jump);
            }
            Token::Goto => {
                self.lexer.advance()?;
                let line = self.lexer.line;
                let name = self.expect_name()?;
                self.goto(name, line)?;
            }
            _ => self.expression_statement()?,
        }
        self.fs.free_reg = self.active_regs();
        self.leave_level();
        Ok(())
    }

    /// `if exp then block {elseif exp then block} [else block] end`
    fn if_statement(&mut self, line: u32) -> Result<()> {
        let mut escapes = JumpList::EMPTY;
        self.then_block(&mut escapes)?;
        while self.token() == Token::ElseIf {
            self.then_block(&mut escapes)?;
        }
        if self.skip_if(Token::Else)? {
            self.block()?;
        }
        self.expect_match(Token::End, Token::If, line)?;
        self.patch_here(escapes)
    }

    /// `[if | elseif] exp then block`
    fn then_block(&mut self, escapes: &mut JumpList) -> Result<()> {
        self.lexer.advance()?;
        let mut e = self.expr()?;
        self.expect(Token::Then)?;
        let skip = if self.token() == Token::Break {
            // `if exp then break`: the jump of the condition is that of the `break`.
            let line = self.lexer.line;
            self.go_if_false(&mut e)?;
            self.lexer.advance()?;
            self.enter_block(false);
            self.new_goto(self.break_name, line, e.if_true);
            while self.skip_if(Token::Byte(b';'))? {}
            if self.at_block_end(false) {
                self.leave_block()?;
                return Ok(());
            }
            JumpList::of(self.jump())
        } else {
            self.go_if_true(&mut e)?;
            self.enter_block(false);
            e.if_false
        };
        self.statements()?;
        self.leave_block()?;
        if matches!(self.token(), Token::Else | Token::ElseIf) {
            // The new jump leads to the others: the list may be long, and is walked only once then.
            let mut escape = JumpList::of(self.jump());
            self.join(&mut escape, *escapes)?;
            *escapes = escape;
        }
        self.patch_here(skip)
    }

    /// A condition; gives the jumps that are taken if it's false.
    pub(super) fn condition(&mut self) -> Result<JumpList> {
        let mut e = self.expr()?;
        if e.kind == Kind::Nil {
            e.kind = Kind::False;
        }
        self.go_if_true(&mut e)?;
        Ok(e.if_false)
    }

    /// `function name {. name} [: name] body`
    fn function_statement(&mut self, line: u32) -> Result<()> {
        self.lexer.advance()?;
        let mut var = self.single_var()?;
        while self.token() == Token::Byte(b'.') {
            self.field_selector(&mut var)?;
        }
        let is_method = self.token() == Token::Byte(b':');
        if is_method {
            self.field_selector(&mut var)?;
        }
        let mut function = self.function_body(is_method, line)?;
        self.check_assignable(&var)?;
        self.store(&var, &mut function)?;
        // The definition happens in its first line.
        self.fix_line(line);
        Ok(())
    }

    /// `local function Name body`
    fn local_function(&mut self) -> Result<()> {
        let number = self.fs.active;
        let name = self.expect_name()?;
        self.new_var(name)?;
        // The function sees itself.
        self.activate(1);
        self.function_body(false, self.lexer.line)?;
        // Debug information shows the variable only once it has its value.
        let debug = self.var(number).debug;
        self.fs.proto.loc_vars[debug].start_pc = self.fs.pc() as u32;
        Ok(())
    }

    /// `['<' Name '>']`
    fn attribute(&mut self) -> Result<VarKind> {
        if !self.skip_if(Token::Byte(b'<'))? {
            return Ok(VarKind::Regular);
        }
        let name = self.expect_name()?;
        self.expect(Token::Byte(b'>'))?;
        match &self.lexer.symbols.text(name)[..] {
            b"const" => Ok(VarKind::Const),
            b"close" => Ok(VarKind::ToClose),
            _ => Err(self.name_error("unknown attribute '", name, "'")),
        }
    }

    /// `local Name attrib {, Name attrib} [= explist]`
    fn local_statement(&mut self) -> Result<()> {
        let mut to_close = None;
        let mut names = 0;
        let last = loop {
            let name = self.expect_name()?;
            let number = self.new_var(name)?;
            let kind = self.attribute()?;
            self.var(number).kind = kind;
            if kind == VarKind::ToClose {
                if to_close.is_some() {
                    return Err(
                        self.semantic_error("multiple to-be-closed variables in local list")
                    );
                }
                to_close = Some(self.fs.active + names);
            }
            names += 1;
            if !self.skip_if(Token::Byte(b','))? {
                break number;
            }
        };
        let (mut e, count) = if self.skip_if(Token::Byte(b'='))? {
            self.expr_list()?
        } else {
            (ExpDesc::new(Kind::Void), 0)
        };
        if names == count
            && self.var(last).kind == VarKind::Const
            && let Some(value) = self.const_value(&e)
        {
            let var = self.var(last);
            (var.kind, var.value) = (VarKind::CompileTime, value);
            self.activate(names - 1);
            self.fs.active += 1;
        } else {
            self.adjust_values(names, count, &mut e)?;
            self.activate(names);
        }
        if let Some(number) = to_close {
            self.mark_to_close();
            let reg = self.var(number).reg;
            self.emit_abc(Op::Tbc, reg, 0, 0);
        }
        Ok(())
    }

    /// Makes `count` expressions, of which `last` is the last, fill `wanted` registers.
    pub(super) fn adjust_values(
        &mut self,
        wanted: usize,
        count: usize,
        last: &mut ExpDesc,
    ) -> Result<()> {
        if last.is_multi() {
            // The last expression itself gives one value less when it isn't wanted at all.
            let values = (wanted + 1).saturating_sub(count);
            self.set_values(last, Some(values as u8))?;
        } else {
            if last.kind != Kind::Void {
                self.put_next(last)?;
            }
            if wanted > count {
                let first = self.fs.free_reg;
                self.emit_nil(first, (wanted - count) as u8);
            }
        }
        if wanted > count {
            self.reserve(wanted - count)?;
        } else {
            self.fs.free_reg -= (count - wanted) as u8;
        }
        Ok(())
    }

    /// `'::' Name '::'`, of which the name was read
    fn label_statement(&mut self, name: Symbol, line: u32) -> Result<()> {
        self.expect(Token::DoubleColon)?;
        while matches!(self.token(), Token::Byte(b';') | Token::DoubleColon) {
            self.statement()?;
        }
        self.check_repeated(name)?;
        let last = self.at_block_end(false);
        self.create_label(name, line, last)?;
        Ok(())
    }

    /// `[explist] [';']`
    fn return_statement(&mut self) -> Result<()> {
        let mut first = self.active_regs();
        let mut count = Some(0);
        if !self.at_block_end(true) && self.token() != Token::Byte(b';') {
            let (mut e, expressions) = self.expr_list()?;
            if e.is_multi() {
                self.set_values(&e, None)?;
                if let Kind::Call(pc) = e.kind
                    && expressions == 1
                    && !self.fs.inside_tbc()
                {
                    let call = self.fs.code_mut(pc);
                    *call = call.with_op(Op::TailCall);
                }
                count = None;
            } else {
                if expressions == 1 {
                    first = self.put_any(&mut e)?;
                } else {
                    self.put_next(&mut e)?;
                }
                count = Some(expressions as u8);
            }
        }
        self.emit_return(first, count);
        self.skip_if(Token::Byte(b';'))?;
        Ok(())
    }

    /// A call or an assignment.
    fn expression_statement(&mut self) -> Result<()> {
        let e = self.suffixed_expr()?;
        if matches!(self.token(), Token::Byte(b'=' | b',')) {
            return self.assignment(e);
        }
        let Kind::Call(pc) = e.kind else {
            return Err(self.lexer.syntax_error("syntax error"));
        };
        let call = self.fs.code_mut(pc);
        *call = call.with_c(1);
        Ok(())
    }

    /// `{, suffixedexp} = explist`, of which the first variable was read
    fn assignment(&mut self, first: ExpDesc) -> Result<()> {
        let depth = self.depth;
        self.check_target(&first)?;
        let mut targets = vec![first];
        while self.skip_if(Token::Byte(b','))? {
            let target = self.suffixed_expr()?;
            if !target.is_indexed() {
                self.resolve_conflicts(&mut targets, &target)?;
            }
            self.enter_level()?;
            self.check_target(&target)?;
            targets.push(target);
        }
        self.expect(Token::Byte(b'='))?;
        let (mut e, count) = self.expr_list()?;
        if count == targets.len() {
            self.set_one_value(&mut e);
            if let Some(last) = targets.pop() {
                self.store(&last, &mut e)?;
            }
        } else {
            self.adjust_values(targets.len(), count, &mut e)?;
        }
        // The others get their values from the registers, from the last on.
        for target in targets.iter().rev() {
            let mut value = ExpDesc::new(Kind::NonReloc(self.fs.free_reg - 1));
            self.store(target, &mut value)?;
        }
        self.depth = depth;
        Ok(())
    }

    fn check_target(&mut self, e: &ExpDesc) -> Result<()> {
        if !e.is_variable() {
            return Err(self.lexer.syntax_error("syntax error"));
        }
        self.check_assignable(e)
    }

    /// When a local variable or upvalue that is assigned to is also the table or key of an earlier target, that target
    /// gets a copy of its old value.
    fn resolve_conflicts(&mut self, targets: &mut [ExpDesc], var: &ExpDesc) -> Result<()> {
        let copy = self.fs.free_reg;
        let mut conflict = false;
        let mut avoid = |used: &mut u8, assigned: u8| {
            if *used == assigned {
                *used = copy;
                conflict = true;
            }
        };
        for target in targets {
            match (&mut target.kind, var.kind) {
                (Kind::IndexedUp { upvalue, key }, Kind::Upvalue(assigned))
                    if *upvalue == assigned =>
                {
                    let key = *key;
                    avoid(upvalue, assigned);
                    target.kind = Kind::IndexedStr { table: copy, key };
                }
                (Kind::Indexed { table, key }, Kind::Local { reg, .. }) => {
                    avoid(table, reg);
                    avoid(key, reg);
                }
                (
                    Kind::IndexedInt { table, .. } | Kind::IndexedStr { table, .. },
                    Kind::Local { reg, .. },
                ) => {
                    avoid(table, reg);
                }
                _ => {}
            }
        }
        if conflict {
            match var.kind {
                Kind::Local { reg, .. } => drop(self.emit_abc(Op::Move, copy, reg, 0)),
                Kind::Upvalue(upvalue) => drop(self.emit_abc(Op::GetUpval, copy, upvalue, 0)),
                _ => {}
            }
            self.reserve(1)?;
        }
        Ok(())
    }
}
