//! The command line: what `sleepy-lua` was told to do.
//!
//! It is read as `lua` reads its own: one word is one option, the value of `-e` and `-l` may follow in the same word, and
//! the first word that is no option is the script. (Libraries that parse command lines take `-ie` for two options.)

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use super::usage;

/// What `--stats` asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StatsFormat {
    /// A table for people.
    Table,
    /// One line of JSON, to standard error.
    Json,
    /// The same, into a file.
    JsonFile(PathBuf),
}

/// What `--gc-trace` asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TraceFormat {
    /// A line for each cycle.
    Text,
    /// Spans of the collector's work, into a file.
    JsonFile(PathBuf),
}

/// Something to do before the script, in the order of the command line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// `-e`
    Execute(Vec<u8>),
    /// `-l`: the global and the module.
    Require {
        /// The variable that gets the module.
        global: Vec<u8>,
        /// The module's name.
        module: Vec<u8>,
    },
    /// `-W`
    WarningsOn,
}

/// Where the script comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Script {
    /// A file.
    File(OsString),
    /// `-`
    Stdin,
}

/// All that the command line says.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Invocation {
    /// All words of the command line: the program first.
    pub words: Vec<OsString>,
    /// `-e`, `-l` and `-W`.
    pub actions: Vec<Action>,
    /// The script, if any.
    pub script: Option<Script>,
    /// The word of `words` that names the script; if there is none, their number.
    pub script_at: usize,
    /// `-i`
    pub interactive: bool,
    /// `-v`
    pub version: bool,
    /// `-E`
    pub ignore_environment: bool,
    /// `--stats`
    pub stats: Option<StatsFormat>,
    /// `--gc-trace`
    pub gc_trace: Option<TraceFormat>,
    /// `--zeal`
    pub zeal: Option<u32>,
    /// Whether waits collect: not `--no-sleepy`.
    pub sleepy: bool,
    /// Whether waits give memory back: not `--no-scavenger`.
    pub scavenger: bool,
    /// `--memory-limit`
    pub memory_limit_bytes: Option<usize>,
    /// `--time-limit`
    pub time_limit: Option<Duration>,
}

/// Why a command line is no invocation.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum Refused {
    /// `--help`: it is no error.
    #[error("help is asked for")]
    Help,
    /// An option that there is not.
    #[error("unrecognized option '{0}'{tip}", tip = usage::tip(.0))]
    Unknown(String),
    /// An option without its value.
    #[error("'{0}' needs argument")]
    NeedsArgument(String),
    /// A value for an option that has none.
    #[error("'{0}' takes no argument")]
    TakesNone(&'static str),
    /// A value that makes no sense.
    #[error("'{option}' can't be '{value}': {expected}")]
    WrongValue {
        /// The option.
        option: &'static str,
        /// Its value.
        value: String,
        /// What it should be.
        expected: &'static str,
    },
}

impl Invocation {
    /// Reads the words of a command line, of which the first is the program's name.
    ///
    /// # Errors
    /// When an option is unknown or wrong, or help is asked for.
    pub fn parse(words: Vec<OsString>) -> Result<Invocation, Refused> {
        let mut invocation = Invocation {
            script_at: words.len(),
            sleepy: true,
            scavenger: true,
            ..Invocation::default()
        };
        let mut at = 1;
        while let Some(word) = words.get(at) {
            match word.as_bytes() {
                b"--" => {
                    invocation.script_at = at + 1;
                    break;
                }
                b"-" => {
                    invocation.script_at = at;
                    break;
                }
                [b'-', b'-', name @ ..] => {
                    at += invocation.long_option(name, word, words.get(at + 1))?;
                }
                [b'-', ..] => at += invocation.short_option(word, words.get(at + 1))?,
                _ => {
                    invocation.script_at = at;
                    break;
                }
            }
        }
        invocation.script_at = invocation.script_at.min(words.len());
        invocation.script = words.get(invocation.script_at).map(|word| {
            // What follows `--` is a file's name, even if it looks like something else.
            if word == "-" && words[invocation.script_at - 1] != "--" {
                Script::Stdin
            } else {
                Script::File(word.clone())
            }
        });
        invocation.words = words;
        Ok(invocation)
    }

    /// Reads an option of `lua`; `next` is the word after it. Returns how many words it takes.
    fn short_option(&mut self, word: &OsStr, next: Option<&OsString>) -> Result<usize, Refused> {
        match word.as_bytes() {
            b"-i" => {
                self.interactive = true;
                self.version = true;
            }
            b"-v" => self.version = true,
            b"-E" => self.ignore_environment = true,
            b"-W" => self.actions.push(Action::WarningsOn),
            [b'-', option @ (b'e' | b'l'), value @ ..] => {
                let action = |value: Vec<u8>| match option {
                    b'e' => Action::Execute(value),
                    _ => required(&value),
                };
                if !value.is_empty() {
                    self.actions.push(action(value.to_vec()));
                    return Ok(1);
                }
                match next {
                    Some(next) if !next.as_bytes().starts_with(b"-") => {
                        self.actions.push(action(next.clone().into_vec()));
                        return Ok(2);
                    }
                    _ => return Err(Refused::NeedsArgument(shown(word))),
                }
            }
            _ => return Err(Refused::Unknown(shown(word))),
        }
        Ok(1)
    }

    /// Reads an option of our own, of which `name` is what follows the hyphens, maybe with its value: `NAME=VALUE`.
    fn long_option(
        &mut self,
        name: &[u8],
        word: &OsStr,
        next: Option<&OsString>,
    ) -> Result<usize, Refused> {
        let (name, value) = match name.iter().position(|&byte| byte == b'=') {
            Some(at) => (&name[..at], Some(shown(OsStr::from_bytes(&name[at + 1..])))),
            None => (name, None),
        };
        let option = usage::OPTIONS
            .iter()
            .find(|option| option.as_bytes() == [b"--", name].concat())
            .ok_or_else(|| Refused::Unknown(shown(word)))?;
        let takes_next = matches!(*option, "--memory-limit" | "--time-limit");
        let (value, count) = match (value, next) {
            (None, Some(next)) if takes_next => (Some(shown(next)), 2),
            (None, None) if takes_next => return Err(Refused::NeedsArgument(shown(word))),
            (value, _) => (value, 1),
        };
        let wrong = |value: &str, expected| Refused::WrongValue {
            option,
            value: value.to_owned(),
            expected,
        };
        match (*option, value.as_deref()) {
            ("--stats", value) => {
                self.stats =
                    Some(stats_format(value).map_err(|e| wrong(value.unwrap_or_default(), e))?);
            }
            ("--gc-trace", value) => {
                self.gc_trace =
                    Some(trace_format(value).map_err(|e| wrong(value.unwrap_or_default(), e))?);
            }
            ("--zeal", value) => {
                let value = value.unwrap_or("1");
                self.zeal = Some(zeal(value).map_err(|e| wrong(value, e))?);
            }
            ("--memory-limit", Some(value)) => {
                self.memory_limit_bytes = Some(bytes(value).map_err(|e| wrong(value, e))?);
            }
            ("--time-limit", Some(value)) => {
                self.time_limit = Some(seconds(value).map_err(|e| wrong(value, e))?);
            }
            (_, Some(_)) => return Err(Refused::TakesNone(option)),
            ("--no-sleepy", None) => self.sleepy = false,
            ("--no-scavenger", None) => self.scavenger = false,
            ("--version", None) => self.version = true,
            (_, None) => return Err(Refused::Help),
        }
        Ok(count)
    }

    /// The name the program was called by.
    #[must_use]
    pub fn program(&self) -> String {
        program_name(&self.words)
    }

    /// The arguments of the script.
    #[must_use]
    pub fn script_arguments(&self) -> &[OsString] {
        self.words.get(self.script_at + 1..).unwrap_or_default()
    }
}

/// The name a program was called by, of which these are the words.
#[must_use]
pub fn program_name(words: &[OsString]) -> String {
    match words.first() {
        Some(word) if !word.is_empty() => word.to_string_lossy().into_owned(),
        _ => "sleepy-lua".to_owned(),
    }
}

fn shown(word: &OsStr) -> String {
    word.to_string_lossy().into_owned()
}

/// The action of `-l`: MODULE or GLOBAL=MODULE.
fn required(value: &[u8]) -> Action {
    match value.iter().position(|&byte| byte == b'=') {
        Some(at) => Action::Require {
            global: value[..at].to_vec(),
            module: value[at + 1..].to_vec(),
        },
        // The global is called as the module is up to a hyphen, which begins a version.
        None => Action::Require {
            global: value
                .split(|&byte| byte == b'-')
                .next()
                .unwrap_or_default()
                .to_vec(),
            module: value.to_vec(),
        },
    }
}

fn stats_format(text: Option<&str>) -> Result<StatsFormat, &'static str> {
    match text.map(|text| text.split_once(':').unwrap_or((text, ""))) {
        None | Some(("table", "")) => Ok(StatsFormat::Table),
        Some(("json", "")) if text == Some("json") => Ok(StatsFormat::Json),
        Some(("json", file)) if !file.is_empty() => Ok(StatsFormat::JsonFile(file.into())),
        Some(_) => Err("expected nothing, 'json' or 'json:FILE'"),
    }
}

fn trace_format(text: Option<&str>) -> Result<TraceFormat, &'static str> {
    match text.map(|text| text.split_once(':').unwrap_or((text, ""))) {
        None | Some(("text", "")) => Ok(TraceFormat::Text),
        Some(("json", file)) if !file.is_empty() => Ok(TraceFormat::JsonFile(file.into())),
        Some(_) => Err("expected nothing or 'json:FILE'"),
    }
}

fn zeal(text: &str) -> Result<u32, &'static str> {
    match text.parse() {
        Ok(every) if every > 0 => Ok(every),
        _ => Err("expected a number from 1 on"),
    }
}

fn bytes(text: &str) -> Result<usize, &'static str> {
    const EXPECTED: &str = "expected a number of bytes, as 1000000, 64K, 64M or 1G";
    let digits = text.trim_end_matches(['k', 'K', 'm', 'M', 'g', 'G']);
    let shift = match &text[digits.len()..] {
        "" => 0,
        "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        _ => return Err(EXPECTED),
    };
    let number: usize = digits.parse().map_err(|_| EXPECTED)?;
    number.checked_mul(1 << shift).ok_or("it is too large")
}

fn seconds(text: &str) -> Result<Duration, &'static str> {
    match text.parse().map(Duration::try_from_secs_f64) {
        Ok(Ok(limit)) => Ok(limit),
        _ => Err("expected a number of seconds, as 10 or 0.5"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Invocation {
        Invocation::parse(words(line)).unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    fn words(line: &str) -> Vec<OsString> {
        std::iter::once("sleepy-lua")
            .chain(line.split_whitespace())
            .map(OsString::from)
            .collect()
    }

    fn execute(text: &str) -> Action {
        Action::Execute(text.as_bytes().to_vec())
    }

    fn require(global: &str, module: &str) -> Action {
        Action::Require {
            global: global.as_bytes().to_vec(),
            module: module.as_bytes().to_vec(),
        }
    }

    #[test]
    fn the_script_and_all_after_it_are_left_alone() {
        for (line, at) in [
            ("a.lua -i --stats -- -x --no-sleepy", 1),
            ("-W a.lua -e x", 2),
            ("-e x a.lua --help", 3),
            ("--stats=json a.lua -- a", 2),
            ("-ex=1 a.lua", 2),
        ] {
            let invocation = parse(line);
            assert_eq!(invocation.script_at, at, "{line}");
            assert_eq!(
                invocation.script,
                Some(Script::File("a.lua".into())),
                "{line}"
            );
            assert!(!invocation.interactive, "{line}");
            assert_eq!(
                invocation.script_arguments(),
                &words(line)[at + 1..],
                "{line}"
            );
        }
    }

    #[test]
    fn standard_input_and_the_end_of_options() {
        let invocation = parse("- a b");
        assert_eq!(
            (invocation.script, invocation.script_at),
            (Some(Script::Stdin), 1)
        );
        let invocation = parse("-i -- -strange.lua x");
        assert_eq!(invocation.script, Some(Script::File("-strange.lua".into())));
        assert_eq!(invocation.script_at, 3);
        let invocation = parse("-v --");
        assert_eq!((invocation.script, invocation.script_at), (None, 3));
    }

    #[test]
    fn actions_keep_their_order() {
        let invocation = parse("-e a -l b -ec -lm=d -l lib-2 -e x");
        let expected = [
            execute("a"),
            require("b", "b"),
            execute("c"),
            require("m", "d"),
            require("lib", "lib-2"),
        ];
        assert_eq!(invocation.actions[..5], expected);
        assert_eq!(invocation.actions[5], execute("x"));
    }

    #[test]
    fn own_options() {
        let invocation = parse(
            "--stats --gc-trace --zeal --no-sleepy --no-scavenger --memory-limit 64M --time-limit 1.5 x",
        );
        assert_eq!(invocation.stats, Some(StatsFormat::Table));
        assert_eq!(invocation.gc_trace, Some(TraceFormat::Text));
        assert_eq!(
            (invocation.zeal, invocation.sleepy, invocation.scavenger),
            (Some(1), false, false)
        );
        assert_eq!(invocation.memory_limit_bytes, Some(64 << 20));
        assert_eq!(invocation.time_limit, Some(Duration::from_millis(1500)));
        let invocation = parse("--stats=json:f.json --gc-trace=json:t.json --zeal=100 x");
        assert_eq!(
            invocation.stats,
            Some(StatsFormat::JsonFile("f.json".into()))
        );
        assert_eq!(
            invocation.gc_trace,
            Some(TraceFormat::JsonFile("t.json".into()))
        );
        assert_eq!(invocation.zeal, Some(100));
        assert_eq!(parse("--stats=json x").stats, Some(StatsFormat::Json));
    }

    #[test]
    fn what_is_wrong_is_refused() {
        for line in [
            "-x",
            "--nonsense",
            "-e",
            "-l",
            "-e -v",
            "--stats=xml",
            "--stats=json:",
            "--zeal=0",
            "--memory-limit x",
            "--memory-limit 99999999999G",
            "--time-limit -1",
            "-i -x a.lua",
        ] {
            assert!(Invocation::parse(words(line)).is_err(), "{line}");
        }
    }

    #[test]
    fn interactive_mode_shows_the_version() {
        assert!(parse("-i").version && parse("-v").version && !parse("x").version);
    }
}
