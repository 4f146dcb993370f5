//! `derive(Collect)`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{DeriveInput, Generics, Lifetime, LifetimeParam, Type, parse_quote, spanned::Spanned};

use crate::{
    fields::{self, mentioned_parameters},
    krate,
    options::{FieldMode, Mode, Options, field_is_static, field_mode, reject_variant_attribute},
    slices,
};

/// The impls for a type.
pub fn expand(input: &DeriveInput) -> syn::Result<TokenStream> {
    let options = Options::of_type(&input.ident, &input.attrs)?;
    let krate = match &options.krate {
        Some(path) => quote!(#path),
        None => krate::path(),
    };
    if options.mode == Mode::RequireStatic {
        return Ok(expand_static(input, &krate));
    }
    let collect = expand_traced(input, &options, &krate)?;
    let no_drop = match options.mode {
        Mode::NoDrop => expand_no_drop(input, &krate),
        _ => TokenStream::new(),
    };
    Ok(quote!(#collect #no_drop))
}

/// The arena's lifetime, and the generics of the impl: those of the type, and the lifetime unless the type has it already.
fn gc_lifetime(input: &DeriveInput, options: &Options) -> syn::Result<(Lifetime, Generics)> {
    let mut generics = input.generics.clone();
    let own: Vec<_> = input.generics.lifetimes().map(|p| &p.lifetime).collect();
    let lifetime = match (&options.gc_lifetime, own.as_slice()) {
        (Some(named), own) if own.contains(&named) => named.clone(),
        (Some(named), _) => {
            return Err(syn::Error::new_spanned(
                named,
                "`gc_lifetime` must be a lifetime parameter of the type",
            ));
        }
        (None, [only]) => (*only).clone(),
        (None, []) => {
            // At the call site, so that a `bound` can name it.
            let lifetime = Lifetime::new("'gc", Span::call_site());
            generics
                .params
                .insert(0, LifetimeParam::new(lifetime.clone()).into());
            lifetime
        }
        (None, _) => {
            return Err(syn::Error::new_spanned(
                &input.generics,
                "the type has several lifetimes: say which is the arena's with `#[collect(gc_lifetime = 'a)]`",
            ));
        }
    };
    Ok((lifetime, generics))
}

/// A type that can hold no pointer into an arena. Its `'static` bound is what makes rule 1 hold for an empty `trace`.
fn expand_static(input: &DeriveInput, krate: &TokenStream) -> TokenStream {
    let ident = &input.ident;
    let (_, type_generics, _) = input.generics.split_for_impl();
    let mut generics = input.generics.clone();
    generics
        .make_where_clause()
        .predicates
        .push(parse_quote!(Self: 'static));
    let gc = Lifetime::new("'__gc", Span::mixed_site());
    generics
        .params
        .insert(0, LifetimeParam::new(gc.clone()).into());
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    quote! {
        // SAFETY: a `'static` value holds no pointer that is branded by an arena, so there is nothing to trace, to touch in a
        // destructor, or to store without a barrier.
        #[automatically_derived]
        unsafe impl #impl_generics #krate::Collect<#gc> for #ident #type_generics #where_clause {
            const NEEDS_TRACE: bool = false;
            const SEND: bool = #krate::__is_send!(Self);
        }
    }
}

fn expand_traced(
    input: &DeriveInput,
    options: &Options,
    krate: &TokenStream,
) -> syn::Result<TokenStream> {
    let (gc, mut generics) = gc_lifetime(input, options)?;
    let variants = fields::variants(input)?;

    let mut errors: Option<syn::Error> = None;
    let mut note = |result: syn::Result<bool>| match result {
        Ok(value) => value,
        Err(error) => {
            match &mut errors {
                Some(all) => all.combine(error),
                none => *none = Some(error),
            }
            false
        }
    };

    let tracer = Ident::new("cc", Span::mixed_site());
    let mut traced: Vec<&Type> = Vec::new();
    let mut plain: Vec<&Type> = Vec::new();
    let mut arms = Vec::new();
    for variant in &variants {
        note(reject_variant_attribute(variant.attributes).map(|()| true));
        for field in variant.fields() {
            if note(field_is_static(field)) {
                plain.push(&field.ty);
            } else {
                traced.push(&field.ty);
            }
        }
        let (pattern, bindings) = variant.pattern(|field| !field_is_static(field).unwrap_or(false));
        let calls = bindings.iter().map(|(name, field)| {
            // Errors about a type without `Collect` should point at the field.
            let span = field.ty.span().resolved_at(Span::mixed_site());
            quote_spanned!(span=> #krate::collect::Trace::trace(#tracer, #name);)
        });
        arms.push(quote!(#pattern => { #(#calls)* }));
    }
    if let Some(error) = errors {
        return Err(error);
    }

    let clause = generics.make_where_clause();
    match &options.bound {
        None => {
            for parameter in mentioned_parameters(&input.generics, &traced) {
                clause
                    .predicates
                    .push(parse_quote!(#parameter: #krate::Collect<#gc>));
            }
        }
        Some(None) => {}
        Some(Some(bound)) => clause.predicates.extend(bound.predicates.iter().cloned()),
    }
    for ty in &plain {
        clause.predicates.push(parse_quote!(#ty: 'static));
    }

    let needs_trace = traced.iter().map(|ty| {
        let span = ty.span().resolved_at(Span::mixed_site());
        quote_spanned!(span=> || <#ty as #krate::Collect<#gc>>::NEEDS_TRACE)
    });
    let send = match options.mode {
        // A destructor of the user's own may rely on its thread.
        Mode::UnsafeDrop => quote!(false),
        _ => {
            let traced_send = traced.iter().map(|ty| {
                let span = ty.span().resolved_at(Span::mixed_site());
                quote_spanned!(span=> && (<#ty as #krate::Collect<#gc>>::SEND || #krate::__is_send!(#ty)))
            });
            quote!(true #(#traced_send)* #(&& #krate::__is_send!(#plain))*)
        }
    };
    let body = if arms.is_empty() {
        quote!(match *self {})
    } else {
        quote!(match self { #(#arms)* })
    };

    let ident = &input.ident;
    let (_, type_generics, _) = input.generics.split_for_impl();
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let in_slices = variants
        .iter()
        .flat_map(|variant| variant.fields())
        .any(|field| field_mode(field).is_ok_and(|mode| mode == FieldMode::Slices));
    let slices =
        in_slices.then(|| slices::expand(ident, &variants, &gc, &generics, &type_generics, krate));
    Ok(quote! {
        // SAFETY: each field is traced or is `'static` and thus holds no pointer into an arena (rule 1); the type has no
        // destructor of its own, which the impl of `__MustNotImplDrop` beside this one makes certain, or the user has promised
        // what rule 2 wants; what can change behind a shared reference is a field's own business, and each is `Collect` or
        // `'static` (rule 3).
        #[automatically_derived]
        unsafe impl #impl_generics #krate::Collect<#gc> for #ident #type_generics #where_clause {
            const NEEDS_TRACE: bool = false #(#needs_trace)*;
            const SEND: bool = #send;

            #[inline]
            #[allow(unused_variables)]
            fn trace<__Tracer: #krate::collect::Trace<#gc>>(&self, #tracer: &mut __Tracer) {
                #body
            }
        }

        #slices
    })
}

/// An impl that collides with a blanket impl for all types with a destructor.
fn expand_no_drop(input: &DeriveInput, krate: &TokenStream) -> TokenStream {
    let ident = &input.ident;
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #impl_generics #krate::__MustNotImplDrop for #ident #type_generics #where_clause {}
    }
}
