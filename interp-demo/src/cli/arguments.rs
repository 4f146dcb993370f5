//! The command line: what `sleepy-lua` was told to do.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, ArgMatches, Command, CommandFactory, FromArgMatches, Parser};

/// A Lua 5.4 interpreter that collects garbage while it waits.
#[derive(Parser, Debug)]
#[command(
    name = "sleepy-lua",
    bin_name = "sleepy-lua",
    disable_version_flag = true,
    override_usage = "sleepy-lua [OPTIONS] [SCRIPT [ARGS]...]\n       sleepy-lua compare [OPTIONS] SCRIPT [ARGS]...",
    after_help = "`sleepy-lua compare --help` tells how to compare a script's memory and time with sleeping off and on.\n\
                  Libraries beside those of Lua 5.4 (`gc` is loaded, the others are to be required): gc, lock, md5, process, queue,\n\
                  semaphore, socket, thread, timer.\n\
                  Environment: LUA_INIT, LUA_PATH (and LUA_INIT_5_4, LUA_PATH_5_4), as for `lua`."
)]
struct Options {
    /// Execute the string STAT
    #[arg(short = 'e', value_name = "STAT", action = ArgAction::Append)]
    execute: Vec<OsString>,

    /// Require the library MOD into global MOD; `-l NAME=MOD` into global NAME
    #[arg(short = 'l', value_name = "MOD", action = ArgAction::Append)]
    library: Vec<OsString>,

    /// Enter interactive mode after executing SCRIPT
    #[arg(short = 'i')]
    interactive: bool,

    /// Show the version
    #[arg(short = 'v', long = "version")]
    version: bool,

    /// Ignore environment variables
    #[arg(short = 'E')]
    ignore_environment: bool,

    /// Turn warnings on
    #[arg(short = 'W')]
    warnings: bool,

    /// Write figures to standard error when the program ends: a table, `json`, or `json:FILE`
    #[arg(long, value_name = "FORMAT", num_args = 0..=1, require_equals = true, default_missing_value = "table",
        value_parser = stats_format)]
    stats: Option<StatsFormat>,

    /// Write a line for each collection cycle to standard error, or what the collector did when as `json:FILE`
    #[arg(long, value_name = "FORMAT", num_args = 0..=1, require_equals = true, default_missing_value = "text",
        value_parser = trace_format)]
    gc_trace: Option<TraceFormat>,

    /// Collect at every Nth safe point, to find faults in the collector
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "1",
        value_parser = clap::value_parser!(u32).range(1..))]
    zeal: Option<u32>,

    /// Do not collect while waiting
    #[arg(long)]
    no_sleepy: bool,

    /// Do not give memory back while waiting
    #[arg(long)]
    no_scavenger: bool,

    /// Largest size of the heap; the suffixes K, M and G stand for KiB, MiB and GiB
    #[arg(long, value_name = "BYTES", value_parser = bytes, allow_hyphen_values = true)]
    memory_limit: Option<usize>,

    /// Longest time the program may run
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_hyphen_values = true)]
    time_limit: Option<Duration>,
}

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
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Invocation {
    /// All words of the command line: the program first.
    pub words: Vec<OsString>,
    /// `-e` and `-l`.
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
    /// `-W`
    pub warnings: bool,
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

impl Invocation {
    /// Reads the words of a command line, of which the first is the program's name.
    ///
    /// # Errors
    /// When an option is unknown or wrong, or help is asked for.
    pub fn parse(words: Vec<OsString>) -> Result<Invocation, clap::Error> {
        let command = Options::command();
        let script_at = script_place(&command, &words);
        let own = words[..script_at].iter().filter(|word| *word != "--");
        let matches = command.try_get_matches_from(own)?;
        let options = Options::from_arg_matches(&matches)?;
        let script = words.get(script_at).map(|word| {
            if word == "-" {
                Script::Stdin
            } else {
                Script::File(word.clone())
            }
        });
        Ok(Invocation {
            actions: actions(&matches, &options),
            script,
            script_at,
            interactive: options.interactive,
            version: options.version || options.interactive,
            ignore_environment: options.ignore_environment,
            warnings: options.warnings,
            stats: options.stats,
            gc_trace: options.gc_trace,
            zeal: options.zeal,
            sleepy: !options.no_sleepy,
            scavenger: !options.no_scavenger,
            memory_limit_bytes: options.memory_limit,
            time_limit: options.time_limit,
            words,
        })
    }

    /// The name the program was called by.
    #[must_use]
    pub fn program(&self) -> String {
        self.words
            .first()
            .map_or("sleepy-lua".into(), |word| word.to_string_lossy())
            .into_owned()
    }

    /// The arguments of the script.
    #[must_use]
    pub fn script_arguments(&self) -> &[OsString] {
        self.words.get(self.script_at + 1..).unwrap_or_default()
    }
}

/// The place of the first word that is neither an option nor the value of one. That word and all after it are the
/// script's.
fn script_place(command: &Command, words: &[OsString]) -> usize {
    let takes_next_word = |word: &OsString| {
        command.get_arguments().any(|option| {
            let is_long = option
                .get_long()
                .is_some_and(|long| word == &OsString::from(format!("--{long}")));
            let is_short = option
                .get_short()
                .is_some_and(|short| word == &OsString::from(format!("-{short}")));
            (is_long || is_short)
                && option.get_action().takes_values()
                && !option.is_require_equals_set()
        })
    };
    let mut at = 1;
    while let Some(word) = words.get(at) {
        if word == "--" {
            return at + 1;
        }
        if word == "-" || !word.as_bytes().starts_with(b"-") {
            break;
        }
        at += if takes_next_word(word) { 2 } else { 1 };
    }
    at.min(words.len())
}

/// `-e` and `-l` in their common order.
fn actions(matches: &ArgMatches, options: &Options) -> Vec<Action> {
    let places = |id: &str| matches.indices_of(id).into_iter().flatten();
    let statements = options
        .execute
        .iter()
        .map(|text| Action::Execute(text.clone().into_vec()));
    let libraries = options.library.iter().map(|word| {
        let word = word.as_bytes();
        match word.iter().position(|&byte| byte == b'=') {
            Some(at) => Action::Require {
                global: word[..at].to_vec(),
                module: word[at + 1..].to_vec(),
            },
            None => Action::Require {
                global: global_of(word),
                module: word.to_vec(),
            },
        }
    });
    let mut actions: Vec<_> = places("execute")
        .zip(statements)
        .chain(places("library").zip(libraries))
        .collect();
    actions.sort_by_key(|(place, _)| *place);
    actions.into_iter().map(|(_, action)| action).collect()
}

/// The global of a module: its name up to a hyphen, which begins a version.
fn global_of(module: &[u8]) -> Vec<u8> {
    module
        .split(|&byte| byte == b'-')
        .next()
        .unwrap_or_default()
        .to_vec()
}

fn stats_format(text: &str) -> Result<StatsFormat, String> {
    match text.split_once(':') {
        None if text == "table" => Ok(StatsFormat::Table),
        None if text == "json" => Ok(StatsFormat::Json),
        Some(("json", file)) if !file.is_empty() => Ok(StatsFormat::JsonFile(file.into())),
        _ => Err("expected `json` or `json:FILE`".to_owned()),
    }
}

fn trace_format(text: &str) -> Result<TraceFormat, String> {
    match text.split_once(':') {
        None if text == "text" => Ok(TraceFormat::Text),
        Some(("json", file)) if !file.is_empty() => Ok(TraceFormat::JsonFile(file.into())),
        _ => Err("expected `json:FILE`, or nothing".to_owned()),
    }
}

fn bytes(text: &str) -> Result<usize, String> {
    let expected = || "expected a number of bytes, as 1000000, 64K, 64M or 1G".to_owned();
    let digits = text.trim_end_matches(['k', 'K', 'm', 'M', 'g', 'G']);
    let shift = match &text[digits.len()..] {
        "" => 0,
        "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        _ => return Err(expected()),
    };
    let number: usize = digits.parse().map_err(|_| expected())?;
    number
        .checked_mul(1 << shift)
        .ok_or_else(|| "too large".to_owned())
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().map(Duration::try_from_secs_f64);
    match seconds {
        Some(Ok(limit)) => Ok(limit),
        _ => Err("expected a number of seconds, as 10 or 0.5".to_owned()),
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
