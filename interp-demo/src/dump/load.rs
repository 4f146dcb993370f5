//! Reading a dumped function back.
//!
//! The bytes may come from anywhere: whatever they are, the result is either an error or a function that the virtual
//! machine can run as safely as a compiled one ([`verify`](super::verify)).

use std::sync::Arc;

use super::format::{BODY, CHECK_FLOAT, CHECK_INT, HEADER, SIGNATURE, constant};
use super::verify::verify;
use crate::compiler::SyntaxError;
use crate::opcode::Instruction;
use crate::proto::{Constant, LocVar, Proto, UpvalueDesc, VarKind};

/// How deeply functions may be nested.
const MAX_DEPTH: u32 = 200;

/// Whether the bytes are a dumped function rather than a source text.
#[must_use]
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes.first() == SIGNATURE.first()
}

/// The function that was dumped.
///
/// # Errors
/// When the bytes are no dump of this version, or not all of one.
pub fn load(bytes: &[u8], chunk_name: &[u8]) -> Result<Arc<Proto>, SyntaxError> {
    let mut reader = Reader { rest: bytes };
    reader.whole().map(Arc::new).map_err(|why| {
        let name = match chunk_name {
            [b'@' | b'=', name @ ..] => name,
            [b'\x1b', ..] => b"binary string",
            name => name,
        };
        let message = [name, b": bad binary format (", why.as_bytes(), b")"].concat();
        SyntaxError {
            message,
            incomplete: false,
        }
    })
}

type Read<T> = Result<T, &'static str>;

const TRUNCATED: &str = "truncated chunk";
const CORRUPTED: &str = "corrupted chunk";

struct Reader<'b> {
    rest: &'b [u8],
}

impl<'b> Reader<'b> {
    fn whole(&mut self) -> Read<Proto> {
        self.literal(SIGNATURE, "not a binary chunk")?;
        self.literal(&HEADER[..1], "version mismatch")?;
        self.literal(&HEADER[1..2], "format mismatch")?;
        self.literal(&HEADER[2..8], CORRUPTED)?;
        self.literal(&HEADER[8..], "size mismatch")?;
        self.literal(&CHECK_INT.to_le_bytes(), "integer format mismatch")?;
        self.literal(&CHECK_FLOAT.to_le_bytes(), "float format mismatch")?;
        self.literal(BODY, "not made by this interpreter")?;
        let proto = self.function(None, 0)?;
        if self.rest.is_empty() {
            Ok(proto)
        } else {
            Err(CORRUPTED)
        }
    }

    fn bytes(&mut self, count: usize) -> Read<&'b [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(count).ok_or(TRUNCATED)?;
        self.rest = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Read<[u8; N]> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or(TRUNCATED)?;
        self.rest = rest;
        Ok(*bytes)
    }

    fn literal(&mut self, expected: &[u8], otherwise: &'static str) -> Read<()> {
        let got = &self.rest[..expected.len().min(self.rest.len())];
        if !expected.starts_with(got) {
            return Err(otherwise);
        }
        self.bytes(expected.len()).map(drop)
    }

    fn byte(&mut self) -> Read<u8> {
        self.array().map(|[byte]| byte)
    }

    fn flag(&mut self) -> Read<bool> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(CORRUPTED),
        }
    }

    fn number(&mut self) -> Read<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return Err(CORRUPTED);
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(CORRUPTED)
    }

    fn small(&mut self) -> Read<u32> {
        u32::try_from(self.number()?).map_err(|_| CORRUPTED)
    }

    fn text(&mut self) -> Read<Option<Arc<[u8]>>> {
        let Some(length) = self.number()?.checked_sub(1) else {
            return Ok(None);
        };
        let length = usize::try_from(length).map_err(|_| CORRUPTED)?;
        Ok(Some(self.bytes(length)?.into()))
    }

    /// A counted list. The count is believed only as far as there are bytes for the items.
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        let count = self.number()?;
        let mut items = Vec::with_capacity((count as usize).min(self.rest.len()));
        for _ in 0..count {
            items.push(item(self)?);
        }
        items.shrink_to_fit();
        Ok(items)
    }

    fn function(&mut self, outer: Option<&Arc<[u8]>>, depth: u32) -> Read<Proto> {
        if depth > MAX_DEPTH {
            return Err(CORRUPTED);
        }
        let source = self
            .text()?
            .or_else(|| outer.cloned())
            .unwrap_or_else(|| b"=?".as_slice().into());
        let line_defined = self.small()?;
        let last_line_defined = self.small()?;
        let num_params = self.byte()?;
        let is_vararg = self.flag()?;
        let max_stack = self.byte()?;
        let code = self.list(|reader| {
            Instruction::from_raw(u32::from_le_bytes(reader.array()?)).ok_or(CORRUPTED)
        })?;
        let constants = self.list(Self::constant)?;
        let upvalues = self.list(Self::upvalue)?;
        let protos = self.list(|reader| reader.function(Some(&source), depth + 1).map(Arc::new))?;
        let mut before = i64::from(line_defined);
        let lines = self.list(|reader| {
            let coded = reader.number()?;
            let difference = (coded >> 1) as i64 ^ -((coded & 1) as i64);
            before = before.checked_add(difference).ok_or(CORRUPTED)?;
            u32::try_from(before).map_err(|_| CORRUPTED)
        })?;
        let loc_vars = self.list(|reader| {
            let name = reader.text()?.ok_or(CORRUPTED)?;
            Ok(LocVar {
                name,
                start_pc: reader.small()?,
                end_pc: reader.small()?,
            })
        })?;
        let proto = Proto {
            code,
            constants,
            protos,
            upvalues,
            lines,
            loc_vars,
            source,
            line_defined,
            last_line_defined,
            num_params,
            is_vararg,
            max_stack,
        };
        if verify(&proto) {
            Ok(proto)
        } else {
            Err(CORRUPTED)
        }
    }

    fn constant(&mut self) -> Read<Constant> {
        Ok(match self.byte()? {
            constant::NIL => Constant::Nil,
            constant::FALSE => Constant::Bool(false),
            constant::TRUE => Constant::Bool(true),
            constant::INT => Constant::Int(i64::from_le_bytes(self.array()?)),
            constant::FLOAT => Constant::Float(f64::from_le_bytes(self.array()?)),
            constant::STR => Constant::Str(self.text()?.ok_or(CORRUPTED)?),
            _ => return Err(CORRUPTED),
        })
    }

    fn upvalue(&mut self) -> Read<UpvalueDesc> {
        let in_stack = self.flag()?;
        let index = self.byte()?;
        let kind = match self.byte()? {
            0 => VarKind::Regular,
            1 => VarKind::Const,
            2 => VarKind::ToClose,
            3 => VarKind::CompileTime,
            _ => return Err(CORRUPTED),
        };
        Ok(UpvalueDesc {
            name: self.text()?,
            in_stack,
            index,
            kind,
        })
    }
}
