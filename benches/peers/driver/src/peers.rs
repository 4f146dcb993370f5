//! Building the binaries.

use crate::Error;
use indicatif::{ProgressBar, ProgressStyle};
use peers_common::cargo;
use peers_common::record::Ready;
use peers_common::variants::{VARIANTS, Variant, find};
use std::collections::BTreeSet;

/// The variants of those names; without names, those that take part by default.
///
/// # Errors
/// [`Error::NoPeer`].
pub fn select(names: &[String]) -> Result<Vec<Variant>, Error> {
    if names.is_empty() {
        return Ok(VARIANTS.iter().filter(|v| v.default).copied().collect());
    }
    let known = || {
        VARIANTS
            .iter()
            .map(|v| v.name)
            .collect::<Vec<_>>()
            .join(", ")
    };
    names
        .iter()
        .map(|name| {
            find(name)
                .copied()
                .ok_or_else(|| Error::NoPeer(name.clone(), known()))
        })
        .collect()
}

/// Builds what the variants need, unless told not to, and says where it is.
///
/// # Errors
/// [`Error::Build`].
pub fn ready(variants: &[Variant], build: bool) -> Result<Vec<Ready>, Error> {
    if build {
        let packages: BTreeSet<&str> = variants.iter().map(|v| v.peer).collect();
        let bar = ProgressBar::new(packages.len() as u64);
        bar.set_style(
            ProgressStyle::with_template("building {bar:30} {pos}/{len} {msg}")
                .unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        for package in packages {
            bar.set_message(package);
            cargo::build(&format!("with-{package}"))?;
            bar.inc(1);
        }
        bar.finish_and_clear();
    }
    variants
        .iter()
        .map(|&variant| {
            Ok(Ready {
                variant,
                program: cargo::binary(&format!("with-{}", variant.peer))?,
                hello: cargo::binary(&format!("hello-{}", variant.peer))?,
            })
        })
        .collect()
}
