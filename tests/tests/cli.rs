//! The command line of `sleepy-lua`: that of `lua`, and what is its own.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use sleepy_tests::program::{Finished, finish, run, sleepy_lua};

/// Runs the program with these words in an empty environment.
fn lua(words: &[&str]) -> Finished {
    run(&mut command(words))
}

fn command(words: &[&str]) -> Command {
    let mut command = Command::new(sleepy_lua());
    command.args(words).env_clear();
    command
}

/// Runs it with a text on standard input.
fn lua_reading(words: &[&str], input: &str) -> Finished {
    let mut child = command(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    // It may end before it has read all.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    finish(child)
}

#[track_caller]
fn prints(words: &[&str], output: &str) {
    let end = lua(words);
    assert_eq!(
        (end.code, end.stdout.as_str(), end.stderr.as_str()),
        (Some(0), output, ""),
        "{words:?}"
    );
}

#[track_caller]
fn fails(words: &[&str], message: &str) {
    let end = lua(words);
    assert_eq!(end.code, Some(1), "{words:?}\n{}", end.stderr);
    assert!(end.stderr.contains(message), "{words:?}\n{}", end.stderr);
}

/// A script in a folder of its own.
fn script(text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("script.lua");
    std::fs::write(&path, text).expect("it can be written");
    let name = path.to_str().expect("a name").to_owned();
    (folder, name)
}

#[test]
fn statements_and_libraries() {
    prints(&["-e", "print(1 + 1)"], "2\n");
    prints(&["-eprint(1)", "-e", "x = 2", "-e", "print(x)"], "1\n2\n");
    let (folder, _) = script("");
    std::fs::write(folder.path().join("mod.lua"), "return {v = ...}").expect("it can be written");
    let path = format!("package.path = '{}/?.lua'", folder.path().display());
    prints(&["-e", &path, "-l", "mod", "-e", "print(mod.v)"], "mod\n");
    prints(
        &["-e", &path, "-lm=mod", "-e", "print(m.v, mod)"],
        "mod\tnil\n",
    );
    prints(
        &["-l", "string", "-e", "print(string == require 'string')"],
        "true\n",
    );
    fails(
        &["-l", "no_such_module"],
        "module 'no_such_module' not found",
    );
    fails(
        &["-e", "x ="],
        "(command line):1: unexpected symbol near <eof>",
    );
    fails(
        &["-e", "error 'x'", "-e", "print 'not run'"],
        "(command line):1: x\nstack traceback:\n",
    );
}

#[test]
fn the_script_and_its_arguments() {
    let (_folder, name) = script(
        "#!/usr/bin/env sleepy-lua\nprint(...) print(#arg, arg[0], arg[1], arg[-1], arg[-2], arg[-3])",
    );
    prints(
        &[&name, "-e", "--stats"],
        &format!(
            "-e\t--stats\n2\t{name}\t-e\t{}\tnil\tnil\n",
            sleepy_lua().display()
        ),
    );
    let program = sleepy_lua().display().to_string();
    prints(
        &["-W", "--", &name],
        &format!("\n0\t{name}\tnil\t--\t-W\t{program}\n"),
    );
    let (_folder, name) = script("#first line\nerror 'line 2'");
    fails(&[&name], "script.lua:2: line 2\nstack traceback:\n");
    let (_folder, name) = script("\u{feff}# first line\nprint 'ok'");
    prints(&[&name], "ok\n");
    prints(
        &["-e", "print(arg[0] == arg[-0], arg[1], ...)"],
        "true\t-e\n",
    );
}

#[test]
fn standard_input_as_script() {
    let end = lua_reading(&["-", "a", "b"], "print(arg[0], ...)");
    assert_eq!((end.code, end.stdout.as_str()), (Some(0), "-\ta\tb\n"));
    assert_eq!(lua_reading(&["--"], "print(...)").stdout, "\n");
    let end = lua_reading(&[], "print 'read'\nerror 'in'");
    assert_eq!((end.code, end.stdout.as_str()), (Some(1), "read\n"));
    assert!(end.stderr.contains("stdin:2: in"), "{}", end.stderr);
}

#[test]
fn errors() {
    fails(
        &["no/such/file.lua"],
        "cannot open no/such/file.lua: No such file or directory",
    );
    fails(&["-x"], ": unrecognized option '-x'\nusage: ");
    fails(
        &["--time_limit=1"],
        ": unrecognized option '--time_limit=1'; is '--time-limit' meant?\nusage: ",
    );
    fails(&["-e"], ": '-e' needs argument\nusage: ");
    fails(&["--memory-limit"], ": '--memory-limit' needs argument\n");
    fails(
        &["--no-sleepy=1"],
        ": '--no-sleepy' takes no argument\nusage: ",
    );
    let help = lua(&["--help"]);
    assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""));
    assert!(help.stdout.contains("--memory-limit BYTES"));
    fails(&["."], "cannot read .: Is a directory");
    let (_folder, name) = script("");
    fails(&["-e", "arg = nil", &name], "'arg' is not a table");
    fails(
        &["--time-limit", "-1", "-e", ""],
        "expected a number of seconds",
    );
    fails(&["--memory-limit=much", "-e", ""], "much");
    fails(
        &["--stats=json:/no/such/file", "-e", "print 'not run'"],
        "/no/such/file",
    );
    let (_folder, name) = script("x = = 1");
    let end = lua(&[&name]);
    let expected = format!(
        "{}: {name}:1: unexpected symbol near '='\n",
        sleepy_lua().display()
    );
    assert_eq!((end.code, end.stderr), (Some(1), expected));
    let (_folder, name) = script("local function f() error 'deep' end\nf()");
    fails(
        &[&name],
        "script.lua:1: deep\nstack traceback:\n\t[C]: in function 'error'\n",
    );
    fails(&["-e", "error {}"], "(error object is a table value)");
    fails(
        &[
            "-e",
            "error(setmetatable({}, {__tostring = function() return 'shown' end}))",
        ],
        ": shown\n",
    );
    fails(&["-e", "error()"], "(error object is a nil value)");
    let end = lua(&["."]);
    assert_eq!(end.code, Some(1), "{}", end.stderr);
}

#[test]
fn exit_codes() {
    for (code, status) in [
        ("os.exit()", 0),
        ("os.exit(true)", 0),
        ("os.exit(false)", 1),
        ("os.exit(7)", 7),
    ] {
        assert_eq!(
            lua(&["-e", code, "-e", "print 'not run'"]).code,
            Some(status),
            "{code}"
        );
    }
    let end = lua(&[
        "-e",
        "local x <close> = setmetatable({}, {__close = print}) io.write 'out' os.exit(3, true)",
    ]);
    assert_eq!(end.code, Some(3));
    assert!(end.stdout.starts_with("outtable:"), "{}", end.stdout);
    let nested = "local x <close> = setmetatable({}, {__close = function() os.exit(5, true) end}) os.exit(2, true)";
    assert_eq!(lua(&["-e", nested]).code, Some(5));
    let end = lua(&[
        "-e",
        "setmetatable({}, {__gc = function() print 'finalized' end})",
    ]);
    assert_eq!((end.code, end.stdout.as_str()), (Some(0), "finalized\n"));
}

#[test]
fn environment() {
    let with = |variables: &[(&str, &str)], words: &[&str]| {
        run(command(words).envs(variables.iter().copied()))
    };
    let end = with(&[("LUA_INIT", "x = 5")], &["-e", "print(x)"]);
    assert_eq!(end.stdout, "5\n");
    let end = with(
        &[("LUA_INIT", "x = 5"), ("LUA_INIT_5_4", "x = 6")],
        &["-e", "print(x)"],
    );
    assert_eq!(end.stdout, "6\n");
    let end = with(&[("LUA_INIT", "x = 5")], &["-E", "-e", "print(x)"]);
    assert_eq!(end.stdout, "nil\n");
    let (_folder, name) = script("x = 'file'");
    let end = with(&[("LUA_INIT", &format!("@{name}"))], &["-e", "print(x)"]);
    assert_eq!(end.stdout, "file\n");
    let (_folder, name) = script("print(...)");
    let end = with(&[("LUA_INIT", &format!("@{name}"))], &["-e", "print(2)"]);
    assert_eq!(end.stdout, "\n2\n");
    let end = with(&[("LUA_INIT", "error 'init'")], &["-e", "print(x)"]);
    assert_eq!((end.code, end.stdout.as_str()), (Some(1), ""));
    assert!(end.stderr.contains("LUA_INIT:1: init"), "{}", end.stderr);
    let end = with(
        &[("LUA_PATH", "here;;")],
        &["-e", "print(package.path:sub(1, 5))"],
    );
    assert_eq!(end.stdout, "here;\n");
    let end = with(
        &[("LUA_PATH", "here")],
        &["-E", "-e", "print(package.path == 'here')"],
    );
    assert_eq!(end.stdout, "false\n");
}

#[test]
fn version_and_warnings() {
    let end = lua(&["-v"]);
    assert!(
        end.code == Some(0) && end.stdout.contains("Lua 5.4"),
        "{}",
        end.stdout
    );
    let end = lua(&["-v", "-e", "print(_VERSION)"]);
    assert!(end.stdout.ends_with("\nLua 5.4\n"), "{}", end.stdout);
    assert_eq!(
        lua(&["-W", "-e", "warn('a', 'b')"]).stderr,
        "Lua warning: ab\n"
    );
    assert_eq!(lua(&["-e", "warn('a')"]).stderr, "");
    assert_eq!(
        lua(&["-e", "warn('@on') warn('a')"]).stderr,
        "Lua warning: a\n"
    );
}

#[test]
fn interactive_mode() {
    let end = lua_reading(
        &["-i"],
        "x = 20\n=x\nx + 1, 'two'\nfor i = 1, 2 do\nprint(i)\nend\nerror 'oops'\nx y\n_PROMPT = '* '\n",
    );
    assert_eq!(end.code, Some(0));
    let (_, session) = end.stdout.split_once('\n').expect("the version");
    assert_eq!(session, "> > 20\n> 21\ttwo\n> >> >> 1\n2\n> > > * \n");
    assert!(
        end.stderr.starts_with("stdin:1: oops\nstack traceback:"),
        "{}",
        end.stderr
    );
    assert!(
        end.stderr.ends_with("stdin:1: syntax error near 'y'\n"),
        "{}",
        end.stderr
    );
    let end = lua_reading(&["-i", "-e", "a = 1"], "print(a)\nos.exit(4)\n");
    assert!(
        end.code == Some(4) && end.stdout.ends_with("> 1\n> "),
        "{}",
        end.stdout
    );
    let end = lua_reading(&["-i"], "io.read()\nthe next line\n=1");
    assert!(
        end.stdout.ends_with("> the next line\n> 1\n> \n"),
        "{}",
        end.stdout
    );
    let end = lua_reading(&["-i"], "x = [[a\nb]] print(x)\nx =");
    assert!(
        end.stdout.ends_with("> >> a\nb\n> >> > \n"),
        "{}",
        end.stdout
    );
}

#[test]
fn nobody_reads_the_output() {
    let mut child = Command::new(sleepy_lua())
        .args(["-e", "while true do print(string.rep('x', 1000)) end"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    drop(child.stdout.take());
    let end = finish(child);
    assert_ne!(end.code, Some(0));
    assert_eq!(end.stderr, "");
}

#[test]
fn own_options() {
    let stats = |words: &[&str]| lua(words).stderr;
    let json: serde_json::Value =
        serde_json::from_str(&stats(&["--stats=json", "-e", "collectgarbage()"]))
            .expect("a line of JSON");
    assert!(json["cycles"].as_u64() >= Some(1), "{json}");
    assert!(stats(&["--stats", "-e", ""]).contains("cycles"));
    let (folder, _) = script("");
    let file = |name: &str| {
        folder
            .path()
            .join(name)
            .to_str()
            .expect("a name")
            .to_owned()
    };
    for (code, name) in [("", "end"), ("os.exit(2)", "exit"), ("error 'x'", "error")] {
        let path = file(name);
        lua(&[
            &format!("--stats=json:{path}"),
            &format!("--gc-trace=json:{path}.trace"),
            "-e",
            code,
        ]);
        let text = std::fs::read_to_string(&path).expect("the figures");
        assert!(
            serde_json::from_str::<serde_json::Value>(&text).is_ok(),
            "{name}: {text}"
        );
        assert!(Path::new(&format!("{path}.trace")).exists(), "{name}");
    }
    prints(
        &[
            "--no-sleepy",
            "--no-scavenger",
            "--zeal=1",
            "-e",
            "print(#{1, 2, 3})",
        ],
        "3\n",
    );
    fails(
        &["--time-limit=0.2", "-e", "while true do end"],
        "time limit",
    );
    fails(
        &[
            "--memory-limit=8M",
            "-e",
            "local t = {} for i = 1, 1e9 do t[i] = {} end",
        ],
        "not enough memory",
    );
    prints(
        &[
            "--memory-limit=8M",
            "-e",
            "print(pcall(function() local t = {} for i = 1, 1e9 do t[i] = {} end end)) print(#('x'):rep(1000))",
        ],
        "false\tnot enough memory\n1000\n",
    );
}

/// Interrupts a program once it has printed a line, and gives the next line and its end.
fn interrupted(code: &str) -> (Option<String>, Finished) {
    let mut child = command(&["-e", code])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut next = || lines.next().map(|line| line.expect("it can be read"));
    assert_eq!(next().as_deref(), Some("begun"));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
    (next(), finish(child))
}

#[test]
fn a_printed_line_can_be_read_at_once_and_ctrl_c_stops_a_loop() {
    let (line, end) = interrupted("print 'begun' while true do end");
    assert_eq!((line, end.code), (None, Some(1)));
    let expected =
        ": interrupted!\nstack traceback:\n\t(command line):1: in main chunk\n\t[C]: in ?\n";
    assert!(end.stderr.ends_with(expected), "{}", end.stderr);
    let (line, end) =
        interrupted("print(pcall(function() print 'begun' while true do end end)) os.exit(3)");
    assert_eq!(line.as_deref(), Some("false\tinterrupted!"));
    assert_eq!(end.code, Some(3));
}

/// The pause of `collectgarbage` decides how often the collector runs.
#[test]
fn a_program_sets_the_pace() {
    let code = "
        local keep = {}
        for i = 1, 2e4 do keep[i] = {} end
        local function cycles(pause)
            collectgarbage('incremental', pause)
            collectgarbage()
            local before = gc.stats().cycles
            for i = 1, 3e5 do local t = {} end
            return gc.stats().cycles - before
        end
        print(cycles(110) > 3 * cycles(400), cycles(1000) <= cycles(400))";
    prints(&["-e", code], "true\ttrue\n");
}

#[test]
fn a_script_called_compare() {
    let (folder, name) = script("print(arg[0], ...)");
    std::fs::rename(&name, folder.path().join("compare")).expect("it can be renamed");
    let end = run(command(&["./compare", "a"]).current_dir(folder.path()));
    assert_eq!(end.stdout, "./compare\ta\n");
    assert!(lua(&["compare", "--help"]).stdout.contains("compare"));
}
