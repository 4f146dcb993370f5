//! `tostring`, for all natives that show values.

use crate::text::number;
use crate::vm::error::Error;
use crate::vm::native::Call;
use crate::vm::state::Ctx;
use crate::vm::value::Value;

/// Appends what `tostring` gives, unless the value has a `__tostring` metamethod: that is returned, to be called.
pub(super) fn write_text<'gc>(
    ctx: Ctx<'gc>,
    value: Value<'gc>,
    out: &mut Vec<u8>,
) -> Option<Value<'gc>> {
    match value {
        Value::Str(text) => out.extend_from_slice(text.as_bytes()),
        Value::Int(int) => number::write_int(out, int),
        Value::Float(float) => number::write_float(out, float),
        Value::Nil => out.extend_from_slice(b"nil"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        _ => {
            let metamethod = ctx.metafield(value, "__tostring");
            if !metamethod.is_nil() {
                return Some(metamethod);
            }
            match ctx.metafield(value, "__name") {
                Value::Str(name) => out.extend_from_slice(name.as_bytes()),
                _ => out.extend_from_slice(value.type_name().as_bytes()),
            }
            let address = value.address().map_or(0, <*const ()>::addr);
            out.extend_from_slice(format!(": {address:#x}").as_bytes());
        }
    }
    None
}

/// The text that a `__tostring` metamethod has returned as the first result.
pub(super) fn returned_text<'gc>(call: &mut Call<'gc>) -> Result<Value<'gc>, Error<'gc>> {
    match call.result(0) {
        text @ Value::Str(_) => Ok(text),
        number @ (Value::Int(_) | Value::Float(_)) => {
            let mut text = Vec::new();
            write_text(call.ctx, number, &mut text);
            Ok(call.ctx.string(&text))
        }
        _ => Err(call.error("'__tostring' must return a string")),
    }
}
