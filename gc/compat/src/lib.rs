//! `sleepy-gc` under the name of `gc-arena`: a program that is written for gc-arena 0.7 runs on it with two lines in its
//! `Cargo.toml`, and none in its code.
//!
//! ```toml
//! [patch.crates-io]
//! gc-arena = { path = "…/sleepy/gc/compat" }
//! ```
//!
//! Everything that gc-arena 0.7 offers is there under the same path, and means the same, but for these:
//!
//! | item | here | why |
//! |---|---|---|
//! | [`metrics::Pacing`], `allocation_debt`, `adjust_debt` | in bytes | by objects, a program whose few objects own much starves its collector |
//! | `Pacing`'s factors | scaled down where a cycle might not end | gc-arena leaves that to the caller |
//! | [`ZstCache::alloc_zst`](zst_cache::ZstCache::alloc_zst) | `unsafe` | it makes a value of a type that may have none |
//! | `barrier::DerefWrite` for `Rc`, `Arc` and `&T` | for `'static` targets | the barrier of one owner says nothing of the others |
//! | [`Arena::new`] and its like | want a root that is `Collect` | without, a root family such as `&'static Gc<'gc, _>` lets pointers out |
//! | [`collect::dyn_collect!`] | takes `dyn` types only | with another, a type could have both a destructor and `Collect` |
//! | a panicking destructor | the others still run | |
//! | `no_std` | is not supported | |
//!
//! Beside these there are the rest of `sleepy-gc`'s modules.

pub use sleepy_gc::*;
