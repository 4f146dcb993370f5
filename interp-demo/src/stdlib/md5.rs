//! MD5, with the names of the `md5` module that Lua programs know: `md5.sum(s)` gives the 16 bytes of
//! the digest, `md5.sumhexa(s)` its 32 digits. `require` finds the module; it makes no global.

use ::md5::{Digest, Md5};

use super::{Functions, fill};
use crate::vm::native::{Call, NativeResult};
use crate::vm::state::Ctx;
use crate::vm::table::Table;

const FUNCTIONS: Functions = &[("sum", sum), ("sumhexa", sumhexa)];

pub(super) fn open(ctx: Ctx<'_>) {
    let library = Table::new(ctx);
    fill(ctx, library, FUNCTIONS);
    ctx.state.loaded().set_name(ctx, "md5", library);
}

fn sum<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let digest = Md5::digest(call.check_str(0)?.as_bytes());
    let digest = call.ctx.string(&digest);
    call.ret1(digest)
}

fn sumhexa<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let digest = Md5::digest(call.check_str(0)?.as_bytes());
    let digits = call.ctx.string(format!("{digest:x}").as_bytes());
    call.ret1(digits)
}
