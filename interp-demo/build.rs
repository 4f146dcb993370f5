//! Tells the linker to put the functions that programs run side by side (see `start.ld`), and to take the unwinder that few programs
//! need into the program, where its pages are not touched at the start, as those of a library are.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=start.ld");
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    if knows_scripts() && var("PROFILE") == "release" {
        let folder = var("CARGO_MANIFEST_DIR");
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{folder}/start.ld");
        if has_unwinder() {
            println!("cargo::rustc-link-lib=dylib=gcc_eh");
        }
    }
}

/// Whether GCC's unwinder is there as an archive, which the linker then takes before the library.
fn has_unwinder() -> bool {
    Command::new("cc")
        .arg("-print-file-name=libgcc_eh.a")
        .output()
        .ok()
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .is_some_and(|file| Path::new(file.trim()).is_absolute())
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
