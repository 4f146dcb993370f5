//! Blocks, local variables and upvalues.

use std::sync::Arc;

use super::Compiler;
use super::expdesc::{ConstValue, ExpDesc, Kind};
use super::state::{Block, FuncState};
use crate::lexer::{Result, Symbol};
use crate::opcode::Op;
use crate::proto::{LocVar, UpvalueDesc, VarKind};

/// The number of local variables a function may have at one point.
const MAX_LOCALS: usize = 200;
/// The number of upvalues a function may have.
const MAX_UPVALUES: usize = 255;

/// A local variable.
pub(super) struct Variable {
    pub name: Symbol,
    pub kind: VarKind,
    /// Its register, if it has one.
    pub reg: u8,
    /// Its place in the function's debug information, if it has a register.
    pub debug: usize,
    /// Its value, if it is known to the compiler.
    pub value: ConstValue,
}

impl Compiler<'_> {
    /// The function at a level: 0 is the main function.
    fn function(&mut self, level: usize) -> &mut FuncState {
        if level == self.outer.len() {
            &mut self.fs
        } else {
            &mut self.outer[level]
        }
    }

    /// Variable number `number` of the function under way.
    pub(super) fn var(&mut self, number: usize) -> &mut Variable {
        &mut self.vars[self.fs.first_var + number]
    }

    /// Declares a variable, which is not active yet, and gives its number in the function.
    pub(super) fn new_var(&mut self, name: Symbol) -> Result<usize> {
        let number = self.vars.len() - self.fs.first_var;
        self.check_limit(number + 1, MAX_LOCALS, "local variables")?;
        self.vars.push(Variable {
            name,
            kind: VarKind::Regular,
            reg: 0,
            debug: 0,
            value: ConstValue::Nil,
        });
        Ok(number)
    }

    /// Declares a variable of the compiler's own.
    pub(super) fn new_hidden_var(&mut self, name: &str) -> Result<usize> {
        let name = self.lexer.intern(name.as_bytes());
        self.new_var(name)
    }

    /// The first register above the first `count` variables of the function.
    pub(super) fn regs_of(&self, count: usize) -> u8 {
        self.vars[self.fs.first_var..self.fs.first_var + count]
            .iter()
            .rev()
            .find(|var| var.kind != VarKind::CompileTime)
            .map_or(0, |var| var.reg + 1)
    }

    /// The first register above all active variables.
    pub(super) fn active_regs(&self) -> u8 {
        self.regs_of(self.fs.active)
    }

    /// Starts the scope of the next `count` declared variables; their values stand in the next registers.
    pub(super) fn activate(&mut self, count: usize) {
        let first = self.active_regs();
        for reg in (first..).take(count) {
            let name = self.var(self.fs.active).name;
            let start_pc = self.fs.pc() as u32;
            let debug = self.fs.proto.loc_vars.len();
            let name = Arc::clone(self.lexer.symbols.text(name));
            self.fs.proto.loc_vars.push(LocVar {
                name,
                start_pc,
                end_pc: start_pc,
            });
            let var = self.var(self.fs.active);
            (var.reg, var.debug) = (reg, debug);
            self.fs.active += 1;
        }
    }

    /// Ends the scope of all variables of the function but the first `keep`.
    fn deactivate(&mut self, keep: usize) {
        let end_pc = self.fs.pc() as u32;
        for var in self
            .vars
            .drain(self.fs.first_var + keep..self.fs.first_var + self.fs.active)
        {
            if var.kind != VarKind::CompileTime {
                self.fs.proto.loc_vars[var.debug].end_pc = end_pc;
            }
        }
        self.fs.active = keep;
    }

    pub(super) fn enter_block(&mut self, is_loop: bool) {
        let block = Block {
            first_label: self.labels.len(),
            first_goto: self.gotos.len(),
            active: self.fs.active,
            has_upvalue: false,
            is_loop,
            inside_tbc: self.fs.inside_tbc(),
        };
        self.fs.blocks.push(block);
    }

    /// Leaves the innermost block, and gives what it was.
    pub(super) fn leave_block(&mut self) -> Result<Option<Block>> {
        let Some(block) = self.fs.blocks.last().copied() else {
            return Ok(None);
        };
        let is_function = self.fs.blocks.len() == 1;
        let base = self.regs_of(block.active);
        self.deactivate(block.active);
        let closed = block.is_loop && self.create_label(self.break_name, 0, false)?;
        if !closed && !is_function && block.has_upvalue {
            self.emit_abc(Op::Close, base, 0, 0);
        }
        self.fs.free_reg = base;
        self.labels.truncate(block.first_label);
        self.fs.blocks.pop();
        if is_function {
            self.check_gotos(block.first_goto)?;
        } else {
            self.move_gotos_out(&block);
        }
        Ok(Some(block))
    }

    /// Notes that the block has a variable that is to be closed.
    pub(super) fn mark_to_close(&mut self) {
        if let Some(block) = self.fs.blocks.last_mut() {
            block.has_upvalue = true;
            block.inside_tbc = true;
        }
        self.fs.needs_close = true;
    }

    /// Finds the variable of this name: local, upvalue, or none.
    pub(super) fn find_variable(&mut self, name: Symbol) -> Result<Option<ExpDesc>> {
        let found = self.find_in(self.outer.len(), name, true)?;
        Ok(found.map(ExpDesc::new))
    }

    /// Looks for a variable in the function at `level` and in those around it. `direct`: it is used in that function.
    fn find_in(&mut self, level: usize, name: Symbol, direct: bool) -> Result<Option<Kind>> {
        let function = self.function(level);
        let (first, active) = (function.first_var, function.active);
        let upvalue = function
            .upvalue_names
            .iter()
            .position(|&other| other == name);
        if let Some(number) = self.vars[first..first + active]
            .iter()
            .rposition(|var| var.name == name)
        {
            let var = &self.vars[first + number];
            if var.kind == VarKind::CompileTime {
                return Ok(Some(Kind::CompileTime(first + number)));
            }
            let reg = var.reg;
            if !direct {
                self.function(level).mark_upvalue(number);
            }
            return Ok(Some(Kind::Local { reg, var: number }));
        }
        if let Some(upvalue) = upvalue {
            return Ok(Some(Kind::Upvalue(upvalue as u8)));
        }
        let Some(outer) = level.checked_sub(1) else {
            return Ok(None);
        };
        let description = match self.find_in(outer, name, false)? {
            Some(Kind::Local { reg, var }) => {
                let kind = self.vars[self.outer[outer].first_var + var].kind;
                (true, reg, kind)
            }
            Some(Kind::Upvalue(upvalue)) => (
                false,
                upvalue,
                self.outer[outer].proto.upvalues[usize::from(upvalue)].kind,
            ),
            other => return Ok(other),
        };
        self.new_upvalue(level, name, description)
            .map(|upvalue| Some(Kind::Upvalue(upvalue)))
    }

    /// Adds an upvalue to the function at `level`.
    pub(super) fn new_upvalue(
        &mut self,
        level: usize,
        name: Symbol,
        (in_stack, index, kind): (bool, u8, VarKind),
    ) -> Result<u8> {
        let function = self.function(level);
        let (line, count) = (function.proto.line_defined, function.upvalue_names.len());
        self.check_limit_at(line, count + 1, MAX_UPVALUES, "upvalues")?;
        let text = Arc::clone(self.lexer.symbols.text(name));
        let function = self.function(level);
        function.upvalue_names.push(name);
        function.proto.upvalues.push(UpvalueDesc {
            name: Some(text),
            in_stack,
            index,
            kind,
        });
        Ok(count as u8)
    }

    /// An error if `e` is a constant variable.
    pub(super) fn check_assignable(&mut self, e: &ExpDesc) -> Result<()> {
        let (name, kind) = match e.kind {
            Kind::CompileTime(var) => (self.vars[var].name, VarKind::CompileTime),
            Kind::Local { var, .. } => {
                let var = self.var(var);
                (var.name, var.kind)
            }
            Kind::Upvalue(upvalue) => {
                let upvalue = usize::from(upvalue);
                (
                    self.fs.upvalue_names[upvalue],
                    self.fs.proto.upvalues[upvalue].kind,
                )
            }
            _ => return Ok(()),
        };
        if kind == VarKind::Regular {
            return Ok(());
        }
        Err(self.name_error("attempt to assign to const variable '", name, "'"))
    }
}

impl FuncState {
    /// Notes that variable `number` is an upvalue of another function: its block must close it.
    fn mark_upvalue(&mut self, number: usize) {
        if let Some(block) = self
            .blocks
            .iter_mut()
            .rev()
            .find(|block| block.active <= number)
        {
            block.has_upvalue = true;
        }
        self.needs_close = true;
    }
}
