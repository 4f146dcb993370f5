//! The function under way.

use std::collections::HashMap;
use std::sync::Arc;

use crate::lexer::Symbol;
use crate::opcode::Instruction;
use crate::proto::Proto;

/// A constant as a key of the table that finds it again. Floats are keyed by their bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ConstKey {
    Nil,
    Bool(bool),
    Int(i64),
    Float(u64),
    Str(Symbol),
}

/// A block of a function.
#[derive(Clone, Copy)]
pub(super) struct Block {
    /// The number of labels outside it.
    pub first_label: usize,
    /// The number of pending gotos outside it.
    pub first_goto: usize,
    /// The number of active variables of the function outside it.
    pub active: usize,
    /// Whether a variable of it is an upvalue of another function, or is to be closed.
    pub has_upvalue: bool,
    /// Whether `break` leaves it.
    pub is_loop: bool,
    /// Whether it is in the scope of a variable that is to be closed.
    pub inside_tbc: bool,
}

/// The state of one function.
pub(super) struct FuncState {
    pub proto: Proto,
    pub const_numbers: HashMap<ConstKey, u32>,
    /// The blocks around the current point, innermost last.
    pub blocks: Vec<Block>,
    /// Where the code was jumped to last: instructions before it must not be changed any more.
    pub last_target: usize,
    /// Its first variable among all.
    pub first_var: usize,
    /// Its first label among all.
    pub first_label: usize,
    /// The number of its active variables.
    pub active: usize,
    /// The first free register.
    pub free_reg: u8,
    /// Whether it must close upvalues or variables when it returns.
    pub needs_close: bool,
    /// The names of its upvalues.
    pub upvalue_names: Vec<Symbol>,
}

impl FuncState {
    pub(super) fn new(
        source: Arc<[u8]>,
        line_defined: u32,
        first_var: usize,
        first_label: usize,
    ) -> Self {
        FuncState {
            // Registers 0 and 1 always exist.
            proto: Proto {
                source,
                line_defined,
                max_stack: 2,
                ..Proto::default()
            },
            const_numbers: HashMap::new(),
            blocks: Vec::new(),
            last_target: 0,
            first_var,
            first_label,
            active: 0,
            free_reg: 0,
            needs_close: false,
            upvalue_names: Vec::new(),
        }
    }

    /// The number of the next instruction.
    pub(super) fn pc(&self) -> usize {
        self.proto.code.len()
    }

    pub(super) fn code_mut(&mut self, pc: usize) -> &mut Instruction {
        &mut self.proto.code[pc]
    }

    pub(super) fn inside_tbc(&self) -> bool {
        self.blocks.last().is_some_and(|block| block.inside_tbc)
    }

    /// The instruction before the next one, unless something may jump between the two.
    pub(super) fn previous(&mut self) -> Option<&mut Instruction> {
        if self.pc() > self.last_target {
            self.proto.code.last_mut()
        } else {
            None
        }
    }

    /// Marks the next instruction as a target of jumps, and gives its number.
    pub(super) fn mark_target(&mut self) -> usize {
        self.last_target = self.pc();
        self.last_target
    }
}
