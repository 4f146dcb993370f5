//! Instructions, constants and registers of the function under way.

use std::sync::Arc;

use super::Compiler;
use super::state::ConstKey;
use crate::lexer::{Result, Symbol};
use crate::opcode::{Instruction, MAX_AX, MAX_BX, OFFSET_SBX, Op};
use crate::proto::Constant;
use crate::text::number::float_to_int;

/// The number of registers of a function; one less than an operand can name.
const MAX_REGS: usize = 255;

/// The integer as an operand `sBx`, if it fits.
fn as_sbx(value: i64) -> Option<i32> {
    let value = i32::try_from(value).ok()?;
    (-OFFSET_SBX..=MAX_BX as i32 - OFFSET_SBX)
        .contains(&value)
        .then_some(value)
}

impl Compiler<'_> {
    /// Appends an instruction, which belongs to the line of the last token read, and gives its number.
    pub(super) fn emit(&mut self, instruction: Instruction) -> usize {
        self.fs.proto.code.push(instruction);
        self.fs.proto.lines.push(self.lexer.last_line);
        self.fs.pc() - 1
    }

    pub(super) fn emit_abc(&mut self, op: Op, a: u8, b: u8, c: u8) -> usize {
        self.emit(Instruction::abck(op, a, b, c, false))
    }

    /// Gives the last instruction another line.
    pub(super) fn fix_line(&mut self, line: u32) {
        if let Some(last) = self.fs.proto.lines.last_mut() {
            *last = line;
        }
    }

    /// Takes back the last instruction.
    pub(super) fn remove_last(&mut self) {
        self.fs.proto.code.pop();
        self.fs.proto.lines.pop();
    }

    /// Emits a return of `count` values from register `first` on; `None`: up to the top.
    pub(super) fn emit_return(&mut self, first: u8, count: Option<u8>) {
        let op = match count {
            Some(0) => Op::Return0,
            Some(1) => Op::Return1,
            _ => Op::Return,
        };
        self.emit_abc(op, first, count.map_or(0, |count| count + 1), 0);
    }

    /// Sets `count` registers from `first` on to nil, with the instruction before if that does so next to them.
    pub(super) fn emit_nil(&mut self, first: u8, count: u8) {
        let (from, to) = (u32::from(first), u32::from(first) + u32::from(count) - 1);
        if let Some(previous) = self.fs.previous()
            && previous.op() == Op::LoadNil
        {
            let (old_from, old_to) = (
                u32::from(previous.a()),
                u32::from(previous.a()) + u32::from(previous.b()),
            );
            if old_from <= from && from <= old_to + 1 || from <= old_from && old_from <= to + 1 {
                let (from, to) = (from.min(old_from), to.max(old_to));
                *previous = previous.with_a(from as u8).with_b((to - from) as u8);
                return;
            }
        }
        self.emit_abc(Op::LoadNil, first, count - 1, 0);
    }

    pub(super) fn emit_int(&mut self, reg: u8, value: i64) -> Result<()> {
        if let Some(sbx) = as_sbx(value) {
            self.emit(Instruction::asbx(Op::LoadI, reg, sbx));
            return Ok(());
        }
        let constant = self.int_constant(value)?;
        self.emit_constant(reg, constant);
        Ok(())
    }

    pub(super) fn emit_float(&mut self, reg: u8, value: f64) -> Result<()> {
        if let Some(sbx) = float_to_int(value).and_then(as_sbx) {
            self.emit(Instruction::asbx(Op::LoadF, reg, sbx));
            return Ok(());
        }
        let constant = self.float_constant(value)?;
        self.emit_constant(reg, constant);
        Ok(())
    }

    pub(super) fn emit_constant(&mut self, reg: u8, constant: u32) {
        if constant <= MAX_BX {
            self.emit(Instruction::abx(Op::LoadK, reg, constant));
        } else {
            self.emit(Instruction::abx(Op::LoadKX, reg, 0));
            self.emit(Instruction::ax_op(Op::ExtraArg, constant));
        }
    }

    /// Writes the sizes of a table constructor into its instruction.
    pub(super) fn set_table_size(&mut self, pc: usize, reg: u8, items: usize, keys: usize) {
        let log = if keys == 0 {
            0
        } else {
            keys.next_power_of_two().trailing_zeros() as u8 + 1
        };
        let extra = (items >> 8) as u32;
        let unused = if keys == 0 {
            0
        } else {
            (keys.next_power_of_two() - keys) as u32
        };
        *self.fs.code_mut(pc) = Instruction::abck(Op::NewTable, reg, log, items as u8, extra > 0);
        *self.fs.code_mut(pc + 1) = Instruction::table_room(extra, unused);
    }

    /// Stores `count` values (`None`: up to the top) that stand after the table in register `base`, after its first
    /// `stored` items.
    pub(super) fn emit_set_list(&mut self, base: u8, stored: usize, count: Option<u8>) {
        let extra = (stored >> 8) as u32;
        self.emit(Instruction::abck(
            Op::SetList,
            base,
            count.unwrap_or(0),
            stored as u8,
            extra > 0,
        ));
        if extra > 0 {
            self.emit(Instruction::ax_op(Op::ExtraArg, extra));
        }
        self.fs.free_reg = base + 1;
    }

    fn constant(&mut self, key: ConstKey, value: impl FnOnce(&Self) -> Constant) -> Result<u32> {
        if let Some(number) = self.fs.const_numbers.get(&key) {
            return Ok(*number);
        }
        let number = self.fs.proto.constants.len();
        self.check_limit(number + 1, MAX_AX as usize, "constants")?;
        let value = value(self);
        self.fs.proto.constants.push(value);
        self.fs.const_numbers.insert(key, number as u32);
        Ok(number as u32)
    }

    pub(super) fn nil_constant(&mut self) -> Result<u32> {
        self.constant(ConstKey::Nil, |_| Constant::Nil)
    }

    pub(super) fn bool_constant(&mut self, value: bool) -> Result<u32> {
        self.constant(ConstKey::Bool(value), |_| Constant::Bool(value))
    }

    pub(super) fn int_constant(&mut self, value: i64) -> Result<u32> {
        self.constant(ConstKey::Int(value), |_| Constant::Int(value))
    }

    pub(super) fn float_constant(&mut self, value: f64) -> Result<u32> {
        self.constant(ConstKey::Float(value.to_bits()), |_| Constant::Float(value))
    }

    pub(super) fn string_constant(&mut self, symbol: Symbol) -> Result<u32> {
        self.constant(ConstKey::Str(symbol), |this| {
            Constant::Str(Arc::clone(this.lexer.symbols.text(symbol)))
        })
    }

    /// Sees to it that `count` registers from the first free one on exist.
    pub(super) fn check_stack(&mut self, count: usize) -> Result<()> {
        let size = usize::from(self.fs.free_reg) + count;
        if size > usize::from(self.fs.proto.max_stack) {
            if size >= MAX_REGS {
                return Err(self
                    .lexer
                    .syntax_error("function or expression needs too many registers"));
            }
            self.fs.proto.max_stack = size as u8;
        }
        Ok(())
    }

    /// Takes the next `count` registers and gives the first of them.
    pub(super) fn reserve(&mut self, count: usize) -> Result<u8> {
        self.check_stack(count)?;
        let first = self.fs.free_reg;
        self.fs.free_reg += count as u8;
        Ok(first)
    }

    /// Gives back a register, unless it is a variable's.
    pub(super) fn free(&mut self, reg: u8) {
        if reg >= self.active_regs() {
            debug_assert_eq!(
                reg + 1,
                self.fs.free_reg,
                "registers are freed in reverse order"
            );
            self.fs.free_reg -= 1;
        }
    }

    /// Gives back two registers, in the right order.
    pub(super) fn free_two(&mut self, one: u8, other: u8) {
        self.free(one.max(other));
        self.free(one.min(other));
    }
}
