//! Every public item of gc-arena 0.7, used as its users do. The same files compile against gc-arena itself.

#![allow(
    clippy::arc_with_non_send_sync,
    clippy::redundant_closure,
    clippy::type_complexity,
    reason = "the types are what is tested; the function alone is not general enough"
)]

mod arena;
mod barriers;
mod collecting;
mod containers;
mod locks;
mod pointers;
mod roots;
