//! Unary and binary operators.
//!
//! An arithmetic instruction is followed by the one that calls the metamethod, which it skips when it needs none.

use super::Compiler;
use super::expdesc::{ExpDesc, Kind};
use super::fold;
use crate::lexer::{Result, Token};
use crate::opcode::{Event, Instruction, OFFSET_SC, Op};
use crate::text::number::float_to_int;

/// A unary operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unary {
    Minus,
    BNot,
    Not,
    Len,
}

/// A binary operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Binary {
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
    Concat,
    Eq,
    Lt,
    Le,
    Ne,
    Gt,
    Ge,
    And,
    Or,
}

/// How strongly unary operators bind.
pub(super) const UNARY_PRIORITY: u8 = 12;

impl Unary {
    pub(super) fn of(token: Token) -> Option<Unary> {
        Some(match token {
            Token::Not => Unary::Not,
            Token::Byte(b'-') => Unary::Minus,
            Token::Byte(b'~') => Unary::BNot,
            Token::Byte(b'#') => Unary::Len,
            _ => return None,
        })
    }
}

impl Binary {
    pub(super) fn of(token: Token) -> Option<Binary> {
        Some(match token {
            Token::Byte(b'+') => Binary::Add,
            Token::Byte(b'-') => Binary::Sub,
            Token::Byte(b'*') => Binary::Mul,
            Token::Byte(b'%') => Binary::Mod,
            Token::Byte(b'^') => Binary::Pow,
            Token::Byte(b'/') => Binary::Div,
            Token::IDiv => Binary::IDiv,
            Token::Byte(b'&') => Binary::BAnd,
            Token::Byte(b'|') => Binary::BOr,
            Token::Byte(b'~') => Binary::BXor,
            Token::Shl => Binary::Shl,
            Token::Shr => Binary::Shr,
            Token::Concat => Binary::Concat,
            Token::Ne => Binary::Ne,
            Token::Eq => Binary::Eq,
            Token::Byte(b'<') => Binary::Lt,
            Token::Le => Binary::Le,
            Token::Byte(b'>') => Binary::Gt,
            Token::Ge => Binary::Ge,
            Token::And => Binary::And,
            Token::Or => Binary::Or,
            _ => return None,
        })
    }

    /// How strongly it binds to the left and to the right; right-associative operators bind less to the right.
    pub(super) fn priority(self) -> (u8, u8) {
        match self {
            Binary::Or => (1, 1),
            Binary::And => (2, 2),
            Binary::Eq | Binary::Ne | Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge => (3, 3),
            Binary::BOr => (4, 4),
            Binary::BXor => (5, 5),
            Binary::BAnd => (6, 6),
            Binary::Shl | Binary::Shr => (7, 7),
            Binary::Concat => (9, 8),
            Binary::Add | Binary::Sub => (10, 10),
            Binary::Mul | Binary::Mod | Binary::Div | Binary::IDiv => (11, 11),
            Binary::Pow => (14, 13),
        }
    }

    /// The instruction on two registers, the one on a register and a constant, and the metamethod.
    fn arithmetic(self) -> Option<(Op, Option<Op>, Event)> {
        Some(match self {
            Binary::Add => (Op::Add, Some(Op::AddK), Event::Add),
            Binary::Sub => (Op::Sub, Some(Op::SubK), Event::Sub),
            Binary::Mul => (Op::Mul, Some(Op::MulK), Event::Mul),
            Binary::Mod => (Op::Mod, Some(Op::ModK), Event::Mod),
            Binary::Pow => (Op::Pow, Some(Op::PowK), Event::Pow),
            Binary::Div => (Op::Div, Some(Op::DivK), Event::Div),
            Binary::IDiv => (Op::IDiv, Some(Op::IDivK), Event::IDiv),
            Binary::BAnd => (Op::BAnd, Some(Op::BAndK), Event::BAnd),
            Binary::BOr => (Op::BOr, Some(Op::BOrK), Event::BOr),
            Binary::BXor => (Op::BXor, Some(Op::BXorK), Event::BXor),
            Binary::Shl => (Op::Shl, None, Event::Shl),
            Binary::Shr => (Op::Shr, None, Event::Shr),
            _ => return None,
        })
    }
}

/// The operand of a signed 8-bit number, if it fits.
fn signed_operand(value: i64) -> Option<u8> {
    u8::try_from(value.checked_add(i64::from(OFFSET_SC))?).ok()
}

/// The operand of an integer numeral.
fn int_operand(e: &ExpDesc) -> Option<u8> {
    e.int().and_then(signed_operand)
}

/// The operand of a numeral with an integer's value, and whether it's a float.
fn number_operand(e: &ExpDesc) -> Option<(u8, bool)> {
    match e.kind {
        _ if e.has_jumps() => None,
        Kind::Int(value) => Some((signed_operand(value)?, false)),
        Kind::Float(value) => Some((signed_operand(float_to_int(value)?)?, true)),
        _ => None,
    }
}

/// The second operand of an arithmetic instruction, and how its metamethod is to be called.
struct Operand {
    op: Op,
    /// Operand `C`.
    c: u8,
    call: Op,
    /// Operand `B` of the call.
    call_b: u8,
    /// Whether the operands stand in the other order in the source.
    flip: bool,
}

impl Compiler<'_> {
    /// Applies a unary operator that stands at `line`.
    pub(super) fn prefix(&mut self, op: Unary, e: &mut ExpDesc, line: u32) -> Result<()> {
        self.discharge_vars(e);
        if let Some(value) = e.numeral().and_then(|x| fold::unary(op, x)) {
            e.kind = value.into();
            return Ok(());
        }
        let code = match op {
            Unary::Not => return self.not(e),
            Unary::Minus => Op::Unm,
            Unary::BNot => Op::BNot,
            Unary::Len => Op::Len,
        };
        let reg = self.put_any(e)?;
        self.free_exp(e);
        e.kind = Kind::Reloc(self.emit_abc(code, 0, reg, 0));
        self.fix_line(line);
        Ok(())
    }

    /// Prepares the first operand of a binary operator before the second one is read.
    pub(super) fn infix(&mut self, op: Binary, e: &mut ExpDesc) -> Result<()> {
        self.discharge_vars(e);
        match op {
            Binary::And => self.go_if_true(e)?,
            Binary::Or => self.go_if_false(e)?,
            Binary::Concat => drop(self.put_next(e)?),
            Binary::Eq | Binary::Ne => {
                if e.numeral().is_none() {
                    self.make_operand(e)?;
                }
            }
            Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge => {
                if number_operand(e).is_none() {
                    self.put_any(e)?;
                }
            }
            // A numeral may be folded or become an operand.
            _ => {
                if e.numeral().is_none() {
                    self.put_any(e)?;
                }
            }
        }
        Ok(())
    }

    /// Applies a binary operator that stands at `line`; the result is in `x`.
    pub(super) fn postfix(
        &mut self,
        op: Binary,
        x: &mut ExpDesc,
        y: &mut ExpDesc,
        line: u32,
    ) -> Result<()> {
        self.discharge_vars(y);
        if let (Some(a), Some(b)) = (x.numeral(), y.numeral())
            && let Some(value) = fold::binary(op, a, b)
        {
            x.kind = value.into();
            return Ok(());
        }
        match op {
            Binary::And => {
                self.join(&mut y.if_false, x.if_false)?;
                *x = *y;
            }
            Binary::Or => {
                self.join(&mut y.if_true, x.if_true)?;
                *x = *y;
            }
            Binary::Concat => {
                let first = self.register_of(x)?;
                self.put_next(y)?;
                self.concat(first, y, line);
            }
            Binary::Eq | Binary::Ne => self.equality(op == Binary::Eq, x, y)?,
            Binary::Lt => self.order(Op::Lt, x, y)?,
            Binary::Le => self.order(Op::Le, x, y)?,
            Binary::Gt => {
                std::mem::swap(x, y);
                self.order(Op::Lt, x, y)?;
            }
            Binary::Ge => {
                std::mem::swap(x, y);
                self.order(Op::Le, x, y)?;
            }
            Binary::Add | Binary::Mul => self.commutative(op, x, y, line)?,
            Binary::Sub => {
                if !self.negated(Op::AddI, Event::Sub, x, y, line)? {
                    self.with_constant(op, x, y, line)?;
                }
            }
            Binary::Div | Binary::IDiv | Binary::Mod | Binary::Pow => {
                self.with_constant(op, x, y, line)?
            }
            Binary::BAnd | Binary::BOr | Binary::BXor => self.bitwise(op, x, y, line)?,
            Binary::Shl => {
                if let Some(c) = int_operand(x) {
                    std::mem::swap(x, y);
                    let operand = Operand {
                        op: Op::ShlI,
                        c,
                        call: Op::MmBinI,
                        call_b: c,
                        flip: true,
                    };
                    self.arithmetic(operand, Event::Shl, x, y, line)?;
                } else if !self.negated(Op::ShrI, Event::Shl, x, y, line)? {
                    self.two_registers(op, x, y, line)?;
                }
            }
            Binary::Shr => match int_operand(y) {
                Some(c) => {
                    let operand = Operand {
                        op: Op::ShrI,
                        c,
                        call: Op::MmBinI,
                        call_b: c,
                        flip: false,
                    };
                    self.arithmetic(operand, Event::Shr, x, y, line)?;
                }
                None => self.two_registers(op, x, y, line)?,
            },
        }
        Ok(())
    }

    /// The register of an expression that has one already.
    fn register_of(&mut self, e: &mut ExpDesc) -> Result<u8> {
        match e.kind {
            Kind::NonReloc(reg) => Ok(reg),
            _ => self.put_any(e),
        }
    }

    /// Emits an arithmetic instruction on `x` and an operand made of `y`.
    fn arithmetic(
        &mut self,
        operand: Operand,
        event: Event,
        x: &mut ExpDesc,
        y: &ExpDesc,
        line: u32,
    ) -> Result<()> {
        let reg = self.put_any(x)?;
        let pc = self.emit_abc(operand.op, 0, reg, operand.c);
        self.fix_line(line);
        self.free_exps(x, y);
        x.kind = Kind::Reloc(pc);
        self.emit(Instruction::abck(
            operand.call,
            reg,
            operand.call_b,
            event as u8,
            operand.flip,
        ));
        self.fix_line(line);
        Ok(())
    }

    fn two_registers(
        &mut self,
        op: Binary,
        x: &mut ExpDesc,
        y: &mut ExpDesc,
        line: u32,
    ) -> Result<()> {
        let Some((code, _, event)) = op.arithmetic() else {
            return Ok(());
        };
        let c = self.put_any(y)?;
        let operand = Operand {
            op: code,
            c,
            call: Op::MmBin,
            call_b: c,
            flip: false,
        };
        self.arithmetic(operand, event, x, y, line)
    }

    /// `x op y` where `y` becomes a constant if it can.
    fn with_constant(
        &mut self,
        op: Binary,
        x: &mut ExpDesc,
        y: &mut ExpDesc,
        line: u32,
    ) -> Result<()> {
        if !self.constant_operand(op, false, x, y, line)? {
            self.two_registers(op, x, y, line)?;
        }
        Ok(())
    }

    /// The same, if `y` can be a numeral constant.
    fn constant_operand(
        &mut self,
        op: Binary,
        flip: bool,
        x: &mut ExpDesc,
        y: &mut ExpDesc,
        line: u32,
    ) -> Result<bool> {
        if let Some((_, Some(code), event)) = op.arithmetic()
            && y.numeral().is_some()
            && let Some(c) = self.make_constant(y)?
        {
            let operand = Operand {
                op: code,
                c,
                call: Op::MmBinK,
                call_b: c,
                flip,
            };
            self.arithmetic(operand, event, x, y, line)?;
            return Ok(true);
        }
        Ok(false)
    }

    fn commutative(
        &mut self,
        op: Binary,
        x: &mut ExpDesc,
        y: &mut ExpDesc,
        line: u32,
    ) -> Result<()> {
        let flip = x.numeral().is_some();
        if flip {
            std::mem::swap(x, y);
        }
        if op == Binary::Add
            && let Some(c) = int_operand(y)
        {
            let operand = Operand {
                op: Op::AddI,
                c,
                call: Op::MmBinI,
                call_b: c,
                flip,
            };
            return self.arithmetic(operand, Event::Add, x, y, line);
        }
        self.constant_or_registers(op, flip, x, y, line)
    }

    fn bitwise(&mut self, op: Binary, x: &mut ExpDesc, y: &mut ExpDesc, line: u32) -> Result<()> {
        let flip = matches!(x.kind, Kind::Int(_));
        if flip {
            std::mem::swap(x, y);
        }
        // The instruction takes constants with an integer's value only.
        if matches!(y.kind, Kind::Int(_)) {
            return self.constant_or_registers(op, flip, x, y, line);
        }
        if flip {
            std::mem::swap(x, y);
        }
        self.two_registers(op, x, y, line)
    }

    /// `y` as a constant if it can be one; if not, two registers in the order of the source.
    fn constant_or_registers(
        &mut self,
        op: Binary,
        flip: bool,
        x: &mut ExpDesc,
        y: &mut ExpDesc,
        line: u32,
    ) -> Result<()> {
        if self.constant_operand(op, flip, x, y, line)? {
            return Ok(());
        }
        if flip {
            std::mem::swap(x, y);
        }
        self.two_registers(op, x, y, line)
    }

    /// `x - i` as `x + -i`, or `x << i` as `x >> -i`, if `y` is a small integer. The metamethod gets the operand as it
    /// stands in the source.
    fn negated(
        &mut self,
        op: Op,
        event: Event,
        x: &mut ExpDesc,
        y: &ExpDesc,
        line: u32,
    ) -> Result<bool> {
        let Some(value) = y.int() else {
            return Ok(false);
        };
        let (Some(call_b), Some(c)) = (
            signed_operand(value),
            value.checked_neg().and_then(signed_operand),
        ) else {
            return Ok(false);
        };
        let operand = Operand {
            op,
            c,
            call: Op::MmBinI,
            call_b,
            flip: false,
        };
        self.arithmetic(operand, event, x, y, line)?;
        Ok(true)
    }

    /// Emits a concatenation, or makes that of the second operand start at the first one.
    fn concat(&mut self, first: u8, y: &ExpDesc, line: u32) {
        if let Some(previous) = self.fs.previous()
            && previous.op() == Op::Concat
        {
            *previous = previous.with_a(first).with_b(previous.b() + 1);
            self.free_exp(y);
        } else {
            self.emit_abc(Op::Concat, first, 2, 0);
            self.free_exp(y);
            self.fix_line(line);
        }
    }

    fn order(&mut self, op: Op, x: &mut ExpDesc, y: &mut ExpDesc) -> Result<()> {
        let (immediate, swapped) = if op == Op::Lt {
            (Op::LtI, Op::GtI)
        } else {
            (Op::LeI, Op::GeI)
        };
        let test = if let Some((b, is_float)) = number_operand(y) {
            Instruction::abck(immediate, self.put_any(x)?, b, u8::from(is_float), true)
        } else if let Some((b, is_float)) = number_operand(x) {
            Instruction::abck(swapped, self.put_any(y)?, b, u8::from(is_float), true)
        } else {
            let a = self.put_any(x)?;
            Instruction::abck(op, a, self.put_any(y)?, 0, true)
        };
        self.free_exps(x, y);
        x.kind = Kind::Jump(self.test_jump(test));
        Ok(())
    }

    fn equality(&mut self, equal: bool, x: &mut ExpDesc, y: &mut ExpDesc) -> Result<()> {
        if !matches!(x.kind, Kind::NonReloc(_)) {
            std::mem::swap(x, y);
        }
        let a = self.put_any(x)?;
        let test = if let Some((b, is_float)) = number_operand(y) {
            Instruction::abck(Op::EqI, a, b, u8::from(is_float), equal)
        } else {
            let (b, is_constant) = self.make_operand(y)?;
            Instruction::abck(if is_constant { Op::EqK } else { Op::Eq }, a, b, 0, equal)
        };
        self.free_exps(x, y);
        x.kind = Kind::Jump(self.test_jump(test));
        Ok(())
    }
}
