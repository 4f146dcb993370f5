//! Every public item of gc-arena 0.7, used as its users do. The same files compile against gc-arena itself.

mod arena;
mod barriers;
mod collecting;
mod containers;
mod locks;
mod pointers;
mod roots;
