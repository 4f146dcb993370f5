//! Asking for the addresses of a host without holding up the collector: another thread asks.

use std::net::SocketAddr;
use std::thread;
use std::time::Instant;

use super::{address, message};
use crate::runtime::Waiter;
use crate::vm::native::{Call, NativeFn, NativeResult};
use crate::vm::suspend::{Answer, CustomWait, Suspend};

type Addresses = Result<Vec<SocketAddr>, String>;

struct Resolve {
    host: String,
    port: u16,
}

impl CustomWait for Resolve {
    fn run(self: Box<Self>, wait: &mut Waiter<'_, '_>) -> Answer {
        let Self { host, port } = *self;
        let spawned = thread::Builder::new()
            .name("resolver".to_owned())
            .spawn(move || address::resolve(&host, port));
        let addresses: Addresses = match spawned {
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
        Answer::Custom(Box::new(addresses))
    }
}

/// Leaves until the host's addresses are known; `then` takes them with [`resolved`].
pub(super) fn resolve<'gc>(
    call: &mut Call<'gc>,
    host: String,
    port: u16,
    then: NativeFn,
) -> NativeResult<'gc> {
    call.suspend(Suspend::Custom(Box::new(Resolve { host, port })), then)
}

/// The addresses that were asked for, or why there are none.
pub(super) fn resolved(call: &mut Call<'_>) -> Addresses {
    match call.answer() {
        Answer::Custom(answer) => match answer.downcast::<Addresses>() {
            Ok(addresses) => *addresses,
            Err(_) => Err("the resolver has failed".to_owned()),
        },
        Answer::Failed(error) => Err(message::of(&error).into_owned()),
        _ => Err("the resolver has failed".to_owned()),
    }
}
