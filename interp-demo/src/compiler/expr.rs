//! Expressions: the parser.

use super::Compiler;
use super::expdesc::{ExpDesc, Kind};
use super::operators::{Binary, UNARY_PRIORITY, Unary};
use crate::lexer::{Payload, Result, Token};
use crate::opcode::{Instruction, Op};

/// So many items of a table constructor are stored at once.
const ITEMS_PER_STORE: usize = 50;

/// A table constructor under way.
struct Items {
    table: u8,
    /// The last item, which may give many values if no other follows.
    last: ExpDesc,
    stored: usize,
    /// Items in registers that are not stored yet.
    waiting: usize,
    keys: usize,
}

impl Compiler<'_> {
    /// `exp`
    pub(super) fn expr(&mut self) -> Result<ExpDesc> {
        let (e, _) = self.sub_expr(0)?;
        Ok(e)
    }

    /// `exp {',' exp}`: all but the last are put into the next registers.
    pub(super) fn expr_list(&mut self) -> Result<(ExpDesc, usize)> {
        let mut count = 1;
        let mut e = self.expr()?;
        while self.skip_if(Token::Byte(b','))? {
            self.put_next(&mut e)?;
            e = self.expr()?;
            count += 1;
        }
        Ok((e, count))
    }

    /// An expression of operators that bind to the left more strongly than `limit`, and the operator after it.
    fn sub_expr(&mut self, limit: u8) -> Result<(ExpDesc, Option<Binary>)> {
        self.enter_level()?;
        let mut e = if let Some(op) = Unary::of(self.token()) {
            let line = self.lexer.line;
            self.lexer.advance()?;
            let (mut e, _) = self.sub_expr(UNARY_PRIORITY)?;
            self.prefix(op, &mut e, line)?;
            e
        } else {
            self.simple_expr()?
        };
        let mut next = Binary::of(self.token());
        while let Some(op) = next
            && op.priority().0 > limit
        {
            let line = self.lexer.line;
            self.lexer.advance()?;
            self.infix(op, &mut e)?;
            let (mut second, after) = self.sub_expr(op.priority().1)?;
            self.postfix(op, &mut e, &mut second, line)?;
            next = after;
        }
        self.leave_level();
        Ok((e, next))
    }

    fn simple_expr(&mut self) -> Result<ExpDesc> {
        let kind = match (self.token(), self.lexer.current.payload) {
            (_, Payload::Int(value)) => Kind::Int(value),
            (_, Payload::Float(value)) => Kind::Float(value),
            (Token::Str, Payload::Text(symbol)) => Kind::Str(symbol),
            (Token::Nil, _) => Kind::Nil,
            (Token::True, _) => Kind::True,
            (Token::False, _) => Kind::False,
            (Token::Dots, _) => {
                if !self.fs.proto.is_vararg {
                    return Err(self
                        .lexer
                        .syntax_error("cannot use '...' outside a vararg function"));
                }
                Kind::Vararg(self.emit_abc(Op::Vararg, 0, 0, 1))
            }
            (Token::Byte(b'{'), _) => return self.constructor(),
            (Token::Function, _) => {
                self.lexer.advance()?;
                return self.function_body(false, self.lexer.line);
            }
            _ => return self.suffixed_expr(),
        };
        self.lexer.advance()?;
        Ok(ExpDesc::new(kind))
    }

    /// `Name | '(' exp ')'`
    fn primary_expr(&mut self) -> Result<ExpDesc> {
        match self.token() {
            Token::Name => self.single_var(),
            Token::Byte(b'(') => {
                let line = self.lexer.line;
                self.lexer.advance()?;
                let mut e = self.expr()?;
                self.expect_match(Token::Byte(b')'), Token::Byte(b'('), line)?;
                self.discharge_vars(&mut e);
                Ok(e)
            }
            _ => Err(self.lexer.syntax_error("unexpected symbol")),
        }
    }

    /// A primary expression with fields, calls and methods behind it.
    pub(super) fn suffixed_expr(&mut self) -> Result<ExpDesc> {
        let mut e = self.primary_expr()?;
        loop {
            match self.token() {
                Token::Byte(b'.') => self.field_selector(&mut e)?,
                Token::Byte(b'[') => {
                    self.put_any_or_upvalue(&mut e)?;
                    let mut key = self.bracketed_key()?;
                    self.index(&mut e, &mut key)?;
                }
                Token::Byte(b':') => {
                    self.lexer.advance()?;
                    let mut key = self.name_key()?;
                    self.method(&mut e, &mut key)?;
                    self.arguments(&mut e)?;
                }
                Token::Byte(b'(' | b'{') | Token::Str => {
                    self.put_next(&mut e)?;
                    self.arguments(&mut e)?;
                }
                _ => return Ok(e),
            }
        }
    }

    /// A variable: local, upvalue, or a field of `_ENV`.
    pub(super) fn single_var(&mut self) -> Result<ExpDesc> {
        let name = self.expect_name()?;
        if let Some(var) = self.find_variable(name)? {
            return Ok(var);
        }
        // The main function has `_ENV`, so that it is always found.
        let mut env = self
            .find_variable(self.env_name)?
            .unwrap_or(ExpDesc::new(Kind::Nil));
        // It may be a constant variable of the program's own.
        self.put_any_or_upvalue(&mut env)?;
        self.index(&mut env, &mut ExpDesc::new(Kind::Str(name)))?;
        Ok(env)
    }

    /// `'.' Name` or `':' Name`
    pub(super) fn field_selector(&mut self, e: &mut ExpDesc) -> Result<()> {
        self.put_any_or_upvalue(e)?;
        self.lexer.advance()?;
        let mut key = self.name_key()?;
        self.index(e, &mut key)
    }

    fn name_key(&mut self) -> Result<ExpDesc> {
        Ok(ExpDesc::new(Kind::Str(self.expect_name()?)))
    }

    /// `'[' exp ']'`
    fn bracketed_key(&mut self) -> Result<ExpDesc> {
        self.lexer.advance()?;
        let mut key = self.expr()?;
        self.settle(&mut key)?;
        self.expect(Token::Byte(b']'))?;
        Ok(key)
    }

    /// The arguments of a call of `f`, which stands in the last register taken (or before its object there).
    fn arguments(&mut self, f: &mut ExpDesc) -> Result<()> {
        let line = self.lexer.line;
        let mut args = match (self.token(), self.lexer.current.payload) {
            (Token::Byte(b'('), _) => {
                self.lexer.advance()?;
                let args = if self.token() == Token::Byte(b')') {
                    ExpDesc::new(Kind::Void)
                } else {
                    let (args, _) = self.expr_list()?;
                    if args.is_multi() {
                        self.set_values(&args, None)?;
                    }
                    args
                };
                self.expect_match(Token::Byte(b')'), Token::Byte(b'('), line)?;
                args
            }
            (Token::Byte(b'{'), _) => self.constructor()?,
            (Token::Str, Payload::Text(symbol)) => {
                self.lexer.advance()?;
                ExpDesc::new(Kind::Str(symbol))
            }
            _ => return Err(self.lexer.syntax_error("function arguments expected")),
        };
        let Kind::NonReloc(base) = f.kind else {
            return Ok(());
        };
        let operand = if args.is_multi() {
            0
        } else {
            if args.kind != Kind::Void {
                self.put_next(&mut args)?;
            }
            self.fs.free_reg - base
        };
        *f = ExpDesc::new(Kind::Call(self.emit_abc(Op::Call, base, operand, 2)));
        self.fix_line(line);
        // The call leaves one result, in place of the function, unless it's told otherwise.
        self.fs.free_reg = base + 1;
        Ok(())
    }

    /// `'{' [field {sep field} [sep]] '}'`
    fn constructor(&mut self) -> Result<ExpDesc> {
        let line = self.lexer.line;
        let pc = self.emit_abc(Op::NewTable, 0, 0, 0);
        self.emit(Instruction::ax_op(Op::ExtraArg, 0));
        let table = self.reserve(1)?;
        let mut items = Items {
            table,
            last: ExpDesc::new(Kind::Void),
            stored: 0,
            waiting: 0,
            keys: 0,
        };
        self.expect(Token::Byte(b'{'))?;
        while self.token() != Token::Byte(b'}') {
            self.close_item(&mut items)?;
            match self.token() {
                Token::Name if self.lexer.peek()? == Token::Byte(b'=') => {
                    self.keyed_item(&mut items)?
                }
                Token::Byte(b'[') => self.keyed_item(&mut items)?,
                _ => {
                    items.last = self.expr()?;
                    items.waiting += 1;
                }
            }
            if !self.skip_if(Token::Byte(b','))? && !self.skip_if(Token::Byte(b';'))? {
                break;
            }
        }
        self.expect_match(Token::Byte(b'}'), Token::Byte(b'{'), line)?;
        self.last_items(&mut items)?;
        self.set_table_size(pc, table, items.stored, items.keys);
        Ok(ExpDesc::new(Kind::NonReloc(table)))
    }

    /// Puts the last item into a register, since another follows, and stores the items if there are many.
    fn close_item(&mut self, items: &mut Items) -> Result<()> {
        if items.last.kind == Kind::Void {
            return Ok(());
        }
        self.put_next(&mut items.last)?;
        items.last = ExpDesc::new(Kind::Void);
        if items.waiting == ITEMS_PER_STORE {
            self.emit_set_list(items.table, items.stored, Some(ITEMS_PER_STORE as u8));
            items.stored += items.waiting;
            items.waiting = 0;
        }
        Ok(())
    }

    fn last_items(&mut self, items: &mut Items) -> Result<()> {
        if items.waiting == 0 {
            return Ok(());
        }
        if items.last.is_multi() {
            self.set_values(&items.last, None)?;
            self.emit_set_list(items.table, items.stored, None);
            // How many values the last item gives is not known.
            items.waiting -= 1;
        } else {
            if items.last.kind != Kind::Void {
                self.put_next(&mut items.last)?;
            }
            self.emit_set_list(items.table, items.stored, Some(items.waiting as u8));
        }
        items.stored += items.waiting;
        Ok(())
    }

    /// `Name '=' exp` or `'[' exp ']' '=' exp`
    fn keyed_item(&mut self, items: &mut Items) -> Result<()> {
        let free_reg = self.fs.free_reg;
        let mut key = if self.token() == Token::Name {
            self.name_key()?
        } else {
            self.bracketed_key()?
        };
        items.keys += 1;
        self.expect(Token::Byte(b'='))?;
        let mut field = ExpDesc::new(Kind::NonReloc(items.table));
        self.index(&mut field, &mut key)?;
        let mut value = self.expr()?;
        self.store(&field, &mut value)?;
        self.fs.free_reg = free_reg;
        Ok(())
    }
}
