//! A listing of bytecode, in the form of `luac -l`.

use std::fmt::Write as _;

use crate::opcode::{Event, Format, Instruction, MAX_BX, Op};
use crate::proto::{Constant, Proto};
use crate::text::number::{Number, write};

/// The listing of a function and of all functions in it.
#[must_use]
pub fn listing(proto: &Proto) -> String {
    let mut out = String::new();
    list(&mut out, proto);
    out
}

fn list(out: &mut String, proto: &Proto) {
    let what = if proto.line_defined == 0 {
        "main"
    } else {
        "function"
    };
    let _ = writeln!(
        out,
        "{what} <{},{}> ({})",
        proto.line_defined,
        proto.last_line_defined,
        count(proto.code.len(), "instruction")
    );
    let _ = writeln!(
        out,
        "{}{} param{}, {}, {}, {}, {}, {}",
        proto.num_params,
        if proto.is_vararg { "+" } else { "" },
        if proto.num_params == 1 { "" } else { "s" },
        count(usize::from(proto.max_stack), "slot"),
        count(proto.upvalues.len(), "upvalue"),
        count(proto.loc_vars.len(), "local"),
        count(proto.constants.len(), "constant"),
        count(proto.protos.len(), "function"),
    );
    for (pc, instruction) in proto.code.iter().enumerate() {
        // As `luac` lists it: without what it does not have.
        let is_room = pc > 0 && proto.code[pc - 1].op() == Op::NewTable;
        let instruction = if is_room {
            Instruction::ax_op(Op::ExtraArg, instruction.extra_items())
        } else {
            *instruction
        };
        let line = proto
            .line(pc)
            .map_or("-".to_owned(), |line| line.to_string());
        let _ = write!(
            out,
            "\t{}\t[{line}]\t{:<9}\t{}",
            pc + 1,
            instruction.op().name(),
            operands(instruction)
        );
        let note = note(proto, pc, instruction);
        if !note.is_empty() {
            let _ = write!(out, "\t; {note}");
        }
        out.push('\n');
    }
    for (number, var) in proto.loc_vars.iter().enumerate() {
        let name = String::from_utf8_lossy(&var.name);
        let _ = writeln!(
            out,
            "local\t{number}\t{name}\t{}\t{}",
            var.start_pc + 1,
            var.end_pc + 1
        );
    }
    for (number, upvalue) in proto.upvalues.iter().enumerate() {
        let name = upvalue
            .name
            .as_ref()
            .map_or("-".into(), |name| String::from_utf8_lossy(name));
        let _ = writeln!(
            out,
            "upvalue\t{number}\t{name}\t{}\t{}",
            u8::from(upvalue.in_stack),
            upvalue.index
        );
    }
    for inner in &proto.protos {
        out.push('\n');
        list(out, inner);
    }
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// The operands that mean something to the operation.
fn operands(i: Instruction) -> String {
    let (a, b, c) = (i.a(), i.b(), i.c());
    let k = if i.k() { "k" } else { "" };
    match i.op() {
        Op::LoadFalse
        | Op::LFalseSkip
        | Op::LoadTrue
        | Op::Close
        | Op::Tbc
        | Op::Return1
        | Op::VarargPrep => a.to_string(),
        Op::Move
        | Op::LoadNil
        | Op::GetUpval
        | Op::SetUpval
        | Op::Unm
        | Op::BNot
        | Op::Not
        | Op::Len
        | Op::Concat => {
            format!("{a} {b}")
        }
        Op::LoadKX => a.to_string(),
        Op::AddI | Op::ShrI | Op::ShlI => format!("{a} {b} {}", i.sc()),
        Op::MmBinI => format!("{a} {} {c} {}", i.sb(), u8::from(i.k())),
        Op::MmBinK => format!("{a} {b} {c} {}", u8::from(i.k())),
        Op::Eq | Op::Lt | Op::Le | Op::EqK => format!("{a} {b} {}", u8::from(i.k())),
        Op::EqI | Op::LtI | Op::LeI | Op::GtI | Op::GeI => {
            format!("{a} {} {}", i.sb(), u8::from(i.k()))
        }
        Op::Test => format!("{a} {}", u8::from(i.k())),
        Op::TestSet => format!("{a} {b} {}", u8::from(i.k())),
        Op::Return0 => String::new(),
        Op::TForCall | Op::Vararg => format!("{a} {c}"),
        op => match op.format() {
            Format::ABC => format!("{a} {b} {c}{k}"),
            Format::ABx => format!("{a} {}", i.bx()),
            Format::AsBx => format!("{a} {}", i.sbx()),
            Format::Ax => i.ax().to_string(),
            Format::SJ => i.sj().to_string(),
        },
    }
}

/// What the operands refer to.
fn note(proto: &Proto, pc: usize, i: Instruction) -> String {
    let (a, b, c) = (i.a(), i.b(), i.c());
    let constant = |number: u32| constant_text(proto, number as usize);
    let stored = || {
        if i.k() {
            constant(u32::from(c))
        } else {
            String::new()
        }
    };
    let upvalue = |number: u8| match proto
        .upvalues
        .get(usize::from(number))
        .and_then(|upvalue| upvalue.name.as_ref())
    {
        Some(name) => String::from_utf8_lossy(name).into_owned(),
        None => "-".to_owned(),
    };
    let event = |number: u8| Event::from_number(number).map_or("?", Event::name);
    let flip = if i.k() { " flip" } else { "" };
    let target = |offset: i64| (pc as i64 + 2 + offset).to_string();
    let next = proto.code.get(pc + 1).map_or(0, |extra| extra.ax());
    let text = match i.op() {
        Op::LoadK => constant(i.bx()),
        Op::LoadKX => constant(next),
        Op::LoadNil => format!("{} out", u32::from(b) + 1),
        Op::GetUpval | Op::SetUpval => upvalue(b),
        Op::GetTabUp => format!("{} {}", upvalue(b), constant(u32::from(c))),
        Op::GetField => constant(u32::from(c)),
        Op::SetTabUp => format!("{} {} {}", upvalue(a), constant(u32::from(b)), stored()),
        Op::SetTable | Op::SetI => stored(),
        Op::SetField => format!("{} {}", constant(u32::from(b)), stored()),
        Op::NewTable => (u64::from(c) + (u64::from(next & MAX_BX) << 8)).to_string(),
        Op::SelfOp => stored(),
        Op::EqK => constant(u32::from(b)),
        Op::MmBin => event(c).to_owned(),
        Op::MmBinI => format!("{}{flip}", event(c)),
        Op::MmBinK => format!("{} {}{flip}", event(c), constant(u32::from(b))),
        Op::Jmp => format!("to {}", target(i64::from(i.sj()))),
        Op::Call => format!("{} in {} out", values(b), values(c)),
        Op::TailCall => format!("{} in", values(b)),
        Op::Return | Op::Vararg => {
            format!("{} out", values(if i.op() == Op::Return { b } else { c }))
        }
        Op::ForLoop | Op::TForLoop => format!("to {}", target(-i64::from(i.bx()))),
        Op::ForPrep => format!("exit to {}", target(i64::from(i.bx()) + 1)),
        Op::TForPrep => format!("to {}", target(i64::from(i.bx()))),
        op if (Op::AddK as u8..=Op::BXorK as u8).contains(&(op as u8)) => constant(u32::from(c)),
        _ => String::new(),
    };
    text.trim_end().to_owned()
}

fn values(operand: u8) -> String {
    match operand.checked_sub(1) {
        None => "all".to_owned(),
        Some(values) => values.to_string(),
    }
}

fn constant_text(proto: &Proto, number: usize) -> String {
    match proto.constants.get(number) {
        None => "?".to_owned(),
        Some(Constant::Nil) => "nil".to_owned(),
        Some(Constant::Bool(value)) => value.to_string(),
        Some(Constant::Int(value)) => value.to_string(),
        Some(Constant::Float(value)) => {
            let mut text = Vec::new();
            write(&mut text, Number::Float(*value));
            String::from_utf8_lossy(&text).into_owned()
        }
        Some(Constant::Str(text)) => quoted(text),
    }
}

/// A string with escapes for what cannot be shown.
fn quoted(text: &[u8]) -> String {
    let mut out = String::from("\"");
    for &byte in text {
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            0x07 => out.push_str("\\a"),
            0x08 => out.push_str("\\b"),
            0x0c => out.push_str("\\f"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0x0b => out.push_str("\\v"),
            b' '..=b'~' => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "\\{byte:03}");
            }
        }
    }
    out.push('"');
    out
}
