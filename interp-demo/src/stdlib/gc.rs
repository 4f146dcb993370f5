//! `collectgarbage`, and the module `gc` with figures that only this interpreter has.

use std::cell::Cell;

use super::{Functions, register};
use crate::stats::Stats;
use crate::vm::error::Error;
use crate::vm::native::{Call, NativeResult};
use crate::vm::state::Ctx;
use crate::vm::suspend::{Answer, GcRequest, Suspend};
use crate::vm::table::Table;
use crate::vm::value::Value;

const FUNCTIONS: Functions = &[("scavenge", scavenge), ("stats", stats)];

pub(super) fn open(ctx: Ctx<'_>) {
    register(ctx, "gc", FUNCTIONS);
}

/// What programs have asked for. What has an effect here: `pause` and `step_multiplier` go to the collector as soon as a program
/// sets them ([`GcRequest::Pace`]). The others are kept so that programs read back what they set.
struct Settings {
    pause: Parameter,
    step_multiplier: Parameter,
    minor_multiplier: Cell<i64>,
    major_multiplier: Cell<i64>,
    step_size: Cell<i64>,
    is_generational: Cell<bool>,
    is_running: Cell<bool>,
}

/// A percentage as PUC keeps it: in a byte, in steps of 4.
struct Parameter(Cell<u8>);

impl Parameter {
    fn new(percent: u8) -> Self {
        Self(Cell::new(percent / 4))
    }

    fn percent(&self) -> u32 {
        u32::from(self.0.get()) * 4
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "PUC stores the low bits as well"
    )]
    fn replace(&self, percent: i64) -> u32 {
        let old = self.percent();
        self.0.set((percent as i32 / 4) as u8);
        old
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            pause: Parameter::new(200),
            step_multiplier: Parameter::new(100),
            minor_multiplier: Cell::new(20),
            major_multiplier: Cell::new(100),
            step_size: Cell::new(13),
            is_generational: Cell::new(false),
            is_running: Cell::new(true),
        }
    }
}

impl Settings {
    /// What the collector is told.
    fn pace(&self) -> GcRequest {
        GcRequest::Pace {
            pause_percent: self.pause.percent(),
            step_multiplier_percent: self.step_multiplier.percent(),
        }
    }
}

pub(super) fn collectgarbage<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let option = call
        .opt_str(0)?
        .map_or(&b"collect"[..], |text| text.as_bytes());
    let settings = call.ctx.state.host::<Settings>();
    if call.ctx.is_finalizing() {
        // A finalizer is a part of the collector's work, and that is not begun anew inside itself.
        return call.ret1(Value::Nil);
    }
    match option {
        b"collect" => request(call, GcRequest::Full, done),
        // A step of a generational collector is a whole collection.
        b"step" if settings.is_generational.get() => {
            request(call, GcRequest::Full, |call| call.ret1(true))
        }
        b"step" => {
            let kib = usize::try_from(call.opt_int(1, 0)?).unwrap_or(0);
            request(call, GcRequest::Step(kib), |call| match call.answer() {
                Answer::Ready(finished) => call.ret1(finished),
                _ => call.ret1(false),
            })
        }
        b"stop" => {
            settings.is_running.set(false);
            request(call, GcRequest::Stop, done)
        }
        b"restart" => {
            settings.is_running.set(true);
            request(call, GcRequest::Restart, done)
        }
        b"count" => {
            #[expect(
                clippy::cast_precision_loss,
                reason = "the result is a float by definition"
            )]
            let kib = call.ctx.heap_bytes() as f64 / 1024.0;
            call.ret1(kib)
        }
        b"isrunning" => call.ret1(settings.is_running.get()),
        b"setpause" => set_pace(call, &settings, &settings.pause),
        b"setstepmul" => set_pace(call, &settings, &settings.step_multiplier),
        b"incremental" => {
            let (pause, multiplier) = (call.opt_int(1, 0)?, call.opt_int(2, 0)?);
            set_nonzero(call, 3, &settings.step_size)?;
            if pause != 0 {
                settings.pause.replace(pause);
            }
            if multiplier != 0 {
                settings.step_multiplier.replace(multiplier);
            }
            if pause == 0 && multiplier == 0 {
                return change_mode(call, &settings, false);
            }
            request(call, settings.pace(), |call| {
                let settings = call.ctx.state.host::<Settings>();
                change_mode(call, &settings, false)
            })
        }
        b"generational" => {
            set_nonzero(call, 1, &settings.minor_multiplier)?;
            set_nonzero(call, 2, &settings.major_multiplier)?;
            change_mode(call, &settings, true)
        }
        _ => {
            let shown = String::from_utf8_lossy(option);
            Err(call.arg_error(0, format!("invalid option '{shown}'")))
        }
    }
}

fn request<'gc>(
    call: &mut Call<'gc>,
    request: GcRequest,
    then: crate::vm::native::NativeFn,
) -> NativeResult<'gc> {
    call.suspend(Suspend::Collect(request), then)
}

fn done<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    call.ret1(0_i64)
}

/// Sets a parameter, tells the collector, and returns what it was before.
fn set_pace<'gc>(
    call: &mut Call<'gc>,
    settings: &Settings,
    parameter: &Parameter,
) -> NativeResult<'gc> {
    let old = parameter.replace(call.opt_int(1, 0)?);
    call.set(0, Value::Int(i64::from(old)));
    request(call, settings.pace(), |call| {
        let old = call.get(0);
        call.ret1(old)
    })
}

fn set_nonzero<'gc>(
    call: &mut Call<'gc>,
    slot: usize,
    setting: &Cell<i64>,
) -> Result<(), Error<'gc>> {
    let value = call.opt_int(slot, 0)?;
    if value != 0 {
        setting.set(value);
    }
    Ok(())
}

fn change_mode<'gc>(
    call: &mut Call<'gc>,
    settings: &Settings,
    generational: bool,
) -> NativeResult<'gc> {
    settings.is_generational.set(generational);
    request(call, GcRequest::Generational(generational), |call| {
        let name: &[u8] = match call.answer() {
            Answer::Ready(true) => b"generational",
            _ => b"incremental",
        };
        let name = call.ctx.string(name);
        call.ret1(name)
    })
}

fn scavenge<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    request(call, GcRequest::Scavenge, |call| match call.answer() {
        Answer::Number(bytes) => call.ret1(bytes),
        _ => call.ret1(0_i64),
    })
}

fn stats<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    request(call, GcRequest::Stats, |call| {
        let Answer::Custom(answer) = call.answer() else {
            return call.ret1(Value::Nil);
        };
        let Ok(stats) = answer.downcast::<Stats>() else {
            return call.ret1(Value::Nil);
        };
        let value = table_of(call.ctx, &stats.to_value())?;
        call.ret1(value)
    })
}

/// A JSON value as a Lua value.
fn table_of<'gc>(ctx: Ctx<'gc>, value: &serde_json::Value) -> Result<Value<'gc>, Error<'gc>> {
    use serde_json::Value as Json;
    Ok(match value {
        Json::Null => Value::Nil,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => match number.as_i64() {
            Some(int) => Value::Int(int),
            None => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => ctx.string(text.as_bytes()),
        Json::Array(items) => {
            let table = Table::new(ctx);
            for (index, item) in items.iter().enumerate() {
                table.set_int(ctx, index as i64 + 1, table_of(ctx, item)?)?;
            }
            table.into()
        }
        Json::Object(fields) => {
            let table = Table::new(ctx);
            for (name, field) in fields {
                table.set(ctx, ctx.string(name.as_bytes()), table_of(ctx, field)?)?;
            }
            table.into()
        }
    })
}
