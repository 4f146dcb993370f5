//! The command line of `compare`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};

/// What is to be compared.
#[derive(Debug)]
pub(super) struct Options {
    /// What stands before the script.
    pub flags: Flags,
    /// The script.
    pub script: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

/// The options that stand before the script.
#[derive(Args, Debug)]
pub(super) struct Flags {
    /// Write all figures and samples as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write one page with the memory curves, the phases of the collector and the table
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// How often each mode runs
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = parse_rounds)]
    pub rounds: usize,

    /// Another interpreter to run the script with, such as 'lua5.4' (may be repeated)
    #[arg(long = "peer", value_name = "COMMAND")]
    pub peers: Vec<String>,
}

/// Runs a script with sleeping off, with the collector only, and with the scavenger too, and compares
/// memory, CPU time and wake delays.
#[derive(Debug, Parser)]
#[command(
    name = "sleepy-lua compare",
    override_usage = "sleepy-lua compare [OPTIONS] SCRIPT [ARGUMENTS]...",
    allow_external_subcommands = true,
    disable_help_subcommand = true
)]
struct CommandLine {
    #[command(flatten)]
    flags: Flags,

    #[command(subcommand)]
    script: Option<Script>,
}

/// To the parser the script is a foreign sub-command: it takes all that follows, options too.
#[derive(Debug, Subcommand)]
enum Script {
    #[command(external_subcommand)]
    WithArguments(Vec<OsString>),
}

impl Options {
    /// Parses the words that follow `compare`.
    pub(super) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let name = OsString::from("sleepy-lua compare");
        let line = CommandLine::try_parse_from(std::iter::once(name).chain(words))?;
        let mut words = line
            .script
            .map(|Script::WithArguments(words)| words)
            .unwrap_or_default()
            .into_iter();
        let Some(script) = words.next() else {
            let kind = ErrorKind::MissingRequiredArgument;
            return Err(CommandLine::command().error(kind, "no script was given"));
        };
        Ok(Self {
            flags: line.flags,
            script: script.into(),
            arguments: words.collect(),
        })
    }
}

fn parse_rounds(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(rounds) if (1..=1000).contains(&rounds) => Ok(rounds),
        _ => Err("must be a number from 1 to 1000".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Options, clap::Error> {
        Options::parse(words.iter().map(OsString::from))
    }

    #[test]
    fn options_after_the_script_belong_to_the_script() {
        let options = parse(&["--rounds", "2", "a.lua", "--json", "-x"]).expect("valid");
        assert_eq!(options.flags.rounds, 2);
        assert_eq!(options.flags.json, None);
        assert_eq!(options.arguments, ["--json", "-x"]);
    }

    #[test]
    fn peers_may_be_repeated() {
        let options =
            parse(&["--peer", "lua5.4", "--peer", "luajit -joff", "a.lua"]).expect("valid");
        assert_eq!(options.flags.peers, ["lua5.4", "luajit -joff"]);
    }

    #[test]
    fn wrong_command_lines_are_refused() {
        for (words, part) in [
            (
                &["--rounds", "0", "a.lua"][..],
                "must be a number from 1 to 1000",
            ),
            (&["--colour", "a.lua"], "unexpected argument '--colour'"),
            (&["--json"], "a value is required for '--json <FILE>'"),
            (&["--rounds", "2"], "no script was given"),
        ] {
            let message = parse(words).expect_err("a wrong command line").to_string();
            assert!(message.contains(part), "{message}");
        }
    }
}
