//! What is written down, and where.

use crate::variants::Variant;
use serde::Serialize;
use std::fs;
use std::io;
use std::path::PathBuf;

/// A peer that is ready to run.
#[derive(Clone, Debug)]
pub struct Ready {
    /// Which one, with which settings.
    pub variant: Variant,
    /// Its binary `with-NAME`.
    pub program: PathBuf,
    /// Its binary `hello-NAME`, which does nothing.
    pub hello: PathBuf,
}

/// What each part of a record is given.
#[derive(Clone, Debug)]
pub struct Context {
    /// The folder for tables and JSON.
    pub out: PathBuf,
    /// Small sizes and few rounds, to see that everything runs.
    pub quick: bool,
    /// How often each peer runs.
    pub rounds: usize,
    /// The peers, built.
    pub peers: Vec<Ready>,
}

impl Context {
    /// Writes `NAME.md` and `NAME.json`.
    ///
    /// # Errors
    /// Those of writing files.
    pub fn write(&self, name: &str, table: &str, json: &impl Serialize) -> io::Result<()> {
        fs::create_dir_all(&self.out)?;
        fs::write(self.out.join(format!("{name}.md")), table)?;
        let mut text = serde_json::to_string_pretty(json)?;
        text.push('\n');
        fs::write(self.out.join(format!("{name}.json")), text)
    }
}
