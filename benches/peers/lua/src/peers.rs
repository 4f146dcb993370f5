//! Who takes part: `sleepy-lua`, what is installed, and what is built here.

use crate::Error;
use peers_common::cargo::BuildError;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The one that the others are measured against.
pub const ANCHOR: &str = "lua5.4";
/// Ours.
pub const OURS: &str = "sleepy-lua";

/// An interpreter.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Its name in the tables.
    pub name: String,
    /// Its binary.
    pub program: PathBuf,
    /// Its own arguments, before those of the script.
    pub arguments: Vec<String>,
}

/// Ours and those of `with/` (built first, unless told not to), those that are installed, and those that were named.
pub fn ready(also: &[String], build: bool) -> Result<Vec<Peer>, Error> {
    let mut peers = vec![Peer {
        name: OURS.to_owned(),
        program: sleepy_lua(build)?,
        arguments: Vec::new(),
    }];
    for (name, binary, arguments) in [
        (ANCHOR, "lua5.4", &[][..]),
        ("luajit -joff", "luajit", &["-joff"]),
    ] {
        match installed(binary) {
            Some(program) => peers.push(Peer {
                name: name.to_owned(),
                program,
                arguments: arguments.iter().map(ToString::to_string).collect(),
            }),
            None => eprintln!("compare-lua: {binary} is not installed, and left out"),
        }
    }
    for (name, package) in [
        ("mlua", "lua-mlua"),
        ("piccolo", "lua-piccolo"),
        ("luna", "lua-luna"),
    ] {
        if build {
            peers_common::cargo::build(package)?;
        }
        peers.push(Peer {
            name: name.to_owned(),
            program: peers_common::cargo::binary(package)?,
            arguments: Vec::new(),
        });
    }
    for peer in also {
        let (name, path) = peer
            .split_once('=')
            .ok_or_else(|| Error::NotAPeer(peer.clone()))?;
        peers.push(Peer {
            name: name.to_owned(),
            program: path.into(),
            arguments: Vec::new(),
        });
    }
    Ok(peers)
}

/// A program on the path that children get.
fn installed(binary: &str) -> Option<PathBuf> {
    ["/usr/local/bin", "/usr/bin", "/bin"]
        .iter()
        .map(|folder| Path::new(folder).join(binary))
        .find(|path| path.exists())
}

fn sleepy_lua(build: bool) -> Result<PathBuf, BuildError> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    if build {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let status = Command::new(cargo)
            .args(["build", "--release", "--quiet", "--package", "interp-demo"])
            .current_dir(&workspace)
            .status()
            .map_err(BuildError::Start)?;
        if !status.success() {
            return Err(BuildError::Failed("interp-demo".to_owned()));
        }
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(workspace.join("target"), Into::into);
    Ok(target.join("release/sleepy-lua"))
}
