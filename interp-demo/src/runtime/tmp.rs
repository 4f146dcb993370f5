//! Stand-in for the libraries.
use crate::vm::*;

fn print<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let mut out = Vec::new();
    for i in 0..call.len() {
        if i > 0 {
            out.push(b'\t');
        }
        match (call.get(i), call.ctx.number_or_string(call.get(i))) {
            (_, Some(s)) => out.extend_from_slice(s.as_bytes()),
            (Value::Bool(b), _) => out.extend_from_slice(b.to_string().as_bytes()),
            (v, _) => {
                out.extend_from_slice(v.type_name().as_bytes());
                if let Some(a) = v.address() {
                    out.extend_from_slice(format!(": {a:p}").as_bytes());
                }
            }
        }
    }
    out.push(b'\n');
    use std::io::Write;
    std::io::stdout().write_all(&out).ok();
    call.ret0()
}
fn pcall<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    call.check_any(0)?;
    call.pcall_top(call.len() - 1, |call| {
        let ok = call.outcome() == Outcome::Done;
        let n = call.result_count();
        call.insert(call.results(), Value::Bool(ok));
        call.ret_top(n + 1)
    })
}
fn error<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let v = call.get(0);
    let level = call.opt_int(1, 1)?;
    if let Value::Str(s) = v
        && level > 0
    {
        let mut text = call.position(level as usize);
        text.extend_from_slice(s.as_bytes());
        return Err(Error::new(call.ctx.string(&text)));
    }
    Err(Error::new(v))
}
fn setmetatable<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let t = call.check_table(0)?;
    let mt = call.get(1).as_table();
    call.ctx.set_metatable(t.into(), mt)?;
    call.ret1(t)
}
fn getmetatable<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let v = call.ctx.metatable(call.get(0));
    call.ret1(Value::from(v))
}
fn next<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let t = call.check_table(0)?;
    match t.next(call.ctx, call.get(1))? {
        Some((k, v)) => call.ret(&[k, v]),
        None => call.ret1(Value::Nil),
    }
}
fn pairs<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let t = call.check_any(0)?;
    let n = Native::new(call.ctx, "next", next);
    call.ret(&[n.into(), t, Value::Nil])
}
fn inext<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let t = call.check_table(0)?;
    let i = call.check_int(1)? + 1;
    match t.get_int(call.ctx, i) {
        Value::Nil => call.ret1(Value::Nil),
        v => call.ret(&[Value::Int(i), v]),
    }
}
fn ipairs<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let t = call.check_any(0)?;
    let n = Native::new(call.ctx, "ipairs_iter", inext);
    call.ret(&[n.into(), t, Value::Int(0)])
}
fn type_<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let t = call.check_any(0)?.type_name();
    let t = call.ctx.string(t.as_bytes());
    call.ret1(t)
}
fn tostring<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let v = call.get(0);
    if let Some(s) = call.ctx.number_or_string(v) {
        return call.ret1(s);
    }
    let m = call.ctx.metafield(v, "__tostring");
    if !m.is_nil() {
        call.truncate(0);
        call.push(m);
        call.push(v);
        return call.tail_call_top(1);
    }
    let s = call.ctx.string(format!("{}", v.type_name()).as_bytes());
    call.ret1(s)
}
fn select<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    if let Value::Str(_) = call.get(0) {
        let n = call.len() as i64 - 1;
        return call.ret1(n);
    }
    let n = call.check_int(0)? as usize;
    call.ret_top(call.len().saturating_sub(n))
}
fn clock<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let t = std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .unwrap_or_default();
    call.ret1(t.as_secs_f64())
}
fn collect<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    if let Value::Str(s) = call.get(0)
        && s.as_bytes() == b"count"
    {
        let n = call.ctx.heap_bytes() as f64 / 1024.0;
        return call.ret1(n);
    }
    call.suspend(Suspend::Collect(GcRequest::Full), |call| {
        call.ret1(Value::Int(0))
    })
}
fn create<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let f = call.check_function(0)?;
    let t = Thread::new(call.ctx, f)?;
    call.ret1(t)
}
fn resume<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let t = call.check_thread(0)?;
    call.resume_top(t, call.len() - 1, |call| {
        let ok = call.outcome() == Outcome::Done;
        let n = call.result_count();
        call.insert(call.results(), Value::Bool(ok));
        call.ret_top(n + 1)
    })
}
fn yield_<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    call.yield_top(call.len(), |call| call.ret_top(call.result_count()))
}
fn sqrt<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let f = call.check_float(0)?;
    call.ret1(f.sqrt())
}
fn concat<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let t = call.check_table(0)?;
    let mut out = Vec::new();
    for i in 1..=t.len(call.ctx) {
        if let Some(s) = call.ctx.number_or_string(t.get_int(call.ctx, i)) {
            out.extend_from_slice(s.as_bytes());
        }
    }
    let s = call.ctx.string(&out);
    call.ret1(s)
}

pub fn open_all(ctx: Ctx<'_>) {
    let g = ctx.state.globals();
    let fs: &[(&'static str, NativeFn)] = &[
        ("print", print),
        ("pcall", pcall),
        ("error", error),
        ("setmetatable", setmetatable),
        ("getmetatable", getmetatable),
        ("next", next),
        ("pairs", pairs),
        ("ipairs", ipairs),
        ("type", type_),
        ("tostring", tostring),
        ("select", select),
        ("clock", clock),
        ("collectgarbage", collect),
        ("resume", resume),
        ("create", create),
        ("yield", yield_),
        ("sqrt", sqrt),
        ("concat", concat),
    ];
    for &(name, f) in fs {
        g.set_name(ctx, name, Native::new(ctx, name, f));
    }
    g.set_name(ctx, "_G", g);
    ctx.state.loaded().set_name(ctx, "_G", g);
}
