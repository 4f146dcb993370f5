//! What is run: the files of `programs/`, and a few that only weigh.

use crate::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// A program and its arguments.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its name in the tables.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// What it is for.
    pub kind: Kind,
}

/// What a program is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// CPU time and peak memory.
    Speed,
    /// What an object of a kind weighs.
    Weight,
    /// What stays after nearly everything was dropped.
    Drop,
}

/// Objects that are weighed, and how many bytes each may have. The limits are those of the design.
pub const WEIGHTS: [(&str, f64); 4] = [
    ("{}", 64.0),
    ("{x=,y=}", 126.0),
    ("short string", 48.0),
    ("closure", 64.0),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// The script that runs the others.
pub fn runner() -> PathBuf {
    folder().join("run.lua")
}

/// All programs, or those that `only` names.
pub fn select(only: &[String]) -> Result<Vec<Program>, Error> {
    let all = all()?;
    for name in only {
        if !all.iter().any(|program| program.name == *name) {
            let names: Vec<_> = all.iter().map(|program| program.name.as_str()).collect();
            return Err(Error::NoProgram(name.clone(), names.join(", ")));
        }
    }
    let wanted = |program: &Program| only.is_empty() || only.contains(&program.name);
    Ok(all.into_iter().filter(wanted).collect())
}

fn all() -> Result<Vec<Program>, Error> {
    let speed = folder().join("programs");
    let fail = |error| Error::Programs(speed.clone(), error);
    let mut programs = Vec::new();
    for entry in fs::read_dir(&speed).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        if let Some(name) = path.file_stem().and_then(|name| name.to_str()) {
            programs.push(Program {
                name: name.to_owned(),
                path: path.clone(),
                arguments: Vec::new(),
                kind: Kind::Speed,
            });
        }
    }
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    let memory = folder().join("memory");
    for (name, _) in WEIGHTS {
        programs.push(Program {
            name: name.to_owned(),
            path: memory.join("weigh.lua"),
            arguments: vec![name.to_owned()],
            kind: Kind::Weight,
        });
    }
    programs.push(Program {
        name: "drop".to_owned(),
        path: memory.join("drop.lua"),
        arguments: Vec::new(),
        kind: Kind::Drop,
    });
    Ok(programs)
}
