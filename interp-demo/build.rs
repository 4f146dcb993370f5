//! Tells the linker to put the functions that every program runs side by side: see `start.ld`.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=start.ld");
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    if knows_scripts() && var("PROFILE") == "release" {
        let folder = var("CARGO_MANIFEST_DIR");
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{folder}/start.ld");
    }
}

fn var(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

/// Whether the linker is known to read such a script: the one that rustc takes by itself for this target, or GNU's. Another that the
/// user has chosen (mold, for one, does not) gets none: the program only starts with more of its text in memory then.
fn knows_scripts() -> bool {
    let is_target = var("CARGO_CFG_TARGET_OS") == "linux"
        && var("CARGO_CFG_TARGET_ENV") == "gnu"
        && var("CARGO_CFG_TARGET_ARCH") == "x86_64";
    let flags = var("CARGO_ENCODED_RUSTFLAGS");
    let has_own_linker = env::var_os("RUSTC_LINKER").is_some()
        || flags.contains("linker=")
        || flags.contains("fuse-ld") && !flags.contains("fuse-ld=bfd");
    is_target && !has_own_linker
}
