//! Writing a function out.

use super::format::{BODY, CHECK_FLOAT, CHECK_INT, HEADER, SIGNATURE, constant};
use crate::proto::{Constant, Proto, VarKind};

/// The bytes of a function, from which [`load`](super::load) makes it again. `strip`: without debug information.
///
/// ```
/// # use interp_demo::{compiler::compile, dump};
/// let main = compile(b"return 1 + x", b"=sum").expect("compiles");
/// let bytes = dump::save(&main, false);
/// assert_eq!(dump::listing(&dump::load(&bytes, b"=sum").expect("loads")), dump::listing(&main));
/// ```
#[must_use]
pub fn save(proto: &Proto, strip: bool) -> Vec<u8> {
    let mut out = [SIGNATURE, HEADER].concat();
    out.extend_from_slice(&CHECK_INT.to_le_bytes());
    out.extend_from_slice(&CHECK_FLOAT.to_le_bytes());
    out.extend_from_slice(BODY);
    function(&mut out, proto, strip, None);
    out
}

fn function(out: &mut Vec<u8>, proto: &Proto, strip: bool, outer_source: Option<&[u8]>) {
    let same = outer_source == Some(&*proto.source);
    text(out, (!strip && !same).then_some(&*proto.source));
    number(out, proto.line_defined.into());
    number(out, proto.last_line_defined.into());
    out.extend_from_slice(&[proto.num_params, u8::from(proto.is_vararg), proto.max_stack]);
    number(out, proto.code.len() as u64);
    for instruction in &proto.code {
        out.extend_from_slice(&instruction.raw().to_le_bytes());
    }
    number(out, proto.constants.len() as u64);
    for value in &proto.constants {
        match value {
            Constant::Nil => out.push(constant::NIL),
            Constant::Bool(false) => out.push(constant::FALSE),
            Constant::Bool(true) => out.push(constant::TRUE),
            Constant::Int(value) => {
                out.push(constant::INT);
                out.extend_from_slice(&value.to_le_bytes());
            }
            Constant::Float(value) => {
                out.push(constant::FLOAT);
                out.extend_from_slice(&value.to_le_bytes());
            }
            Constant::Str(value) => {
                out.push(constant::STR);
                text(out, Some(value));
            }
        }
    }
    number(out, proto.upvalues.len() as u64);
    for upvalue in &proto.upvalues {
        let kind = match upvalue.kind {
            VarKind::Regular => 0,
            VarKind::Const => 1,
            VarKind::ToClose => 2,
            VarKind::CompileTime => 3,
        };
        out.extend_from_slice(&[u8::from(upvalue.in_stack), upvalue.index, kind]);
        text(out, upvalue.name.as_deref().filter(|_| !strip));
    }
    number(out, proto.protos.len() as u64);
    for inner in &proto.protos {
        function(out, inner, strip, Some(&proto.source));
    }
    let (lines, variables) = if strip {
        (&[][..], &[][..])
    } else {
        (&proto.lines[..], &proto.loc_vars[..])
    };
    number(out, lines.len() as u64);
    let mut before = i64::from(proto.line_defined);
    for &line in lines {
        let difference = i64::from(line) - before;
        // Small differences of either sign become small numbers.
        number(out, (difference << 1 ^ difference >> 63) as u64);
        before = line.into();
    }
    number(out, variables.len() as u64);
    for variable in variables {
        text(out, Some(&variable.name));
        number(out, variable.start_pc.into());
        number(out, variable.end_pc.into());
    }
}

fn text(out: &mut Vec<u8>, text: Option<&[u8]>) {
    number(out, text.map_or(0, |text| text.len() as u64 + 1));
    out.extend_from_slice(text.unwrap_or_default());
}

/// Seven bits a byte, the lowest first; the high bit says that more follow.
fn number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
