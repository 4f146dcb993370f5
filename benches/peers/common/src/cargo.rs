//! Building the peers, and where their binaries are.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Why a peer could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// `cargo` could not be started.
    #[error("cannot run cargo: {0}")]
    Start(std::io::Error),
    /// `cargo build` failed; it has said why.
    #[error("cargo build of {0} failed")]
    Failed(String),
    /// The path of this executable is unknown.
    #[error("cannot find the folder of this executable: {0}")]
    NoFolder(std::io::Error),
}

/// Builds `package` of this workspace in release mode.
///
/// # Errors
/// [`BuildError`].
pub fn build(package: &str) -> Result<(), BuildError> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
    let status = Command::new(cargo)
        .args(["build", "--release", "--quiet", "--package", package])
        .arg("--manifest-path")
        .arg(manifest)
        .status()
        .map_err(BuildError::Start)?;
    if status.success() {
        Ok(())
    } else {
        Err(BuildError::Failed(package.to_owned()))
    }
}

/// The path of a binary of this workspace: beside the one that runs.
///
/// # Errors
/// [`BuildError::NoFolder`].
pub fn binary(name: &str) -> Result<PathBuf, BuildError> {
    let mut path = std::env::current_exe().map_err(BuildError::NoFolder)?;
    path.set_file_name(name);
    Ok(path)
}
