//! Asking for the addresses of a host without holding up the collector: another thread asks.

use std::any::Any;
use std::net::SocketAddr;
use std::thread;
use std::time::Instant;

use super::{address, message};
use crate::runtime::Waiter;
use crate::vm::native::{Call, NativeFn, NativeResult};
use crate::vm::suspend::{Answer, CustomWait, Suspend};

/// What is known, or in words why it is not.
pub(super) type Known<T> = Result<T, String>;

struct Asked<T>(Box<dyn FnOnce() -> Known<T> + Send>);

impl<T: Any + Send> CustomWait for Asked<T> {
    fn run(self: Box<Self>, wait: &mut Waiter<'_, '_>) -> Answer {
        let question = self.0;
        let spawned = thread::Builder::new()
            .name("resolver".to_owned())
            .spawn(question);
        let known: Known<T> = match spawned {
            Ok(asking) => {
                let limit = wait
                    .time_left
                    .and_then(|left| Instant::now().checked_add(left));
                loop {
                    let left = limit.map(|limit| limit.saturating_duration_since(Instant::now()));
                    if wait.sleeper.join(wait.arena, &asking, left) {
                        let panicked = || Err("the resolver has failed".to_owned());
                        break asking.join().unwrap_or_else(|_| panicked());
                    }
                    if left.is_some_and(|left| left.is_zero())
                        || crate::runtime::interrupt_is_pending()
                    {
                        // The program ends, and the resolver with it.
                        break Err(message::TIMEOUT.to_owned());
                    }
                }
            }
            Err(error) => Err(message::of(&error).into_owned()),
        };
        Answer::Custom(Box::new(known))
    }
}

/// Leaves until another thread has answered `question`, which may block; `then` takes the answer with [`answered`].
pub(super) fn ask<'gc, T: Any + Send>(
    call: &mut Call<'gc>,
    question: impl FnOnce() -> Known<T> + Send + 'static,
    then: NativeFn,
) -> NativeResult<'gc> {
    call.suspend(Suspend::Custom(Box::new(Asked(Box::new(question)))), then)
}

/// What was asked for.
pub(super) fn answered<T: Any>(call: &mut Call<'_>) -> Known<T> {
    match call.answer() {
        Answer::Custom(answer) => match answer.downcast::<Known<T>>() {
            Ok(known) => *known,
            Err(_) => Err("the resolver has failed".to_owned()),
        },
        Answer::Failed(error) => Err(message::of(&error).into_owned()),
        _ => Err("the resolver has failed".to_owned()),
    }
}

/// Asks for the addresses of a host; `then` takes them with [`resolved`].
pub(super) fn resolve<'gc>(
    call: &mut Call<'gc>,
    host: String,
    port: u16,
    then: NativeFn,
) -> NativeResult<'gc> {
    ask(call, move || address::resolve(&host, port), then)
}

/// The addresses that were asked for, or why there are none.
pub(super) fn resolved(call: &mut Call<'_>) -> Known<Vec<SocketAddr>> {
    answered(call)
}
