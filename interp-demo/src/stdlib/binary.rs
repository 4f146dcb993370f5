//! Compiled chunks as strings: what `string.dump` makes and `load` takes back.
//!
//! The interpreter trusts bytecode: a forged chunk could reach any memory. So a chunk carries a hash under a key that
//! the process draws at its start, and only chunks that this process has made are taken.
//!
//! ```text
//! header │ body: the function, its constants, its functions … │ hash of all before, 8 bytes
//! ```

use std::hash::{BuildHasher as _, RandomState};
use std::rc::Rc;
use std::sync::LazyLock;

use thiserror::Error;

use crate::opcode::Instruction;
use crate::proto::{Constant, LocVar, Proto, UpvalueDesc, VarKind};

/// What a chunk begins with: mark, version of the language, sizes of an instruction, an integer and a float, and one of each
/// to tell the byte order.
const HEADER: &[u8] =
    b"\x1bLua\x54\0\x19\x93\r\n\x1a\n\x04\x08\x08\x78\x56\0\0\0\0\0\0\0\0\0\0\0\x28\x77\x40";

const HASH_BYTES: usize = 8;

/// How deep functions may be nested in a chunk.
const MAX_DEPTH: u32 = 200;

/// The key of the process.
static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// Why a chunk was refused.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub(super) enum BadChunk {
    /// It ends too early.
    #[error("truncated chunk")]
    Truncated,
    /// It is none of ours at all.
    #[error("not a chunk of this interpreter")]
    Header,
    /// It was not made by this process, or was changed.
    #[error("corrupted chunk, or one of another process")]
    Hash,
}

/// The chunk of a function. `strip`: without names and lines.
pub(super) fn dump(proto: &Proto, strip: bool) -> Vec<u8> {
    let mut writer = Writer {
        out: HEADER.to_vec(),
        strip,
    };
    // The size comes first, so that a chunk that was cut is told from one that was changed.
    writer.size(0);
    writer.function(proto);
    let size = writer.out.len() + HASH_BYTES;
    writer.out[HEADER.len()..HEADER.len() + 4].copy_from_slice(&(size as u32).to_le_bytes());
    let hash = KEY.hash_one(writer.out.as_slice());
    writer.out.extend_from_slice(&hash.to_le_bytes());
    writer.out
}

/// The function of a chunk.
pub(super) fn load(chunk: &[u8]) -> Result<Rc<Proto>, BadChunk> {
    let common = chunk.len().min(HEADER.len());
    if chunk[..common] != HEADER[..common] {
        return Err(BadChunk::Header);
    }
    let mut reader = Reader {
        rest: chunk.get(HEADER.len()..).ok_or(BadChunk::Truncated)?,
    };
    let size = reader.size()?;
    if chunk.len() < size {
        return Err(BadChunk::Truncated);
    }
    let (signed, hash) = chunk.split_at(chunk.len() - HASH_BYTES);
    if chunk.len() != size || hash != KEY.hash_one(signed).to_le_bytes() {
        return Err(BadChunk::Hash);
    }
    reader.function(0).map(Rc::new)
}

struct Writer {
    out: Vec<u8>,
    strip: bool,
}

impl Writer {
    fn size(&mut self, size: usize) {
        self.out.extend_from_slice(&(size as u32).to_le_bytes());
    }

    fn byte(&mut self, byte: u8) {
        self.out.push(byte);
    }

    fn text(&mut self, text: &[u8]) {
        self.size(text.len());
        self.out.extend_from_slice(text);
    }

    fn function(&mut self, proto: &Proto) {
        self.text(if self.strip { b"=?" } else { &proto.source });
        self.size(proto.line_defined as usize);
        self.size(proto.last_line_defined as usize);
        for byte in [proto.num_params, u8::from(proto.is_vararg), proto.max_stack] {
            self.byte(byte);
        }
        self.size(proto.code.len());
        for instruction in &proto.code {
            self.size(instruction.raw() as usize);
        }
        self.size(proto.constants.len());
        for constant in &proto.constants {
            self.constant(constant);
        }
        self.size(proto.upvalues.len());
        for upvalue in &proto.upvalues {
            let kind = match upvalue.kind {
                VarKind::Regular => 0,
                VarKind::Const => 1,
                VarKind::ToClose => 2,
                VarKind::CompileTime => 3,
            };
            for byte in [u8::from(upvalue.in_stack), upvalue.index, kind] {
                self.byte(byte);
            }
            match &upvalue.name {
                Some(name) if !self.strip => {
                    self.byte(1);
                    self.text(name);
                }
                _ => self.byte(0),
            }
        }
        self.size(proto.protos.len());
        for inner in &proto.protos {
            self.function(inner);
        }
        let (lines, variables): (&[u32], &[LocVar]) = if self.strip {
            (&[], &[])
        } else {
            (&proto.lines, &proto.loc_vars)
        };
        self.size(lines.len());
        for &line in lines {
            self.size(line as usize);
        }
        self.size(variables.len());
        for variable in variables {
            self.text(&variable.name);
            self.size(variable.start_pc as usize);
            self.size(variable.end_pc as usize);
        }
    }

    fn constant(&mut self, constant: &Constant) {
        match constant {
            Constant::Nil => self.byte(0),
            Constant::Bool(value) => {
                self.byte(1);
                self.byte(u8::from(*value));
            }
            Constant::Int(value) => {
                self.byte(2);
                self.out.extend_from_slice(&value.to_le_bytes());
            }
            Constant::Float(value) => {
                self.byte(3);
                self.out.extend_from_slice(&value.to_le_bytes());
            }
            Constant::Str(value) => {
                self.byte(4);
                self.text(value);
            }
        }
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, size: usize) -> Result<&'a [u8], BadChunk> {
        let (taken, rest) = self
            .rest
            .split_at_checked(size)
            .ok_or(BadChunk::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], BadChunk> {
        self.take(N)?.try_into().map_err(|_| BadChunk::Truncated)
    }

    fn number(&mut self) -> Result<u32, BadChunk> {
        self.array().map(u32::from_le_bytes)
    }

    fn size(&mut self) -> Result<usize, BadChunk> {
        self.number().map(|size| size as usize)
    }

    fn byte(&mut self) -> Result<u8, BadChunk> {
        self.array().map(|[byte]| byte)
    }

    fn text(&mut self) -> Result<Rc<[u8]>, BadChunk> {
        let size = self.size()?;
        self.take(size).map(Rc::from)
    }

    /// A list, of which each item takes at least one byte.
    fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, BadChunk>,
    ) -> Result<Vec<T>, BadChunk> {
        let count = self.size()?;
        let mut items = Vec::with_capacity(count.min(self.rest.len()));
        for _ in 0..count {
            items.push(item(self)?);
        }
        Ok(items)
    }

    fn function(&mut self, depth: u32) -> Result<Proto, BadChunk> {
        if depth > MAX_DEPTH {
            return Err(BadChunk::Hash);
        }
        let source = self.text()?;
        let (line_defined, last_line_defined) = (self.number()?, self.number()?);
        let [num_params, is_vararg, max_stack] = self.array()?;
        let code =
            self.list(|reader| Instruction::from_raw(reader.number()?).ok_or(BadChunk::Hash))?;
        let constants = self.list(Self::constant)?;
        let upvalues = self.list(Self::upvalue)?;
        let protos = self.list(|reader| reader.function(depth + 1).map(Rc::new))?;
        let lines = self.list(Self::number)?;
        let loc_vars = self.list(|reader| {
            Ok(LocVar {
                name: reader.text()?,
                start_pc: reader.number()?,
                end_pc: reader.number()?,
            })
        })?;
        Ok(Proto {
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
            is_vararg: is_vararg != 0,
            max_stack,
        })
    }

    fn constant(&mut self) -> Result<Constant, BadChunk> {
        Ok(match self.byte()? {
            0 => Constant::Nil,
            1 => Constant::Bool(self.byte()? != 0),
            2 => Constant::Int(i64::from_le_bytes(self.array()?)),
            3 => Constant::Float(f64::from_le_bytes(self.array()?)),
            _ => Constant::Str(self.text()?),
        })
    }

    fn upvalue(&mut self) -> Result<UpvalueDesc, BadChunk> {
        let [in_stack, index, kind] = self.array()?;
        let kind = match kind {
            0 => VarKind::Regular,
            1 => VarKind::Const,
            2 => VarKind::ToClose,
            _ => VarKind::CompileTime,
        };
        let name = if self.byte()? == 1 {
            Some(self.text()?)
        } else {
            None
        };
        Ok(UpvalueDesc {
            name,
            in_stack: in_stack != 0,
            index,
            kind,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dump::listing;

    const SOURCE: &[u8] = b"local a <const>, b = 1.5, 'x'
        local function f(...) local c = b; return function() return c + a, 7 end end
        return f(nil, true)";

    fn compiled() -> Rc<Proto> {
        crate::compiler::compile(SOURCE, b"@chunk.lua").unwrap()
    }

    #[test]
    fn comes_back_as_it_was() {
        let proto = compiled();
        let back = load(&dump(&proto, false)).unwrap();
        assert_eq!(listing(&back), listing(&proto));
        assert_eq!(format!("{back:?}"), format!("{proto:?}"));
    }

    #[test]
    fn stripped_of_names() {
        let stripped = load(&dump(&compiled(), true)).unwrap();
        assert!(stripped.lines.is_empty() && stripped.loc_vars.is_empty());
        assert!(
            stripped
                .upvalues
                .iter()
                .all(|upvalue| upvalue.name.is_none())
        );
        assert_eq!(&*stripped.source, b"=?");
    }

    #[test]
    fn what_was_cut_or_changed_is_refused() {
        let chunk = dump(&compiled(), false);
        for size in 0..chunk.len() {
            assert_eq!(
                load(&chunk[..size]).unwrap_err(),
                BadChunk::Truncated,
                "{size}"
            );
        }
        for at in 0..chunk.len() {
            let mut changed = chunk.clone();
            changed[at] = changed[at].wrapping_add(1);
            assert!(load(&changed).is_err(), "{at}");
        }
    }
}
