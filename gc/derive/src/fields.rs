//! Walks over the variants and fields of a type.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use syn::{
    Data, DeriveInput, Field, Fields, GenericParam, Generics, Index, Type,
    visit::{self, Visit},
};

/// A variant of an enum, or the one variant of a struct.
pub struct Variant<'a> {
    /// The path that a pattern begins with.
    path: TokenStream,
    fields: &'a Fields,
    /// Attributes of an enum's variant.
    pub attributes: &'a [syn::Attribute],
}

impl<'a> Variant<'a> {
    /// All fields, in order.
    pub fn fields(&self) -> impl Iterator<Item = &'a Field> + use<'a> {
        self.fields.iter()
    }

    /// A pattern that binds the fields that `wanted` picks, and their names.
    pub fn pattern(
        &self,
        mut wanted: impl FnMut(&Field) -> bool,
    ) -> (TokenStream, Vec<(Ident, &'a Field)>) {
        let mut bound = Vec::new();
        let mut members = Vec::new();
        for (at, field) in self.fields.iter().enumerate() {
            if wanted(field) {
                let name = format_ident!("__field_{}", at, span = Span::mixed_site());
                let member = match &field.ident {
                    Some(ident) => quote!(#ident),
                    None => {
                        let index = Index::from(at);
                        quote!(#index)
                    }
                };
                members.push(quote!(#member: #name,));
                bound.push((name, field));
            }
        }
        let path = &self.path;
        (quote!(#path { #(#members)* .. }), bound)
    }
}

/// The variants of a type.
///
/// # Errors
/// For a union: which of its fields is there can't be known.
pub fn variants(input: &DeriveInput) -> syn::Result<Vec<Variant<'_>>> {
    match &input.data {
        Data::Struct(data) => Ok(vec![Variant {
            path: quote!(Self),
            fields: &data.fields,
            attributes: &[],
        }]),
        Data::Enum(data) => Ok(data
            .variants
            .iter()
            .map(|variant| {
                let ident = &variant.ident;
                Variant {
                    path: quote!(Self::#ident),
                    fields: &variant.fields,
                    attributes: &variant.attrs,
                }
            })
            .collect()),
        Data::Union(data) => Err(syn::Error::new_spanned(
            data.union_token,
            "a union can't be derived: which field it holds is unknown",
        )),
    }
}

struct Mentions<'a> {
    wanted: &'a Ident,
    found: bool,
}

impl<'ast> Visit<'ast> for Mentions<'_> {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none()
            && path
                .segments
                .first()
                .is_some_and(|s| s.ident == *self.wanted)
        {
            self.found = true;
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, _: &'ast syn::Macro) {
        // A type macro may mention anything.
        self.found = true;
    }
}

/// The type parameters that at least one of the types mentions.
pub fn mentioned_parameters<'a>(generics: &'a Generics, types: &[&Type]) -> Vec<&'a Ident> {
    generics
        .params
        .iter()
        .filter_map(|parameter| match parameter {
            GenericParam::Type(parameter) => Some(&parameter.ident),
            _ => None,
        })
        .filter(|ident| {
            types.iter().any(|ty| {
                let mut mentions = Mentions {
                    wanted: ident,
                    found: false,
                };
                mentions.visit_type(ty);
                mentions.found
            })
        })
        .collect()
}
