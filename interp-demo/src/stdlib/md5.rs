//! MD5, with the names of the `md5` module that Lua programs know: `md5.sum(s)` gives the 16 bytes of
//! the digest, `md5.sumhexa(s)` its 32 digits. `require` finds the module; it makes no global.

use ::md5::{Digest, Md5};

use super::{Functions, fill};
use crate::vm::error::Error;
use crate::vm::native::{Call, NativeResult};
use crate::vm::patience::PIECE_BYTES;
use crate::vm::state::Ctx;
use crate::vm::table::Table;

const FUNCTIONS: Functions = &[("sum", sum), ("sumhexa", sumhexa)];

pub(super) fn open(ctx: Ctx<'_>) {
    let library = Table::new(ctx);
    fill(ctx, library, FUNCTIONS);
    ctx.state.loaded().set_name(ctx, "md5", library);
}

fn digest<'gc>(call: &mut Call<'gc>) -> Result<[u8; 16], Error<'gc>> {
    let mut md5 = Md5::new();
    for piece in call.check_str(0)?.as_bytes().chunks(PIECE_BYTES) {
        call.ctx.look()?;
        md5.update(piece);
    }
    Ok(md5.finalize().into())
}

fn sum<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let digest = call.ctx.string(&digest(call)?);
    call.ret1(digest)
}

fn sumhexa<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let mut digits = String::new();
    for byte in digest(call)? {
        digits.push_str(&format!("{byte:02x}"));
    }
    let digits = call.ctx.string(digits.as_bytes());
    call.ret1(digits)
}
