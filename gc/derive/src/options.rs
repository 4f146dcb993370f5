//! What stands in `#[collect(...)]`.

use syn::{
    Attribute, Field, Lifetime, LitStr, Path, WhereClause, meta::ParseNestedMeta, parse::Parse,
};

/// Why a derived impl is safe.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The type has no destructor.
    NoDrop,
    /// The type holds no pointer into an arena.
    RequireStatic,
    /// The user promises that the destructor touches no such pointer.
    UnsafeDrop,
}

/// The attribute of a type.
pub struct Options {
    pub mode: Mode,
    /// `Some(None)`: the user wants no bounds at all.
    pub bound: Option<Option<WhereClause>>,
    pub gc_lifetime: Option<Lifetime>,
    pub krate: Option<Path>,
}

/// The only attribute of this name.
fn the_attribute<'a>(
    attributes: &'a [Attribute],
    name: &str,
) -> syn::Result<Option<&'a Attribute>> {
    let mut found = None;
    for attribute in attributes.iter().filter(|a| a.path().is_ident(name)) {
        if found.replace(attribute).is_some() {
            return Err(syn::Error::new_spanned(
                attribute,
                format!("one `#[{name}(...)]` is enough: put all options into it"),
            ));
        }
    }
    Ok(found)
}

/// The value of an option, which may also be written as a string.
fn value_or_string<T: Parse>(meta: &ParseNestedMeta<'_>) -> syn::Result<T> {
    let value = meta.value()?;
    if value.peek(LitStr) {
        value.parse::<LitStr>()?.parse()
    } else {
        value.parse()
    }
}

fn set<T>(
    slot: &mut Option<T>,
    value: T,
    meta: &ParseNestedMeta<'_>,
    what: &str,
) -> syn::Result<()> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(meta.error(format!("there can be only one {what}"))),
    }
}

impl Options {
    /// Reads the attribute of a type.
    pub fn of_type(ident: &syn::Ident, attributes: &[Attribute]) -> syn::Result<Self> {
        let Some(attribute) = the_attribute(attributes, "collect")? else {
            return Err(syn::Error::new_spanned(
                ident,
                "`derive(Collect)` needs `#[collect(no_drop)]`, `#[collect(require_static)]` or `#[collect(unsafe_drop)]`",
            ));
        };
        let (mut mode, mut bound, mut gc_lifetime, mut krate) = (None, None, None, None);
        attribute.parse_nested_meta(|meta| {
            let path = &meta.path;
            if path.is_ident("bound") {
                let text: LitStr = meta.value()?.parse()?;
                let clause = if text.value().trim().is_empty() {
                    None
                } else {
                    Some(text.parse()?)
                };
                set(&mut bound, clause, &meta, "`bound`")
            } else if path.is_ident("gc_lifetime") {
                let lifetime = value_or_string(&meta)?;
                set(&mut gc_lifetime, lifetime, &meta, "`gc_lifetime`")
            } else if path.is_ident("crate") {
                let path = value_or_string(&meta)?;
                set(&mut krate, path, &meta, "`crate`")
            } else if path.is_ident("no_drop") {
                set(&mut mode, Mode::NoDrop, &meta, "mode")
            } else if path.is_ident("require_static") {
                set(&mut mode, Mode::RequireStatic, &meta, "mode")
            } else if path.is_ident("unsafe_drop") {
                set(&mut mode, Mode::UnsafeDrop, &meta, "mode")
            } else {
                Err(meta.error(
                    "unknown option: expected a mode (`no_drop`, `require_static` or `unsafe_drop`), `bound`, `gc_lifetime` or `crate`",
                ))
            }
        })?;
        let Some(mode) = mode else {
            return Err(syn::Error::new_spanned(
                attribute,
                "a mode is missing: `no_drop`, `require_static` or `unsafe_drop`",
            ));
        };
        Ok(Self {
            mode,
            bound,
            gc_lifetime,
            krate,
        })
    }
}

/// The path of the crate for `derive(SendRoot)`: what `#[send_root(crate = ...)]` says, or else the same of `collect`.
pub fn crate_of_send_root(
    ident: &syn::Ident,
    attributes: &[Attribute],
) -> syn::Result<Option<Path>> {
    let mut krate = None;
    if let Some(attribute) = the_attribute(attributes, "send_root")? {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("crate") {
                let path = value_or_string(&meta)?;
                set(&mut krate, path, &meta, "`crate`")
            } else {
                Err(meta.error("unknown option: expected `crate`"))
            }
        })?;
    }
    if krate.is_none() && the_attribute(attributes, "collect")?.is_some() {
        krate = Options::of_type(ident, attributes)?.krate;
    }
    Ok(krate)
}

/// What the derive does with a field.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum FieldMode {
    /// It is traced.
    Traced,
    /// `#[collect(require_static)]`: it must be `'static`, and is not traced.
    RequireStatic,
    /// `#[collect(slices)]`: it is traced, and can be in slices.
    Slices,
}

/// What a field says in `#[collect(...)]`.
pub fn field_mode(field: &Field) -> syn::Result<FieldMode> {
    const SAY: &str = "a field can only say `#[collect(require_static)]` or `#[collect(slices)]`";
    let Some(attribute) = the_attribute(&field.attrs, "collect")? else {
        return Ok(FieldMode::Traced);
    };
    let mut mode = None;
    attribute.parse_nested_meta(|meta| {
        let said = if meta.path.is_ident("require_static") {
            FieldMode::RequireStatic
        } else if meta.path.is_ident("slices") {
            FieldMode::Slices
        } else {
            return Err(meta.error(SAY));
        };
        match mode.replace(said) {
            None => Ok(()),
            Some(_) => Err(meta.error(SAY)),
        }
    })?;
    mode.ok_or_else(|| syn::Error::new_spanned(attribute, SAY))
}

/// Whether a field says `#[collect(require_static)]`.
pub fn field_is_static(field: &Field) -> syn::Result<bool> {
    field_mode(field).map(|mode| mode == FieldMode::RequireStatic)
}

/// Whether a field says `#[send_root(send)]`.
pub fn field_is_send(field: &Field) -> syn::Result<bool> {
    field_says(field, "send_root", "send")
}

fn field_says(field: &Field, name: &str, word: &str) -> syn::Result<bool> {
    let Some(attribute) = the_attribute(&field.attrs, name)? else {
        return Ok(false);
    };
    let mut said = false;
    attribute.parse_nested_meta(|meta| {
        if meta.path.is_ident(word) && !said {
            said = true;
            Ok(())
        } else {
            Err(meta.error(format!("a field can only say `#[{name}({word})]`")))
        }
    })?;
    if said {
        Ok(true)
    } else {
        Err(syn::Error::new_spanned(
            attribute,
            format!("a field can only say `#[{name}({word})]`"),
        ))
    }
}

/// Variants carry no attribute: it would not be clear for which fields it speaks.
pub fn reject_variant_attribute(attributes: &[Attribute]) -> syn::Result<()> {
    match the_attribute(attributes, "collect")? {
        None => Ok(()),
        Some(attribute) => Err(syn::Error::new_spanned(
            attribute,
            "`#[collect(...)]` stands on the type or on a field, not on a variant",
        )),
    }
}
