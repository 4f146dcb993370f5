//! `derive(SendRoot)`.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{DeriveInput, parse_quote, spanned::Spanned};

use crate::{
    fields::{self, mentioned_parameters},
    krate,
    options::{crate_of_send_root, field_is_send, field_is_static},
};

/// The impl, and a function whose body the compiler can only accept if every field may move between threads. (Bounds on the impl
/// would do that too, but a type that points to itself could never satisfy them.)
pub fn expand(input: &DeriveInput) -> syn::Result<TokenStream> {
    let krate = match crate_of_send_root(&input.ident, &input.attrs)? {
        Some(path) => quote!(#path),
        None => krate::path(),
    };
    let variants = fields::variants(input)?;
    let mut checks = Vec::new();
    let mut types = Vec::new();
    for field in variants.iter().flat_map(|variant| variant.fields()) {
        let ty = &field.ty;
        let span = ty.span().resolved_at(Span::mixed_site());
        if field_is_send(field)? || field_is_static(field)? {
            checks.push(quote_spanned!(span=> #krate::send_root::__assert_send::<#ty>();));
        } else {
            types.push(ty);
            checks.push(quote_spanned!(span=> #krate::send_root::__assert_send_root::<#ty>();));
        }
    }

    let mut generics = input.generics.clone();
    let clause = generics.make_where_clause();
    for parameter in mentioned_parameters(&input.generics, &types) {
        clause
            .predicates
            .push(parse_quote!(#parameter: #krate::SendRoot));
    }
    let ident = &input.ident;
    let (_, type_generics, _) = input.generics.split_for_impl();
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    Ok(quote! {
        // SAFETY: the function below compiles, so each field may move between threads.
        #[automatically_derived]
        unsafe impl #impl_generics #krate::SendRoot for #ident #type_generics #where_clause {}

        const _: () = {
            #[allow(dead_code, clippy::extra_unused_lifetimes, clippy::extra_unused_type_parameters)]
            fn check #impl_generics () #where_clause {
                #(#checks)*
            }
        };
    })
}
