//! Names of values for error messages: what a register holds, found by following the bytecode that put it there.
//!
//! Pure on a function's code. Where jumps make it doubtful which instruction set a register, there is no name.

use crate::opcode::{Event, Instruction, Op};
use crate::proto::{Constant, Proto};

/// What sort of name a value has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NameKind {
    /// A local variable.
    Local,
    /// An upvalue.
    Upvalue,
    /// A constant string.
    Constant,
    /// A global variable: a field of `_ENV`.
    Global,
    /// A field of some other table.
    Field,
    /// A method.
    Method,
    /// The iterator of a generic `for`.
    ForIterator,
    /// A metamethod, by its event.
    Metamethod,
    /// A debug hook.
    Hook,
}

impl NameKind {
    /// The word of messages.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            NameKind::Local => "local",
            NameKind::Upvalue => "upvalue",
            NameKind::Constant => "constant",
            NameKind::Global => "global",
            NameKind::Field => "field",
            NameKind::Method => "method",
            NameKind::ForIterator => "for iterator",
            NameKind::Metamethod => "metamethod",
            NameKind::Hook => "hook",
        }
    }
}

/// The name of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ValueName<'p> {
    /// Its sort.
    pub kind: NameKind,
    /// The name itself.
    pub name: &'p [u8],
}

impl<'p> ValueName<'p> {
    const fn new(kind: NameKind, name: &'p [u8]) -> Self {
        ValueName { kind, name }
    }

    /// Appends the remark of messages, ` (local 'x')`.
    pub fn write_remark(&self, message: &mut Vec<u8>) {
        for part in [b" (", self.kind.text().as_bytes(), b" '", self.name, b"')"] {
            message.extend_from_slice(part);
        }
    }
}

/// A name that cannot be told.
const UNKNOWN: &[u8] = b"?";

/// The name of upvalue `number`.
#[must_use]
pub fn upvalue_name(proto: &Proto, number: u8) -> ValueName<'_> {
    let name = proto
        .upvalues
        .get(usize::from(number))
        .and_then(|upvalue| upvalue.name.as_deref());
    ValueName::new(NameKind::Upvalue, name.unwrap_or(UNKNOWN))
}

/// The name of what register `reg` holds when the instruction at `pc` runs.
#[must_use]
pub fn register_name(proto: &Proto, pc: usize, reg: u8) -> Option<ValueName<'_>> {
    let setter = match basic_name(proto, pc, reg) {
        Ok(name) => return Some(name),
        Err(setter) => setter?,
    };
    let i = proto.code[setter];
    match i.op() {
        Op::GetTabUp => {
            let table = upvalue_name(proto, i.b());
            Some(field_of(
                Some(table),
                constant_name(proto, u32::from(i.c())),
            ))
        }
        Op::GetField => {
            let table = basic_name(proto, setter, i.b()).ok();
            Some(field_of(table, constant_name(proto, u32::from(i.c()))))
        }
        Op::GetTable => {
            let table = basic_name(proto, setter, i.b()).ok();
            Some(field_of(table, key_name(proto, setter, i.c())))
        }
        Op::GetI => Some(ValueName::new(NameKind::Field, b"integer index")),
        Op::SelfOp => {
            let key = if i.k() {
                constant_name(proto, u32::from(i.c()))
            } else {
                key_name(proto, setter, i.c())
            };
            Some(ValueName::new(NameKind::Method, key.unwrap_or(UNKNOWN)))
        }
        _ => None,
    }
}

/// The name of the function that the instruction at `pc` calls: of a called value, or the metamethod that it needs.
#[must_use]
pub fn call_name(proto: &Proto, pc: usize) -> Option<ValueName<'_>> {
    let i = *proto.code.get(pc)?;
    let event = match i.op() {
        Op::Call | Op::TailCall => return register_name(proto, pc, i.a()),
        Op::TForCall => return Some(ValueName::new(NameKind::ForIterator, b"for iterator")),
        Op::SelfOp | Op::GetTabUp | Op::GetTable | Op::GetI | Op::GetField => Event::Index,
        Op::SetTabUp | Op::SetTable | Op::SetI | Op::SetField => Event::NewIndex,
        Op::MmBin | Op::MmBinI | Op::MmBinK => Event::from_number(i.c())?,
        Op::Unm => Event::Unm,
        Op::BNot => Event::BNot,
        Op::Len => Event::Len,
        Op::Concat => Event::Concat,
        Op::Eq => Event::Eq,
        Op::Lt | Op::LtI | Op::GtI => Event::Lt,
        Op::Le | Op::LeI | Op::GeI => Event::Le,
        Op::Close | Op::Return => Event::Close,
        _ => return None,
    };
    let name = event.name().trim_start_matches("__").as_bytes();
    Some(ValueName::new(NameKind::Metamethod, name))
}

/// A field, or a global variable if its table is a variable called `_ENV`.
fn field_of<'p>(table: Option<ValueName<'p>>, key: Option<&'p [u8]>) -> ValueName<'p> {
    let is_env = table.is_some_and(|table| {
        matches!(table.kind, NameKind::Local | NameKind::Upvalue) && table.name == b"_ENV"
    });
    ValueName::new(
        if is_env {
            NameKind::Global
        } else {
            NameKind::Field
        },
        key.unwrap_or(UNKNOWN),
    )
}

/// The name of a register that needs no look at what a table holds, or else the instruction that set it.
fn basic_name(proto: &Proto, mut pc: usize, mut reg: u8) -> Result<ValueName<'_>, Option<usize>> {
    loop {
        if let Some(name) = proto.local_name(usize::from(reg) + 1, pc) {
            return Ok(ValueName::new(NameKind::Local, name));
        }
        let setter = find_setter(proto, pc, reg).ok_or(None)?;
        let i = proto.code[setter];
        let name = match i.op() {
            // A copy of a variable; variables have the lower registers.
            Op::Move if i.b() < i.a() => {
                (pc, reg) = (setter, i.b());
                continue;
            }
            Op::GetUpval => Some(upvalue_name(proto, i.b())),
            Op::LoadK => {
                constant_name(proto, i.bx()).map(|name| ValueName::new(NameKind::Constant, name))
            }
            Op::LoadKX => proto
                .code
                .get(setter + 1)
                .and_then(|extra| constant_name(proto, extra.ax()))
                .map(|name| ValueName::new(NameKind::Constant, name)),
            _ => None,
        };
        return name.ok_or(Some(setter));
    }
}

/// The text of a constant string.
fn constant_name(proto: &Proto, number: u32) -> Option<&[u8]> {
    match proto.constants.get(number as usize) {
        Some(Constant::Str(text)) => Some(text),
        _ => None,
    }
}

/// The text of a constant string in a register.
fn key_name(proto: &Proto, pc: usize, reg: u8) -> Option<&[u8]> {
    basic_name(proto, pc, reg)
        .ok()
        .filter(|name| name.kind == NameKind::Constant)
        .map(|name| name.name)
}

/// The last instruction before `pc` that set `reg`, if it surely ran.
fn find_setter(proto: &Proto, mut pc: usize, reg: u8) -> Option<usize> {
    if matches!(
        proto.code.get(pc).map(|i| i.op()),
        Some(Op::MmBin | Op::MmBinI | Op::MmBinK)
    ) {
        // The instruction before it did not come to an end.
        pc -= 1;
    }
    let mut setter = None;
    // Code before this point may have been jumped over.
    let mut certain_from = 0;
    for (at, i) in proto.code.iter().take(pc).enumerate() {
        if i.op() == Op::Jmp {
            let target = (at + 1).saturating_add_signed(i.sj() as isize);
            if target <= pc {
                certain_from = certain_from.max(target);
            }
        } else if sets(*i, reg) {
            setter = (at >= certain_from).then_some(at);
        }
    }
    setter
}

/// Whether the instruction writes the register.
fn sets(i: Instruction, reg: u8) -> bool {
    let (a, reg) = (u32::from(i.a()), u32::from(reg));
    match i.op() {
        Op::LoadNil => (a..=a + u32::from(i.b())).contains(&reg),
        Op::TForCall => reg >= a + 2,
        Op::Call | Op::TailCall => reg >= a,
        op => op.sets_a() && reg == a,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiler::compile;

    /// The names of the registers that the last instruction of kind `op` in a chunk uses, as its operand `operand` says.
    fn name(source: &str, op: Op, operand: fn(Instruction) -> u8) -> Option<String> {
        let proto = compile(source.as_bytes(), b"=test").expect("compiles");
        let pc = proto
            .code
            .iter()
            .rposition(|i| i.op() == op)
            .expect("has the instruction");
        let name = register_name(&proto, pc, operand(proto.code[pc]))?;
        Some(format!(
            "{} {}",
            name.kind.text(),
            String::from_utf8_lossy(name.name)
        ))
    }

    #[track_caller]
    fn called(source: &str, expected: &str) {
        assert_eq!(
            name(source, Op::Call, Instruction::a).as_deref(),
            Some(expected),
            "{source}"
        );
    }

    #[test]
    fn names_of_called_values() {
        called("f()", "global f");
        called("local f; f()", "local f");
        called("local t; t.x.y()", "field y");
        called("local t; t[1]()", "field integer index");
        called("local t; t:m()", "method m");
        called("local _ENV = {}; f()", "global f");
        called("local t, k = {}; t['a b']()", "field a b");
        called("local t = {}; t[_ENV]()", "field ?");
        called("local x; x'a'", "local x");
        called("('s')()", "constant s");
    }

    #[test]
    fn names_of_upvalues() {
        let proto = compile(b"local up; function f() up() end", b"=test").expect("compiles");
        let inner = &proto.protos[0];
        let pc = inner
            .code
            .iter()
            .position(|i| i.op() == Op::Call)
            .expect("calls");
        assert_eq!(
            call_name(inner, pc),
            Some(ValueName::new(NameKind::Upvalue, b"up"))
        );
        assert_eq!(upvalue_name(inner, 0).name, b"up");
        assert_eq!(upvalue_name(inner, 9).name, b"?");
    }

    #[test]
    fn names_of_operands() {
        let source = "local a, b = {}; return a.x + b";
        assert_eq!(
            name(source, Op::Add, Instruction::b).as_deref(),
            Some("field x")
        );
        assert_eq!(
            name(source, Op::Add, Instruction::c).as_deref(),
            Some("local b")
        );
        assert_eq!(
            name(source, Op::MmBin, Instruction::a).as_deref(),
            Some("field x")
        );
        assert_eq!(
            name("local s = 'x' .. y", Op::Concat, |i| i.a() + 1).as_deref(),
            Some("global y")
        );
    }

    #[test]
    fn no_name_when_a_jump_makes_it_doubtful() {
        assert_eq!(
            name("local a, b; (a or b)()", Op::Call, Instruction::a),
            None
        );
        assert_eq!(
            name("local a, b; (a and b.c)()", Op::Call, Instruction::a),
            None
        );
        called("local a; if a then a = 1 end f()", "global f");
    }

    #[test]
    fn names_of_metamethods() {
        let proto =
            compile(b"local a, b; local c = a < b; return a + b", b"=test").expect("compiles");
        let at = |op| {
            proto
                .code
                .iter()
                .position(|i| i.op() == op)
                .expect("has it")
        };
        assert_eq!(
            call_name(&proto, at(Op::Lt)),
            Some(ValueName::new(NameKind::Metamethod, b"lt"))
        );
        assert_eq!(
            call_name(&proto, at(Op::MmBin)),
            Some(ValueName::new(NameKind::Metamethod, b"add"))
        );
        assert_eq!(call_name(&proto, at(Op::Add)), None);
        assert_eq!(call_name(&proto, 1000), None);
        let mut message = b"attempt to call a nil value".to_vec();
        ValueName::new(NameKind::Local, b"x").write_remark(&mut message);
        assert_eq!(message, b"attempt to call a nil value (local 'x')");
    }
}
