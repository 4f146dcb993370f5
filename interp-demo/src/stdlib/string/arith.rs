//! Arithmetic on strings that are numerals: metamethods of the string type.

use crate::opcode::Event;
use crate::stdlib::Functions;
use crate::text::number::{self, Number};
use crate::vm::native::{Call, NativeResult};
use crate::vm::value::Value;

pub(super) const METHODS: Functions = &[
    ("__add", |call| arith(call, Event::Add)),
    ("__div", |call| arith(call, Event::Div)),
    ("__idiv", |call| arith(call, Event::IDiv)),
    ("__mod", |call| arith(call, Event::Mod)),
    ("__mul", |call| arith(call, Event::Mul)),
    ("__pow", |call| arith(call, Event::Pow)),
    ("__sub", |call| arith(call, Event::Sub)),
    ("__unm", |call| arith(call, Event::Unm)),
];

fn arith<'gc>(call: &mut Call<'gc>, event: Event) -> NativeResult<'gc> {
    let (a, b) = (call.get(0), call.get(1));
    if let (Some(x), Some(y)) = (to_number(a), to_number(b))
        && let Some(result) = call.ctx.arith(event, x, y)?
    {
        return call.ret1(result);
    }
    // The second operand may be an object that knows what to do.
    let metamethod = match b {
        Value::Str(_) => Value::Nil,
        _ => call.ctx.metamethod(b, event),
    };
    if metamethod.is_nil() {
        let name = event.name().trim_start_matches('_');
        let (a, b) = (a.type_name(), b.type_name());
        return Err(call.error(format!("attempt to {name} a '{a}' with a '{b}'")));
    }
    call.truncate(0);
    for value in [metamethod, a, b] {
        call.push(value);
    }
    call.tail_call_top(2)
}

fn to_number(value: Value<'_>) -> Option<Value<'_>> {
    match value {
        Value::Int(_) | Value::Float(_) => Some(value),
        Value::Str(text) => number::parse(text.as_bytes()).map(|number| match number {
            Number::Int(int) => Value::Int(int),
            Number::Float(float) => Value::Float(float),
        }),
        _ => None,
    }
}
