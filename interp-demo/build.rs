//! Tells the linker to put the functions that every program runs side by side: see `start.ld`.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=start.ld");
    let var = |name| env::var(name).unwrap_or_default();
    let is_gnu = var("CARGO_CFG_TARGET_OS") == "linux" && var("CARGO_CFG_TARGET_ENV") == "gnu";
    // The linkers of this target know the script's language (LLD and GNU's were tried); a debug build has no use for it.
    if var("PROFILE") == "release" && is_gnu && var("CARGO_CFG_TARGET_ARCH") == "x86_64" {
        let folder = var("CARGO_MANIFEST_DIR");
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{folder}/start.ld");
    }
}
