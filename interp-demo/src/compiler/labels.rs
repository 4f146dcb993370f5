//! Labels, `goto` and `break`.

use super::Compiler;
use super::jumps::JumpList;
use super::state::Block;
use crate::lexer::{Result, Symbol, SyntaxError};
use crate::opcode::Op;

/// A label that is visible.
#[derive(Clone, Copy)]
pub(super) struct Label {
    name: Symbol,
    line: u32,
    pc: usize,
    /// The number of active variables of the function at the label.
    active: usize,
}

/// A `goto` or `break` whose label has not come yet.
#[derive(Clone, Copy)]
pub(super) struct Goto {
    name: Symbol,
    line: u32,
    jump: JumpList,
    /// The number of active variables at the goto; less when it has left blocks.
    active: usize,
    /// The first register above those variables.
    base: u8,
    /// Whether it leaves the scope of a variable that must be closed.
    close: bool,
}

impl Compiler<'_> {
    /// The visible label of this name in the function.
    fn find_label(&self, name: Symbol) -> Option<Label> {
        self.labels[self.fs.first_label..]
            .iter()
            .copied()
            .find(|label| label.name == name)
    }

    /// An error if a label of this name is visible.
    pub(super) fn check_repeated(&self, name: Symbol) -> Result<()> {
        match self.find_label(name) {
            Some(label) => {
                let after = format!("' already defined on line {}", label.line);
                Err(self.name_error("label '", name, &after))
            }
            None => Ok(()),
        }
    }

    /// Creates a label here and sends all pending gotos of the block to it. `last`: only empty statements follow it in
    /// its block, so that it counts as outside the scope of the block's variables. True: a goto had variables to close,
    /// and they're closed here.
    pub(super) fn create_label(&mut self, name: Symbol, line: u32, last: bool) -> Result<bool> {
        let pc = self.fs.mark_target();
        let active = match self.fs.blocks.last() {
            Some(block) if last => block.active,
            _ => self.fs.active,
        };
        let label = Label {
            name,
            line,
            pc,
            active,
        };
        self.labels.push(label);
        let close = self.solve_gotos(&label)?;
        if close {
            let base = self.active_regs();
            self.emit_abc(Op::Close, base, 0, 0);
        }
        Ok(close)
    }

    fn solve_gotos(&mut self, label: &Label) -> Result<bool> {
        let mut close = false;
        let mut number = self.fs.blocks.last().map_or(0, |block| block.first_goto);
        while let Some(goto) = self.gotos.get(number).copied() {
            if goto.name == label.name {
                close |= goto.close;
                if goto.active < label.active {
                    return Err(self.jumps_into_scope(&goto));
                }
                self.patch(goto.jump, label.pc)?;
                self.gotos.remove(number);
            } else {
                number += 1;
            }
        }
        Ok(close)
    }

    #[cold]
    fn jumps_into_scope(&mut self, goto: &Goto) -> Box<SyntaxError> {
        let var = self.var(goto.active).name;
        let goto_name = self.lexer.symbols.text(goto.name);
        let before = [b"<goto ", &goto_name[..], b"> at line "].concat();
        let var_name = self.lexer.symbols.text(var);
        let middle = format!("{} jumps into the scope of local '", goto.line);
        self.lexer
            .error(&[&before, middle.as_bytes(), var_name, b"'"].concat(), None)
    }

    /// Notes a jump to a label that has not come yet.
    pub(super) fn new_goto(&mut self, name: Symbol, line: u32, jump: JumpList) {
        let base = self.active_regs();
        self.gotos.push(Goto {
            name,
            line,
            jump,
            active: self.fs.active,
            base,
            close: false,
        });
    }

    /// `goto name`
    pub(super) fn goto(&mut self, name: Symbol, line: u32) -> Result<()> {
        let Some(label) = self.find_label(name) else {
            let jump = JumpList::of(self.jump());
            self.new_goto(name, line, jump);
            return Ok(());
        };
        let base = self.regs_of(label.active);
        if self.active_regs() > base {
            self.emit_abc(Op::Close, base, 0, 0);
        }
        let jump = JumpList::of(self.jump());
        self.patch(jump, label.pc)
    }

    /// Makes the pending gotos of a block that was left those of the block around it.
    pub(super) fn move_gotos_out(&mut self, block: &Block) {
        let base = self.regs_of(block.active);
        for goto in &mut self.gotos[block.first_goto..] {
            goto.close |= goto.base > base && block.has_upvalue;
            goto.active = block.active;
            goto.base = base;
        }
    }

    /// An error if gotos from number `first` on are pending at the end of a function.
    pub(super) fn check_gotos(&self, first: usize) -> Result<()> {
        let Some(goto) = self.gotos.get(first) else {
            return Ok(());
        };
        if goto.name == self.break_name {
            return Err(self.semantic_error(&format!("break outside loop at line {}", goto.line)));
        }
        let after = format!("' for <goto> at line {}", goto.line);
        Err(self.name_error("no visible label '", goto.name, &after))
    }
}
