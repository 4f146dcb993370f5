//! The virtual machine: values, functions, coroutines, and the loop that runs bytecode.
//!
//! Nothing here recurses for a call, a metamethod, a protected call or a coroutine: all of them are frames of a
//! [`thread::Thread`], and [`run`](run::run) goes on with whatever frame is on top. It returns to the host at safe points, so that
//! the collector can work, and for requests that can't be met while the arena is being changed.
//!
//! OS threads take turns in the arena, so each type of object here is `Collect::SEND`: what it owns is values, plain data, boxes of the
//! host that are `Send`, shared prototypes (`Arc`), and raw pointers to places in the same arena or in those prototypes.

pub mod access;
pub mod args;
mod arith;
pub mod buffer;
mod call;
pub mod closure;
mod coroutine;
pub mod debug;
mod describe;
pub mod error;
mod execute;
mod external;
mod finalize;
mod finish;
mod frame;
pub mod hooks;
mod late_mode;
pub mod native;
pub mod number;
pub mod patience;
pub mod roster;
pub mod run;
mod slow;
pub mod state;
pub mod string;
pub mod suspend;
pub mod table;
pub mod thread;
pub(crate) mod turn;
mod unwind;
pub mod userdata;
pub mod value;
mod window;

pub use access::{Access, Compare};
pub use closure::{Closure, Function, UpValue};
pub use error::Error;
pub use native::{Call, Flow, Native, NativeFn, NativeResult, Outcome};
pub use run::{Exit, fail, run};
pub use state::{Ctx, State};
pub use string::LuaStr;
pub use suspend::{Answer, GcRequest, Suspend};
pub use table::Table;
pub use thread::{Status, Thread};
pub use userdata::UserData;
pub use value::{Type, Value};
