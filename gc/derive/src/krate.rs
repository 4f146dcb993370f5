//! Finds the path under which the crate that derives knows `sleepy-gc`.

use proc_macro_crate::{FoundCrate, crate_name};
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

/// The packages that offer the traits, in the order in which they are looked for: ourselves, under whatever name the user gave
/// the dependency, and a package called `gc-arena` that re-exports us (so that a program written for that crate can be patched).
const PACKAGES: [(&str, &str); 2] = [("sleepy-gc", "sleepy_gc"), ("gc-arena", "gc_arena")];

/// An absolute path to the crate.
pub fn path() -> TokenStream {
    for (package, library) in PACKAGES {
        let name = match crate_name(package) {
            Ok(FoundCrate::Name(name)) => name,
            // The library itself, or one of its tests, examples and doc tests, for which it is another crate: each can say
            // `::sleepy_gc`, since the library declares `extern crate self as sleepy_gc`.
            Ok(FoundCrate::Itself) => library.to_owned(),
            Err(_) => continue,
        };
        let name = Ident::new(&name, Span::call_site());
        return quote!(::#name);
    }
    quote!(::sleepy_gc)
}
