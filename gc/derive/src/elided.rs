//! Replaces the elided lifetimes of a type by a named one.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{
    Lifetime, Token, Type,
    parse::{Parse, ParseStream},
    visit_mut::VisitMut,
};

/// `'name; Type`
pub struct Input {
    name: Lifetime,
    ty: Type,
}

impl Parse for Input {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name = input.parse()?;
        input.parse::<Token![;]>()?;
        let ty = input.parse()?;
        Ok(Self { name, ty })
    }
}

struct Namer(Lifetime);

impl VisitMut for Namer {
    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        if lifetime.ident == "_" {
            *lifetime = self.0.clone();
        }
    }
}

/// The type, all of whose elided lifetimes have the name.
pub fn expand(mut input: Input) -> TokenStream {
    Namer(input.name).visit_type_mut(&mut input.ty);
    input.ty.into_token_stream()
}
