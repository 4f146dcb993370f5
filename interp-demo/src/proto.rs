//! What the compiler makes of a function: plain data, shared by all closures of the function.

use std::sync::Arc;

use crate::opcode::Instruction;

/// A constant of a function.
#[derive(Clone, Debug)]
pub enum Constant {
    /// `nil` (only as the operand of a comparison or a store).
    Nil,
    /// `true` or `false`, likewise.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A float; never a NaN or a negative zero.
    Float(f64),
    /// A string of any bytes.
    Str(Arc<[u8]>),
}

/// What a local variable was declared as.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum VarKind {
    /// An ordinary variable.
    #[default]
    Regular,
    /// `<const>` with a value that is known only at run time.
    Const,
    /// `<close>`.
    ToClose,
    /// `<const>` with a value known to the compiler: it has no register.
    CompileTime,
}

/// Where a closure finds one of its upvalues when it is made.
#[derive(Clone, Debug)]
pub struct UpvalueDesc {
    /// The variable's name; none when debug information was stripped.
    pub name: Option<Arc<[u8]>>,
    /// Whether it is register `index` of the enclosing function; if not, it is upvalue `index` of that function.
    pub in_stack: bool,
    /// The register or upvalue.
    pub index: u8,
    /// The kind of the variable.
    pub kind: VarKind,
}

/// The life of a local variable, for debug information.
#[derive(Clone, Debug)]
pub struct LocVar {
    /// Its name; those the compiler makes up are in parentheses, as `(for state)`.
    pub name: Arc<[u8]>,
    /// The first instruction at which it is alive.
    pub start_pc: u32,
    /// The first instruction at which it is dead.
    pub end_pc: u32,
}

/// A compiled function.
#[derive(Clone, Debug, Default)]
pub struct Proto {
    /// The instructions; the last is always a return.
    pub code: Vec<Instruction>,
    /// The constants.
    pub constants: Vec<Constant>,
    /// The functions defined inside this one.
    pub protos: Vec<Arc<Proto>>,
    /// The upvalues.
    pub upvalues: Vec<UpvalueDesc>,
    /// The line of each instruction; empty when debug information was stripped.
    pub lines: Vec<u32>,
    /// The local variables, in the order of their declaration.
    pub loc_vars: Vec<LocVar>,
    /// The chunk's name: `@file`, `=name`, or the source text itself.
    pub source: Arc<[u8]>,
    /// The line where the definition starts; 0 for a main function.
    pub line_defined: u32,
    /// The line where the definition ends; 0 for a main function.
    pub last_line_defined: u32,
    /// The number of fixed parameters.
    pub num_params: u8,
    /// Whether the function takes more arguments than that.
    pub is_vararg: bool,
    /// The number of registers it needs.
    pub max_stack: u8,
}

impl Proto {
    /// How many bytes it takes, without the functions inside it, but with what the virtual machine keeps beside it.
    #[must_use]
    pub fn bytes(&self) -> usize {
        /// What stands before shared text, and its allocation rounded up.
        const TEXT_BYTES: usize = 24;
        /// A value of the virtual machine.
        const VALUE_BYTES: usize = 16;
        let text = |text: &Arc<[u8]>| text.len() + TEXT_BYTES;
        let constants = self.constants.iter().map(|constant| match constant {
            Constant::Str(v) => text(v),
            _ => 0,
        });
        // All functions of a chunk share its name.
        let source = if self.line_defined == 0 {
            text(&self.source)
        } else {
            0
        };
        size_of::<Proto>()
            + size_of_val::<[Instruction]>(&self.code)
            + size_of_val::<[u32]>(&self.lines)
            + self.constants.len() * (size_of::<Constant>() + VALUE_BYTES)
            + constants.sum::<usize>()
            + self.protos.len() * 2 * size_of::<usize>()
            + self.upvalues.len() * (size_of::<UpvalueDesc>() + TEXT_BYTES)
            + self.loc_vars.len() * (size_of::<LocVar>() + TEXT_BYTES)
            + source
    }

    /// The line of instruction `pc`, if it is known.
    #[must_use]
    pub fn line(&self, pc: usize) -> Option<u32> {
        self.lines.get(pc).copied()
    }

    /// The name of the local variable number `number` (from 1) that is alive at `pc`: the one in register `number - 1`.
    #[must_use]
    pub fn local_name(&self, number: usize, pc: usize) -> Option<&Arc<[u8]>> {
        self.loc_vars
            .iter()
            .take_while(|var| var.start_pc as usize <= pc)
            .filter(|var| pc < var.end_pc as usize)
            .nth(number.checked_sub(1)?)
            .map(|var| &var.name)
    }
}

/// Longest form of a chunk's name in messages.
const CHUNK_ID_BYTES: usize = 59;

/// The chunk's name as messages show it: a file name, a given name, or the first line of the text as `[string "…"]`.
#[must_use]
pub fn chunk_id(source: &[u8]) -> Vec<u8> {
    match source {
        [b'=', name @ ..] => name[..name.len().min(CHUNK_ID_BYTES)].to_vec(),
        [b'@', name @ ..] if name.len() <= CHUNK_ID_BYTES => name.to_vec(),
        [b'@', name @ ..] => [b"...", &name[name.len() - (CHUNK_ID_BYTES - 3)..]].concat(),
        text => {
            let room = CHUNK_ID_BYTES - "[string \"...\"]".len();
            let line = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
            let cut = line.len() < text.len() || line.len() >= room;
            let shown = &line[..line.len().min(room)];
            let end: &[u8] = if cut { b"...\"]" } else { b"\"]" };
            [b"[string \"", shown, end].concat()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunk_ids() {
        assert_eq!(chunk_id(b"=stdin"), b"stdin");
        assert_eq!(chunk_id(b"@a.lua"), b"a.lua");
        assert_eq!(chunk_id(b"x = 1"), b"[string \"x = 1\"]");
        assert_eq!(chunk_id(b"x = 1\ny = 2"), b"[string \"x = 1...\"]");
        assert_eq!(chunk_id(b""), b"[string \"\"]");
        let long = [b"@".as_slice(), &[b'a'; 30], &[b'b'; 30]].concat();
        let shown = chunk_id(&long);
        assert_eq!(shown.len(), 59);
        assert!(shown.starts_with(b"...aaa") && shown.ends_with(b"bbb"));
        assert_eq!(chunk_id(&long[..60]).len(), 59);
        assert_eq!(
            chunk_id(&[b'x'; 44]),
            [b"[string \"".as_slice(), &[b'x'; 44], b"\"]"].concat()
        );
        assert_eq!(
            chunk_id(&[b'x'; 45]),
            [b"[string \"".as_slice(), &[b'x'; 45], b"...\"]"].concat()
        );
    }
}
