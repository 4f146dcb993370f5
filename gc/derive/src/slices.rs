//! `CollectSlices`, for types with fields that say `#[collect(slices)]`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Generics, Lifetime, TypeGenerics, spanned::Spanned};

use crate::{
    fields::Variant,
    options::{FieldMode, field_mode},
};

/// The impl, under the bounds of that of `Collect`.
///
/// A cursor is one number: its remainder by the number of such fields says which field, the rest how far in that. All other
/// fields are traced at the start.
pub fn expand(
    ident: &Ident,
    variants: &[Variant<'_>],
    gc: &Lifetime,
    generics: &Generics,
    type_generics: &TypeGenerics<'_>,
    krate: &TokenStream,
) -> TokenStream {
    let tracer = Ident::new("cc", Span::mixed_site());
    let [from, limit, field, cursor] =
        ["from", "limit", "field", "cursor"].map(|name| Ident::new(name, Span::mixed_site()));
    let arms = variants.iter().map(|variant| {
        let mode = |field: &_| field_mode(field).unwrap_or(FieldMode::Traced);
        let (pattern, bindings) = variant.pattern(|field| mode(field) != FieldMode::RequireStatic);
        let (sliced, whole): (Vec<_>, Vec<_>) = bindings
            .iter()
            .partition(|(_, field)| mode(field) == FieldMode::Slices);
        let whole = whole.iter().map(|(name, of)| {
            let span = of.ty.span().resolved_at(Span::mixed_site());
            quote_spanned!(span=> #krate::collect::Trace::trace(#tracer, #name);)
        });
        let count = sliced.len();
        if count == 0 {
            return quote!(#pattern => { #(#whole)* ::core::option::Option::None });
        }
        let slices = sliced.iter().enumerate().map(|(at, (name, of))| {
            let span = of.ty.span().resolved_at(Span::mixed_site());
            quote_spanned!(span=>
                #at => #krate::collect::CollectSlices::trace_slice(#name, #cursor, #limit, #tracer),
            )
        });
        quote!(#pattern => {
            if #from == 0 {
                #(#whole)*
            }
            let (#field, #cursor) = #krate::collect::__split_cursor(#from, #count);
            let next = match #field {
                #(#slices)*
                _ => ::core::option::Option::None,
            };
            #krate::collect::__join_cursor(#field, next, #count).unwrap_or_else(|| {
                // A cursor that does not fit: the rest in one piece.
                #krate::collect::Trace::trace(#tracer, self);
                ::core::option::Option::None
            })
        })
    });
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    quote! {
        // SAFETY: the first slice has all fields that are traced as a whole, and the others follow field by field, each by its
        // own `CollectSlices` (rule 1); any cursor names a field, or none (rule 2).
        #[automatically_derived]
        unsafe impl #impl_generics #krate::collect::CollectSlices<#gc> for #ident #type_generics #where_clause {
            #[allow(unused_variables)]
            fn trace_slice<__Tracer: #krate::collect::Trace<#gc>>(
                &self,
                #from: usize,
                #limit: usize,
                #tracer: &mut __Tracer,
            ) -> ::core::option::Option<usize> {
                match self { #(#arms)* }
            }
        }
    }
}
