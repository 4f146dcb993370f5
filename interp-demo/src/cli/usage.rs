//! What the command line may say, in words.

/// The options with a name of their own.
pub(super) const OPTIONS: &[&str] = &[
    "--stats",
    "--gc-trace",
    "--zeal",
    "--no-sleepy",
    "--no-scavenger",
    "--memory-limit",
    "--time-limit",
    "--version",
    "--help",
];

/// What follows the line `usage: …`: the options of `lua` in its own order, then ours.
const AVAILABLE: &str = "\
Available options are:
  -e stat   execute string 'stat'
  -i        enter interactive mode after executing 'script'
  -l mod    require library 'mod' into global 'mod'
  -l g=mod  require library 'mod' into global 'g'
  -v        show version information (also --version)
  -E        ignore environment variables
  -W        turn warnings on
  --        stop handling options
  -         stop handling options and execute stdin

  --memory-limit BYTES   largest size of the heap; K, M and G stand for KiB, MiB and GiB
  --time-limit SECONDS   longest time that the program may run
  --stats                write figures to stderr at the end, as a table
  --stats=json[:FILE]    the same as a line of JSON, to stderr or FILE
  --gc-trace             write a line to stderr for each collection cycle
  --gc-trace=json:FILE   write what the collector did, and when, to FILE
  --no-sleepy            do not collect while waiting
  --no-scavenger         do not give memory back while waiting
  --zeal[=N]             collect at every Nth safe point, to find faults in the collector
  --help                 show more than this
";

/// The end of `--help`.
const MORE: &str = "
sleepy-lua compare [options] script [args]
  compares the script's memory and CPU time with sleeping off and on; see `sleepy-lua compare --help`.

Libraries beside those of Lua 5.4: gc (loaded); lock, md5, process, queue, semaphore, socket, thread, timer (to be
required); of LuaRocks' C modules lfs, socket.core, mime.core, system.core, term.core. There is no C API.
Limits: --memory-limit counts objects, and buffers of the library; 4 MiB beside it are left for a program that was told,
and the process itself takes some 5 MiB more. A program that is stopped, by --time-limit or a signal, leaves the
processes that it has started alone.
Environment: LUA_INIT and LUA_PATH (or LUA_INIT_5_4, LUA_PATH_5_4) as for lua; SLEEPY_GENERATIONAL=1: two generations
from the start, 0: only if a program asks for them.
";

/// The usage, as it follows an error.
pub(super) fn usage(program: &str) -> String {
    format!("usage: {program} [options] [script [args]]\n{AVAILABLE}")
}

/// The text of `--help`.
pub(super) fn help(program: &str) -> String {
    format!(
        "sleepy-lua: a Lua 5.4 interpreter that collects garbage while it waits\n\n{}{MORE}",
        usage(program)
    )
}

/// What may have been meant by an unknown option.
pub(super) fn tip(option: &str) -> String {
    const NEAR: f64 = 0.8;
    let name = option.split('=').next().unwrap_or_default();
    let nearest = OPTIONS
        .iter()
        .map(|known| (strsim::jaro_winkler(name, known), known))
        .filter(|(similarity, _)| name.len() > 3 && *similarity > NEAR)
        .max_by(|(a, _), (b, _)| a.total_cmp(b));
    nearest.map_or(String::new(), |(_, known)| format!("; is '{known}' meant?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_in_the_help() {
        let help = help("lua");
        assert!(OPTIONS.iter().all(|option| help.contains(option)));
        assert!(help.lines().all(|line| line.len() <= 120));
    }

    #[test]
    fn tips() {
        assert_eq!(tip("--stat"), "; is '--stats' meant?");
        assert_eq!(tip("--memory_limit=3"), "; is '--memory-limit' meant?");
        assert_eq!(tip("--nosleepy"), "; is '--no-sleepy' meant?");
        assert_eq!(tip("--frobnicate"), "");
        assert_eq!(tip("-x"), "");
    }
}
