//! The macros of `sleepy-gc` that need to see types: `derive(Collect)`, `derive(SendRoot)` and the helper of `Rootable!`.
//!
//! Everything here writes code against the traits of `sleepy-gc` and relies on the compiler to check it: a derived impl is an
//! `unsafe impl`, and what makes it sound is written at the place that emits it.
//!
//! * `options`: what stands in `#[collect(...)]`;
//! * `krate`: under which name the user's crate knows `sleepy-gc`;
//! * `fields`: walks over the fields of a struct or enum;
//! * `collect` (with `slices`), `send_root`, `elided`: one macro each.

mod collect;
mod elided;
mod fields;
mod krate;
mod options;
mod send_root;
mod slices;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Derives `Collect`, the trait by which the collector finds the pointers in a value.
///
/// The type says in a `#[collect(...)]` attribute why it is safe, with exactly one of three modes:
///
/// * `no_drop`: every field is traced, and the type may not implement `Drop` (a destructor could look at pointers whose objects
///   are gone already). This is the usual one.
/// * `require_static`: the type must be `'static`, so that it can hold no pointer into an arena, and nothing is traced. `Drop` is allowed.
/// * `unsafe_drop`: every field is traced and `Drop` is allowed. **You promise** that the destructor touches no `Gc` or `GcWeak`.
///
/// and any of these options:
///
/// * `bound = "where ..."` replaces the bounds that the derive puts on the type's parameters (`T: Collect<'gc>`, for each parameter
///   that a traced field mentions). An empty string means no bounds.
/// * `gc_lifetime = 'a` names the arena's lifetime where the type has more than one lifetime parameter.
/// * `crate = path` names the path of `sleepy_gc` where it can't be found by itself (a crate that is only re-exported by another).
///
/// A field may carry `#[collect(require_static)]`: its type must then be `'static`, needs no `Collect`, and is not traced. Or it may
/// carry `#[collect(slices)]`: its type must be `CollectSlices`, and the type itself gets that trait, under the same bounds.
///
/// ```ignore
/// #[derive(Collect)]
/// #[collect(no_drop)]
/// struct Node<'gc, T> {
///     value: T,
///     next: Option<Gc<'gc, Node<'gc, T>>>,
///     #[collect(require_static)]
///     name: std::path::PathBuf,
/// }
/// ```
#[proc_macro_derive(Collect, attributes(collect))]
pub fn derive_collect(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    collect::expand(&input)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Derives `SendRoot`: the compiler checks that each field is `SendRoot` too.
///
/// A field that holds no pointer into the arena may carry `#[send_root(send)]` and must then be `Send`; a field with
/// `#[collect(require_static)]` is taken for such a one. The type may say `#[send_root(crate = path)]`; what it says of
/// that in `#[collect(...)]` holds here too.
#[proc_macro_derive(SendRoot, attributes(send_root, collect))]
pub fn derive_send_root(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    send_root::expand(&input)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Part of `Rootable!`: `__unelide_lifetimes!('a; Type<'_>)` is the type with each `'_` replaced by the lifetime.
#[doc(hidden)]
#[proc_macro]
pub fn __unelide_lifetimes(input: TokenStream) -> TokenStream {
    elided::expand(parse_macro_input!(input as elided::Input)).into()
}
