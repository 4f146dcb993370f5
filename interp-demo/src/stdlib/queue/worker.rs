//! Threads that handle what is pushed into a queue.

use super::{State, park, this, was_rung};
use crate::stdlib::thread;
use crate::vm::native::{Call, Native, NativeResult};
use crate::vm::table::Table;
use crate::vm::value::Value;

/// `add_worker(f)`: a thread that calls `f` with each item that it pops, until the queue is destroyed.
pub(super) fn add<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    this(call)?;
    let function = call.check_function(1)?;
    call.truncate(1);
    let queue = call.get(0);
    let body = Native::new(call.ctx, "worker", work);
    thread::start(call, &[body.into(), queue, function], |call| {
        let ctx = call.ctx;
        let handle = call.get(0);
        if handle.is_nil() {
            return call.ret_top(3);
        }
        let queue = call.get(1);
        call.truncate(0);
        call.push(queue);
        let items = this(call)?.1;
        let workers = match items.get_name(ctx, "workers") {
            Value::Table(workers) => workers,
            _ => {
                let workers = Table::new(ctx);
                items.set_name(ctx, "workers", workers);
                workers
            }
        };
        workers.set_int(ctx, workers.len(ctx) + 1, handle)?;
        call.ret1(handle)
    })
}

/// `get_workers()`
pub(super) fn list<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    let ctx = call.ctx;
    let items = this(call)?.1;
    let alive = Table::new(ctx);
    if let Value::Table(workers) = items.get_name(ctx, "workers") {
        for i in 1..=workers.len(ctx) {
            let worker = workers.get_int(ctx, i);
            if thread::is_alive(worker) {
                alive.set_int(ctx, alive.len(ctx) + 1, worker)?;
            }
        }
        // Those that have ended are forgotten.
        items.set_name(ctx, "workers", alive);
    }
    let copy = Table::new(ctx);
    for i in 1..=alive.len(ctx) {
        copy.set_int(ctx, i, alive.get_int(ctx, i))?;
    }
    call.ret1(copy)
}

/// `queue, f`
fn work<'gc>(call: &mut Call<'gc>) -> NativeResult<'gc> {
    work_more(call, false)
}

fn work_more<'gc>(call: &mut Call<'gc>, again: bool) -> NativeResult<'gc> {
    call.truncate(2);
    let ctx = call.ctx;
    let (mut queue, items) = this(call)?;
    if let Some(item) = queue.take(ctx, items)? {
        drop(queue);
        let function = call.get(1);
        return call.call(function, &[item], work);
    }
    if queue.state == State::Destroyed {
        return call.ret0();
    }
    let ticket = queue.poppers.join(ctx, again);
    drop(queue);
    park(call, ticket, super::waiting::NEVER_NS, |call| {
        let again = was_rung(call);
        work_more(call, again)
    })
}
