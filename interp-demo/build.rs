//! Tells the linker to put the functions that every program runs side by side: see `start.ld`.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=start.ld");
    let var = |name| env::var(name).unwrap_or_default();
    // Other linkers may not know the script's language, and a debug build has no use for it.
    if var("PROFILE") == "release" && var("CARGO_CFG_TARGET_OS") == "linux" {
        let folder = var("CARGO_MANIFEST_DIR");
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{folder}/start.ld");
    }
}
