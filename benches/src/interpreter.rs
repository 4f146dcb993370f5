//! `sleepy-lua`, which runs the scripts that are measured.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The interpreter and its scripts.
#[derive(Debug)]
pub struct Interpreter {
    /// The binary.
    pub program: PathBuf,
    /// The folder of scripts.
    pub scripts: PathBuf,
}

impl Interpreter {
    /// Builds the interpreter in the profile of the program that runs.
    ///
    /// # Errors
    ///
    /// If it can't be built, or the folder of the program that runs is unknown.
    pub fn build() -> Result<Self, Box<dyn Error>> {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .ok_or("no workspace")?;
        let own = std::env::current_exe()?;
        let folder = own.parent().ok_or("no folder")?;
        let mut cargo = Command::new(env!("CARGO"));
        cargo
            .args(["build", "--quiet", "--package", "interp-demo"])
            .args(["--bin", "sleepy-lua"])
            .current_dir(workspace);
        if folder.ends_with("release") {
            cargo.arg("--release");
        }
        if !cargo.status()?.success() {
            return Err("sleepy-lua can't be built".into());
        }
        Ok(Self {
            program: folder.join("sleepy-lua"),
            scripts: workspace.join("interp-demo/scripts"),
        })
    }
}
