//! From an expression under way to a value in a register, an operand, a jump or a stored variable.

use super::Compiler;
use super::expdesc::{ConstValue, ExpDesc, Kind};
use super::jumps::JumpList;
use crate::lexer::Result;
use crate::opcode::{Instruction, MAX_ARG, NO_REG, Op};
use crate::proto::Constant;

/// The longest string that is kept once for all: only such a constant can be the key of a field instruction.
pub(crate) const MAX_SHORT_BYTES: usize = 40;

impl Compiler<'_> {
    /// Reads a variable: afterwards the expression is a value, constant or not, that may still lack its register.
    pub(super) fn discharge_vars(&mut self, e: &mut ExpDesc) {
        e.kind = match e.kind {
            Kind::CompileTime(var) => self.vars[var].value.into(),
            Kind::Local { reg, .. } => Kind::NonReloc(reg),
            Kind::Upvalue(upvalue) => Kind::Reloc(self.emit_abc(Op::GetUpval, 0, upvalue, 0)),
            Kind::IndexedUp { upvalue, key } => {
                Kind::Reloc(self.emit_abc(Op::GetTabUp, 0, upvalue, key))
            }
            Kind::IndexedInt { table, key } => {
                self.free(table);
                Kind::Reloc(self.emit_abc(Op::GetI, 0, table, key))
            }
            Kind::IndexedStr { table, key } => {
                self.free(table);
                Kind::Reloc(self.emit_abc(Op::GetField, 0, table, key))
            }
            Kind::Indexed { table, key } => {
                self.free_two(table, key);
                Kind::Reloc(self.emit_abc(Op::GetTable, 0, table, key))
            }
            Kind::Vararg(_) | Kind::Call(_) => {
                self.set_one_value(e);
                return;
            }
            kind => kind,
        };
    }

    /// Makes a call or `...` give one value.
    pub(super) fn set_one_value(&mut self, e: &mut ExpDesc) {
        match e.kind {
            Kind::Call(pc) => e.kind = Kind::NonReloc(self.fs.proto.code[pc].a()),
            Kind::Vararg(pc) => {
                let instruction = self.fs.code_mut(pc);
                *instruction = instruction.with_c(2);
                e.kind = Kind::Reloc(pc);
            }
            _ => {}
        }
    }

    /// Makes a call or `...` give `count` values (`None`: all) from the next free register on.
    pub(super) fn set_values(&mut self, e: &ExpDesc, count: Option<u8>) -> Result<()> {
        let operand = count.map_or(0, |count| count + 1);
        match e.kind {
            Kind::Call(pc) => {
                let instruction = self.fs.code_mut(pc);
                *instruction = instruction.with_c(operand);
            }
            Kind::Vararg(pc) => {
                let reg = self.fs.free_reg;
                let instruction = self.fs.code_mut(pc);
                *instruction = instruction.with_c(operand).with_a(reg);
                self.reserve(1)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Puts the value into `reg`, but for jumps that leave the expression.
    fn discharge_to(&mut self, e: &mut ExpDesc, reg: u8) -> Result<()> {
        self.discharge_vars(e);
        match e.kind {
            Kind::Nil => self.emit_nil(reg, 1),
            Kind::False => drop(self.emit_abc(Op::LoadFalse, reg, 0, 0)),
            Kind::True => drop(self.emit_abc(Op::LoadTrue, reg, 0, 0)),
            Kind::Str(symbol) => {
                let constant = self.string_constant(symbol)?;
                self.emit_constant(reg, constant);
            }
            Kind::Constant(constant) => self.emit_constant(reg, constant),
            Kind::Float(value) => self.emit_float(reg, value)?,
            Kind::Int(value) => self.emit_int(reg, value)?,
            Kind::Reloc(pc) => {
                let instruction = self.fs.code_mut(pc);
                *instruction = instruction.with_a(reg);
            }
            Kind::NonReloc(from) => {
                if from != reg {
                    self.emit_abc(Op::Move, reg, from, 0);
                }
            }
            // A comparison stays a jump; the caller makes values of it.
            _ => return Ok(()),
        }
        e.kind = Kind::NonReloc(reg);
        Ok(())
    }

    /// Puts the value into some register, but for jumps that leave the expression.
    fn discharge_to_any(&mut self, e: &mut ExpDesc) -> Result<u8> {
        if let Kind::NonReloc(reg) = e.kind {
            return Ok(reg);
        }
        let reg = self.reserve(1)?;
        self.discharge_to(e, reg)?;
        Ok(reg)
    }

    /// Puts the value into `reg`, whichever way the expression is left.
    pub(super) fn put_in(&mut self, e: &mut ExpDesc, reg: u8) -> Result<()> {
        self.discharge_to(e, reg)?;
        let is_test = if let Kind::Jump(pc) = e.kind {
            self.join(&mut e.if_true, JumpList::of(pc))?;
            true
        } else {
            false
        };
        if e.has_jumps() {
            let mut loads = (0, 0);
            if self.fs.needs_value(e.if_true) || self.fs.needs_value(e.if_false) {
                let around = if is_test {
                    JumpList::EMPTY
                } else {
                    JumpList::of(self.jump())
                };
                let load_false = self.fs.mark_target();
                self.emit_abc(Op::LFalseSkip, reg, 0, 0);
                let load_true = self.fs.mark_target();
                self.emit_abc(Op::LoadTrue, reg, 0, 0);
                self.patch_here(around)?;
                loads = (load_false, load_true);
            }
            let end = self.fs.mark_target();
            self.patch_values(e.if_false, end, reg, loads.0)?;
            self.patch_values(e.if_true, end, reg, loads.1)?;
        }
        *e = ExpDesc::new(Kind::NonReloc(reg));
        Ok(())
    }

    /// Puts the value into the next free register.
    pub(super) fn put_next(&mut self, e: &mut ExpDesc) -> Result<u8> {
        self.discharge_vars(e);
        self.free_exp(e);
        let reg = self.reserve(1)?;
        self.put_in(e, reg)?;
        Ok(reg)
    }

    /// Puts the value into some register, and gives it.
    pub(super) fn put_any(&mut self, e: &mut ExpDesc) -> Result<u8> {
        self.discharge_vars(e);
        if let Kind::NonReloc(reg) = e.kind {
            if !e.has_jumps() {
                return Ok(reg);
            }
            // A variable's register must not be written.
            if reg >= self.active_regs() {
                self.put_in(e, reg)?;
                return Ok(reg);
            }
        }
        self.put_next(e)
    }

    /// Makes it an upvalue or puts it into some register.
    pub(super) fn put_any_or_upvalue(&mut self, e: &mut ExpDesc) -> Result<()> {
        if !matches!(e.kind, Kind::Upvalue(_)) || e.has_jumps() {
            self.put_any(e)?;
        }
        Ok(())
    }

    /// Puts it into some register or leaves it a constant.
    pub(super) fn settle(&mut self, e: &mut ExpDesc) -> Result<()> {
        if matches!(e.kind, Kind::Jump(_)) || e.has_jumps() {
            self.put_any(e)?;
        } else {
            self.discharge_vars(e);
        }
        Ok(())
    }

    /// Makes it a constant of the table that an 8-bit operand can name, and gives that operand, if it can be one.
    pub(super) fn make_constant(&mut self, e: &mut ExpDesc) -> Result<Option<u8>> {
        if e.has_jumps() {
            return Ok(None);
        }
        let constant = match e.kind {
            Kind::True => self.bool_constant(true)?,
            Kind::False => self.bool_constant(false)?,
            Kind::Nil => self.nil_constant()?,
            Kind::Int(value) => self.int_constant(value)?,
            Kind::Float(value) => self.float_constant(value)?,
            Kind::Str(symbol) => self.string_constant(symbol)?,
            Kind::Constant(constant) => constant,
            _ => return Ok(None),
        };
        if constant > MAX_ARG {
            return Ok(None);
        }
        e.kind = Kind::Constant(constant);
        Ok(Some(constant as u8))
    }

    /// Makes it an operand: a constant (true) or a register (false).
    pub(super) fn make_operand(&mut self, e: &mut ExpDesc) -> Result<(u8, bool)> {
        match self.make_constant(e)? {
            Some(constant) => Ok((constant, true)),
            None => Ok((self.put_any(e)?, false)),
        }
    }

    /// The value, if the compiler knows it.
    pub(super) fn const_value(&self, e: &ExpDesc) -> Option<ConstValue> {
        if e.has_jumps() {
            return None;
        }
        match e.kind {
            Kind::Nil => Some(ConstValue::Nil),
            Kind::True => Some(ConstValue::Bool(true)),
            Kind::False => Some(ConstValue::Bool(false)),
            Kind::Str(symbol) => Some(ConstValue::Str(symbol)),
            Kind::CompileTime(var) => Some(self.vars[var].value),
            _ => e.numeral().map(ConstValue::Number),
        }
    }

    /// Gives back the register of the expression.
    pub(super) fn free_exp(&mut self, e: &ExpDesc) {
        if let Kind::NonReloc(reg) = e.kind {
            self.free(reg);
        }
    }

    /// Gives back the registers of two expressions.
    pub(super) fn free_exps(&mut self, one: &ExpDesc, other: &ExpDesc) {
        match (one.kind, other.kind) {
            (Kind::NonReloc(one), Kind::NonReloc(other)) => self.free_two(one, other),
            (Kind::NonReloc(reg), _) | (_, Kind::NonReloc(reg)) => self.free(reg),
            _ => {}
        }
    }

    /// Assigns `e` to the variable or field `var`.
    pub(super) fn store(&mut self, var: &ExpDesc, e: &mut ExpDesc) -> Result<()> {
        let (op, a, b) = match var.kind {
            Kind::Local { reg, .. } => {
                self.free_exp(e);
                return self.put_in(e, reg);
            }
            Kind::Upvalue(upvalue) => {
                let reg = self.put_any(e)?;
                self.emit_abc(Op::SetUpval, reg, upvalue, 0);
                self.free_exp(e);
                return Ok(());
            }
            Kind::IndexedUp { upvalue, key } => (Op::SetTabUp, upvalue, key),
            Kind::IndexedInt { table, key } => (Op::SetI, table, key),
            Kind::IndexedStr { table, key } => (Op::SetField, table, key),
            Kind::Indexed { table, key } => (Op::SetTable, table, key),
            _ => return Ok(()),
        };
        let (c, k) = self.make_operand(e)?;
        self.emit(Instruction::abck(op, a, b, c, k));
        self.free_exp(e);
        Ok(())
    }

    /// Turns `e` into the method `key` of itself, with `e` in the register after it.
    pub(super) fn method(&mut self, e: &mut ExpDesc, key: &mut ExpDesc) -> Result<()> {
        let object = self.put_any(e)?;
        self.free_exp(e);
        let base = self.reserve(2)?;
        *e = ExpDesc::new(Kind::NonReloc(base));
        let (c, k) = self.make_operand(key)?;
        self.emit(Instruction::abck(Op::SelfOp, base, object, c, k));
        self.free_exp(key);
        Ok(())
    }

    /// Turns the table `t` into its field `key`.
    pub(super) fn index(&mut self, t: &mut ExpDesc, key: &mut ExpDesc) -> Result<()> {
        if let Kind::Str(symbol) = key.kind {
            key.kind = Kind::Constant(self.string_constant(symbol)?);
        }
        let name = self.field_name(key);
        t.kind = match (t.kind, name) {
            (Kind::Upvalue(upvalue), Some(key)) => Kind::IndexedUp { upvalue, key },
            _ => {
                let table = match t.kind {
                    Kind::Local { reg, .. } => reg,
                    _ => self.put_any(t)?,
                };
                match (name, key.int().and_then(|key| u8::try_from(key).ok())) {
                    (Some(key), _) => Kind::IndexedStr { table, key },
                    (None, Some(key)) => Kind::IndexedInt { table, key },
                    (None, None) => Kind::Indexed {
                        table,
                        key: self.put_any(key)?,
                    },
                }
            }
        };
        Ok(())
    }

    /// The operand of the key, if a field instruction can name it.
    fn field_name(&self, key: &ExpDesc) -> Option<u8> {
        let Kind::Constant(constant) = key.kind else {
            return None;
        };
        if key.has_jumps() {
            return None;
        }
        match &self.fs.proto.constants[constant as usize] {
            Constant::Str(text) if text.len() <= MAX_SHORT_BYTES => u8::try_from(constant).ok(),
            _ => None,
        }
    }

    /// Goes on if it's true, else jumps away.
    pub(super) fn go_if_true(&mut self, e: &mut ExpDesc) -> Result<()> {
        self.discharge_vars(e);
        let away = match e.kind {
            Kind::Jump(pc) => {
                self.fs.negate(pc);
                JumpList::of(pc)
            }
            Kind::Constant(_) | Kind::Float(_) | Kind::Int(_) | Kind::Str(_) | Kind::True => {
                JumpList::EMPTY
            }
            _ => JumpList::of(self.jump_on(e, false)?),
        };
        self.join(&mut e.if_false, away)?;
        self.patch_here(e.if_true)?;
        e.if_true = JumpList::EMPTY;
        Ok(())
    }

    /// Goes on if it's false, else jumps away.
    pub(super) fn go_if_false(&mut self, e: &mut ExpDesc) -> Result<()> {
        self.discharge_vars(e);
        let away = match e.kind {
            Kind::Jump(pc) => JumpList::of(pc),
            Kind::Nil | Kind::False => JumpList::EMPTY,
            _ => JumpList::of(self.jump_on(e, true)?),
        };
        self.join(&mut e.if_true, away)?;
        self.patch_here(e.if_false)?;
        e.if_false = JumpList::EMPTY;
        Ok(())
    }

    /// Emits a jump that is taken if the value is `condition`.
    fn jump_on(&mut self, e: &mut ExpDesc, condition: bool) -> Result<usize> {
        if let Kind::Reloc(pc) = e.kind {
            let instruction = self.fs.proto.code[pc];
            if instruction.op() == Op::Not {
                self.remove_last();
                return Ok(self.test_jump(Instruction::abck(
                    Op::Test,
                    instruction.b(),
                    0,
                    0,
                    !condition,
                )));
            }
        }
        let reg = self.discharge_to_any(e)?;
        self.free_exp(e);
        Ok(self.test_jump(Instruction::abck(Op::TestSet, NO_REG, reg, 0, condition)))
    }

    /// `not e`
    pub(super) fn not(&mut self, e: &mut ExpDesc) -> Result<()> {
        match e.kind {
            Kind::Nil | Kind::False => e.kind = Kind::True,
            Kind::Constant(_) | Kind::Float(_) | Kind::Int(_) | Kind::Str(_) | Kind::True => {
                e.kind = Kind::False
            }
            Kind::Jump(pc) => self.fs.negate(pc),
            _ => {
                let reg = self.discharge_to_any(e)?;
                self.free_exp(e);
                e.kind = Kind::Reloc(self.emit_abc(Op::Not, 0, reg, 0));
            }
        }
        std::mem::swap(&mut e.if_true, &mut e.if_false);
        self.fs.remove_values(e.if_false);
        self.fs.remove_values(e.if_true);
        Ok(())
    }
}
