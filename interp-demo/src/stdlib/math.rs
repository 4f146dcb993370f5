//! Mathematics.

use std::cell::RefMut;

use super::random::{Random, float_of};
use super::{Functions, register};
use crate::text::number::{Number, float_to_int};
use crate::vm::access::Compare;
use crate::vm::error::Error;
use crate::vm::native::{Call, Native, NativeFn, NativeResult};
use crate::vm::state::Ctx;
use crate::vm::userdata::UserData;
use crate::vm::value::Value;

const FUNCTIONS: Functions = &[
    ("abs", abs),
    ("acos", |call| unary(call, f64::acos)),
    ("asin", |call| unary(call, f64::asin)),
    ("atan", atan),
    ("ceil", |call| round(call, f64::ceil)),
    ("cos", |call| unary(call, f64::cos)),
    ("deg", |call| {
        unary(call, |x| x * (180.0 / std::f64::consts::PI))
    }),
    ("exp", |call| unary(call, f64::exp)),
    ("floor", |call| round(call, f64::floor)),
    ("fmod", fmod),
    ("log", log),
    ("max", max),
    ("min", min),
    ("modf", modf),
    ("rad", |call| {
        unary(call, |x| x * (std::f64::consts::PI / 180.0))
    }),
    ("sin", |call| unary(call, f64::sin)),
    ("sqrt", |call| unary(call, f64::sqrt)),
    ("tan", |call| unary(call, f64::tan)),
    ("tointeger", tointeger),
    ("type", type_of),
    ("ult", ult),
];

pub(super) fn open(ctx: Ctx<'_>) {
    let math = register(ctx, "math", FUNCTIONS);
    // Both functions hold the state's generator, which is quicker to reach than by its type.
    let (first, second) = fresh_seed();
    let generator = UserData::new(ctx, Random::new(first, second));
    for (name, function) in [("random", random as NativeFn), ("randomseed", randomseed)] {
        let function = Native::with_upvalues(ctx, name, function, &[generator.into()]);
        math.set_name(ctx, name, function);
    }
    math.set_name(ctx, "pi", std::f64::consts::PI);
    math.set_name(ctx, "huge", f64::INFINITY);
    math.set_name(ctx, "maxinteger", i64::MAX);
    math.set_name(ctx, "mininteger", i64::MIN);
}

/// The generator of the state.
fn generator<'gc>(call: &Call<'gc>) -> Result<RefMut<'gc, Random>, Error<'gc>> {
    let generator = match call.upvalue(0) {
        Value::UserData(data) => data.borrow::<Random>(),
        _ => None,
    };
    generator.ok_or_else(|| call.error("the random generator is lost"))
}

/// Two words that differ from run to run.
fn fresh_seed() -> (u64, u64) {
    use std::hash::{BuildHasher as _, RandomState};
    (
        RandomState::new().hash_one(0),
        RandomState::new().hash_one(1),
    )
}

fn unary<'gc>(call: &mut Call<'gc>, function: fn(f64) -> f64) -> NativeResult<'gc> {
    let x = call.check_float(0)?;
    call.ret1(function(x))
}

fn check_either<'gc>(call: &mut Call<'gc>, index: usize) -> Result<Number, Error<'gc>> {
    match call.get(index) {
        Value::Int(int) => Ok(Number::Int(int)),
        _ => call.check_float(index).map(Number::Float),
    }
}

fn abs<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    match check_either(call, 0)? {
        Number::Int(int) => call.ret1(int.wrapping_abs()),
        Number::Float(float) => call.ret1(float.abs()),
    }
}

/// `floor` and `ceil`: an integer if the result fits into one.
fn round<'gc>(call: &mut Call<'gc>, function: fn(f64) -> f64) -> NativeResult<'gc> {
    match check_either(call, 0)? {
        Number::Int(int) => call.ret1(int),
        Number::Float(float) => {
            let rounded = function(float);
            match float_to_int(rounded) {
                Some(int) => call.ret1(int),
                None => call.ret1(rounded),
            }
        }
    }
}

fn atan<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let y = call.check_float(0)?;
    let x = if call.is_none_or_nil(1) {
        1.0
    } else {
        call.check_float(1)?
    };
    call.ret1(y.atan2(x))
}

fn fmod<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    if let (Value::Int(a), Value::Int(b)) = (call.get(0), call.get(1)) {
        if b == 0 {
            return Err(call.arg_error(1, "zero"));
        }
        return call.ret1(a.wrapping_rem(b));
    }
    // Where both are wrong PUC Lua complains of the second.
    let b = call.check_float(1)?;
    let a = call.check_float(0)?;
    call.ret1(a % b)
}

fn modf<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    if let int @ Value::Int(_) = call.get(0) {
        return call.ret(&[int, Value::Float(0.0)]);
    }
    let x = call.check_float(0)?;
    let whole = x.trunc();
    let fraction = if x.is_infinite() { 0.0 } else { x - whole };
    let shown = float_to_int(whole).map_or(Value::Float(whole), Value::Int);
    call.ret(&[shown, Value::Float(fraction)])
}

fn log<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let x = call.check_float(0)?;
    if call.is_none_or_nil(1) {
        return call.ret1(x.ln());
    }
    let base = call.check_float(1)?;
    #[expect(
        clippy::float_cmp,
        reason = "exactly these bases have functions of their own"
    )]
    let result = if base == 2.0 {
        x.log2()
    } else if base == 10.0 {
        x.log10()
    } else {
        x.ln() / base.ln()
    };
    call.ret1(result)
}

fn max<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    extreme(call, |best, x| (best, x), max_answered)
}

fn min<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    extreme(call, |best, x| (x, best), min_answered)
}

fn max_answered<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    extreme_answered(call, max)
}

fn min_answered<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    extreme_answered(call, min)
}

/// Goes through the arguments; the best one up to argument `state` is kept in slot 0. `order` tells which of two is to be
/// the lesser one for the second to be better.
fn extreme<'gc>(
    call: &mut Call<'gc>,
    order: fn(Value<'gc>, Value<'gc>) -> (Value<'gc>, Value<'gc>),
    answered: NativeFn,
) -> NativeResult<'gc> {
    let mut best = call.check_any(0)?;
    for index in (call.state as usize + 1)..call.len() {
        let x = call.get(index);
        let (a, b) = order(best, x);
        match call.ctx.less_than(a, b)? {
            Compare::Done(true) => best = x,
            Compare::Done(false) => {}
            Compare::Call(function) => {
                call.set(0, best);
                call.state = index as i64;
                return call.call(function, &[a, b], answered);
            }
        }
    }
    call.ret1(best)
}

fn extreme_answered<'gc>(call: &mut Call<'gc>, go_on: NativeFn) -> NativeResult<'gc> {
    let is_better = call.result(0).is_truthy();
    let args = call.results();
    call.truncate(args);
    if is_better {
        let best = call.get(call.state as usize);
        call.set(0, best);
    }
    go_on(call)
}

fn tointeger<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let int = match call.check_any(0)? {
        Value::Int(int) => Some(int),
        Value::Float(float) => float_to_int(float),
        Value::Str(text) => match crate::text::number::parse(text.as_bytes()) {
            Some(Number::Int(int)) => Some(int),
            Some(Number::Float(float)) => float_to_int(float),
            None => None,
        },
        _ => None,
    };
    call.ret1(int)
}

fn type_of<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let name: &[u8] = match call.check_any(0)? {
        Value::Int(_) => b"integer",
        Value::Float(_) => b"float",
        _ => return call.ret1(Value::Nil),
    };
    let name = call.ctx.string(name);
    call.ret1(name)
}

fn ult<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let (a, b) = (call.check_int(0)?, call.check_int(1)?);
    call.ret1(a.cast_unsigned() < b.cast_unsigned())
}

fn random<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let bits = generator(call)?.next_bits();
    let (low, up) = match call.len() {
        0 => return call.ret1(float_of(bits)),
        1 => match call.check_int(0)? {
            0 => return call.ret1(bits.cast_signed()),
            up => (1, up),
        },
        2 => (call.check_int(0)?, call.check_int(1)?),
        _ => return Err(call.error("wrong number of arguments")),
    };
    if low > up {
        return Err(call.arg_error(0, "interval is empty"));
    }
    let distance = up.wrapping_sub(low).cast_unsigned();
    let offset = generator(call)?.project(bits, distance);
    call.ret1(low.wrapping_add(offset.cast_signed()))
}

fn randomseed<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let (first, second) = if call.is_empty() {
        let (first, second) = fresh_seed();
        (first.cast_signed(), second.cast_signed())
    } else {
        let first = match check_either(call, 0)? {
            Number::Int(int) => int,
            Number::Float(float) => float_to_int(float).unwrap_or(float.to_bits().cast_signed()),
        };
        (first, call.opt_int(1, 0)?)
    };
    *generator(call)? = Random::new(first.cast_unsigned(), second.cast_unsigned());
    call.ret(&[Value::Int(first), Value::Int(second)])
}
