//! Threads that share a state, run by the interpreter itself: each script of `lua/threads/` checks itself. What concerns the whole
//! process (signals, limits, exits) is looked at from outside.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn sleepy_lua() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sleepy-lua"));
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// The output of a program that ends within a minute.
fn output(mut child: Child) -> Output {
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("it hangs: {:?}", child.wait_with_output());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.wait_with_output().unwrap()
}

fn run(options: &[&str]) -> Output {
    output(sleepy_lua().args(options).spawn().unwrap())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn script(name: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/lua/threads")
        .join(name);
    let path = path.to_str().unwrap();
    for options in [&[path][..], &["--no-sleepy", path], &["--zeal=50", path]] {
        let ended = run(options);
        assert!(
            ended.status.success() && ended.stdout == b"ok\n",
            "{options:?}: {:?}\n{}{}",
            ended.status,
            text(&ended.stdout),
            text(&ended.stderr)
        );
    }
}

#[test]
fn threads() {
    script("thread.lua");
}

#[test]
fn queues() {
    script("queue.lua");
}

#[test]
fn locks_and_semaphores() {
    script("lock.lua");
}

#[test]
fn timers() {
    script("timer.lua");
}

#[test]
fn sockets_and_processes() {
    script("sockets.lua");
}

#[test]
fn finalizers() {
    script("finalizer.lua");
}

#[test]
fn nobody_keeps_the_interpreter_lock() {
    script("fair.lua");
}

#[test]
fn a_storm_of_200_threads() {
    script("storm.lua");
}

/// Starts a program, and waits until it has printed a line.
fn started(options: &[&str]) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut child = sleepy_lua().args(options).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    (child, out)
}

fn signal(child: &Child, number: i32) {
    let pid = i32::try_from(child.id()).unwrap();
    // SAFETY: a call without preconditions; the child was not waited for, so its number is its own.
    assert_eq!(unsafe { libc::kill(pid, number) }, 0);
}

/// The main thread waits in one way, while others compute and wait.
const BUSY: &str = "
    local thread, queue, lock, socket = require 'thread', require 'queue', require 'lock', require 'socket'
    io.stdout:setvbuf('no')
    anchor = setmetatable({}, { __gc = function() print('finalized') end })
    local kept <close> = setmetatable({}, { __close = function() print('closed') end })
    local q, l = queue.new(), lock.new()
    l:get()
    local spinner = thread.spawn(function() while true do end end)
    local maker = thread.spawn(function() while true do local x = { {} } end end)
    for i = 1, 5 do thread.spawn(function() q:pop() end) thread.spawn(function() l:get() end) end
    thread.spawn(function() socket.bind('127.0.0.1', 0):accept() end)
    print('ready')
";

const WAITS: [&str; 5] = [
    "q:pop()",
    "spinner:join()",
    "thread.sleep(100)",
    "socket.bind('127.0.0.1', 0):accept()",
    "while true do end",
];

#[test]
fn an_interrupt_stops_the_main_thread_wherever_it_is() {
    for wait in WAITS {
        let (child, mut out) = started(&["-e", &format!("{BUSY}{wait}")]);
        std::thread::sleep(Duration::from_millis(20));
        signal(&child, libc::SIGINT);
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        let ended = output(child);
        let err = text(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "{wait}: {err}");
        assert!(
            err.contains("interrupted!") && err.contains("traceback"),
            "{wait}: {err}"
        );
        assert_eq!(rest, "closed\nfinalized\n", "{wait}");
    }
}

#[test]
fn a_terminated_program_is_closed_and_ends_by_the_signal() {
    for wait in WAITS {
        let (child, mut out) = started(&["-e", &format!("{BUSY}{wait}")]);
        std::thread::sleep(Duration::from_millis(20));
        signal(&child, libc::SIGTERM);
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        let ended = output(child);
        let err = text(&ended.stderr);
        assert_eq!(ended.status.signal(), Some(libc::SIGTERM), "{wait}: {err}");
        assert!(err.contains("terminated!"), "{wait}: {err}");
        assert_eq!(rest, "closed\nfinalized\n", "{wait}");
    }
}

#[test]
fn the_time_limit_and_the_end_of_the_script_end_all_threads() {
    for wait in WAITS {
        let ended = run(&["--time-limit", "0.2", "-e", &format!("{BUSY}{wait}")]);
        let err = text(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "{wait}: {err}");
        assert!(err.contains("time limit exceeded"), "{wait}: {err}");
    }
    let ended = run(&["-e", BUSY]);
    assert!(ended.status.success());
    assert_eq!(text(&ended.stdout), "ready\nclosed\nfinalized\n");
    assert_eq!(text(&ended.stderr), "");
}

/// A wait of a finalizer that runs when the main program has ended, and what comes of it. `t` and `u` wait for ever; `u` runs a
/// finalizer.
const LAST_WAITS: [(&str, &str); 6] = [
    ("print(t:join())", "false\tthe program ends\n"),
    ("print(u:join())", "false\tthe program ends\n"),
    ("t:join() print(t:status())", "failed\n"),
    ("q:pop()", ""),
    ("print(pcall(q.pop, q))", "false\tdeadlock: "),
    ("print(select(2, q:pop(0.01)))", "timeout\n"),
];

#[test]
fn what_runs_after_the_main_program_waits_for_no_thread_in_vain() {
    for (wait, told) in LAST_WAITS {
        let close = "local c <close> = setmetatable({}, { __close = function() t:join() end }) os.exit(0, true)";
        for exit in ["", close, "error('failed')"] {
            let ended = run(&[
                "-e",
                &format!(
                    "local thread, queue = require 'thread', require 'queue'
                     local q, r = queue.new(), queue.new()
                     local t = thread.spawn(function() q:pop() end)
                     local u = thread.spawn(function()
                       setmetatable({{}}, {{ __gc = function() r:push(1) q:pop() end }})
                       collectgarbage()
                     end)
                     r:pop()
                     for i = 1, 3 do
                       last = setmetatable({{ last }}, {{ __gc = function()
                         if i == 1 then t:join() end
                         {wait}
                       end }})
                     end
                     {exit}"
                ),
            ]);
            let (out, err) = (text(&ended.stdout), text(&ended.stderr));
            assert_eq!(ended.status.success(), !exit.starts_with("error"), "{err}");
            let is_told = told.is_empty() || out.matches(told).count() == 3;
            assert!(is_told, "{wait}: {out}{err}");
        }
    }
}

#[test]
fn what_was_handed_over_is_taken_before_an_interrupt() {
    // The first thread is interrupted while the other one runs, which then ends its wait.
    for (wait, ring) in [
        ("l:get()", "l:release()"),
        ("s:take(2)", "s:give(2)"),
        ("q:pop()", "q:push(1)"),
    ] {
        let ended = run(&[
            "-e",
            &format!(
                "local thread, queue, lock = require 'thread', require 'queue', require 'lock'
                 local q, l, s = queue.new(), lock.new(), require 'semaphore'.new(5)
                 local inside
                 local t = thread.spawn(function()
                   l:get()
                   inside = true
                   thread.sleep(0.01)
                   io.popen('kill -INT $PPID')
                   string.find(('a'):rep(150), ('.-'):rep(4) .. 'b')
                   {ring}
                   string.find(('a'):rep(100), ('.-'):rep(4) .. 'b')
                 end)
                 while not inside do thread.yield() end
                 local got
                 local ok, e = pcall(function() {wait} got = true while true do end end)
                 assert(not ok and e:find 'interrupted', e)
                 assert(got)
                 print(s:get_count(), q:get_size())"
            ),
        ]);
        let (out, err) = (text(&ended.stdout), text(&ended.stderr));
        assert_eq!(out, "0\t0\n", "{wait}: {err}");
    }
}

#[test]
fn a_process_can_be_waited_for_after_an_interrupt() {
    for others in [0, 3] {
        let (child, mut out) = started(&[
            "-e",
            &format!(
                "local thread, process = require 'thread', require 'process'
                 io.stdout:setvbuf('no')
                 local p = process.spawn('cat', {{ stdio = {{ stdin = 'pipe' }} }})
                 local ts = {{}}
                 for i = 1, {others} do ts[i] = thread.spawn(function() return p:wait() end) end
                 print('ready')
                 local ok, e = pcall(p.wait, p)
                 assert(not ok and e:find 'interrupted', e)
                 assert(select(2, p:wait(0.01)) == 'timeout')
                 p.stdin:close()
                 for i = 1, {others} do assert(select(4, ts[i]:join()) == 0) end
                 assert(select(3, p:wait()) == 0)
                 print('ok')"
            ),
        ]);
        std::thread::sleep(Duration::from_millis(20));
        signal(&child, libc::SIGINT);
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "ok\n", "{}", text(&output(child).stderr));
    }
}

#[test]
fn timers_are_called_again_after_a_lack_of_memory() {
    let ended = run(&[
        "--memory-limit",
        "8M",
        "-e",
        "local timer, queue = require 'timer', require 'queue'
         local q, kept = queue.new(), {}
         local function fill(bytes)
           while pcall(function() kept = { kept, ('x'):rep(bytes) .. tostring(kept) } end) do end
         end
         local function crowd(bytes)
           fill(bytes)
           for i = 1, 20 do
             pcall(timer.new, { delay = 0, recurring = true, callback = function(self) self:cancel() end })
           end
         end
         pcall(function()
           for _, bytes in ipairs { 100000, 10000, 1000, 100 } do pcall(crowd, bytes) end
         end)
         kept = nil
         collectgarbage()
         timer.new { delay = 0.001, callback = function() q:push 'called' end }
         print(q:pop(30))",
    ]);
    let (out, err) = (text(&ended.stdout), text(&ended.stderr));
    assert_eq!(out, "called\n", "{err}");
}

#[test]
fn a_timer_without_a_thread_is_not_armed() {
    let program = "local thread, timer, queue = require 'thread', require 'timer', require 'queue'
         local q = queue.new()
         local t = timer.new { delay = 0, callback = function() q:push 'called' end }
         assert(q:pop())
         local ok, why, number
         repeat
           -- The thread of the timers ends when there is none.
           t:cancel()
           thread.sleep(0.001)
           local hoard = {}
           while true do
             local file = io.open '/dev/null'
             if not file then break end
             hoard[#hoard + 1] = file
           end
           ok, why, number = t:arm(1000)
           for _, file in ipairs(hoard) do file:close() end
         until not ok
         assert(why:find 'cannot start a thread' and number == 24, why)
         assert(not t:is_armed() and select(2, t:cancel()) == 'not armed')
         assert(t:arm(0) == t)
         print(q:pop(30))";
    let child = Command::new("sh")
        .args(["-c", "ulimit -n 30; exec \"$0\" -e \"$1\""])
        .args([env!("CARGO_BIN_EXE_sleepy-lua"), program])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let ended = output(child.unwrap());
    assert_eq!(text(&ended.stdout), "called\n", "{}", text(&ended.stderr));
}

#[test]
fn any_thread_may_end_the_process() {
    for wait in WAITS {
        for (exit, code, closes) in [("os.exit(7)", 7, false), ("os.exit(8, true)", 8, true)] {
            let ended = run(&[
                "-e",
                &format!("{BUSY} thread.spawn(function() thread.sleep(0.01) {exit} end) {wait}"),
            ]);
            let err = text(&ended.stderr);
            assert_eq!(ended.status.code(), Some(code), "{wait}: {err}");
            let out = text(&ended.stdout);
            assert_eq!(out.contains("finalized"), closes, "{wait}: {out}");
            assert_eq!(err, "", "{wait}");
        }
    }
    // Where the main thread can't be reached the process ends all the same.
    let ended = run(&[
        "-e",
        "require 'thread'.spawn(function() io.write('out') os.exit(9) end) os.execute('sleep 5 >/dev/null 2>&1')",
    ]);
    assert_eq!(ended.status.code(), Some(9));
    assert_eq!(text(&ended.stdout), "out");
}

#[test]
fn an_error_that_nobody_waits_for_is_shown_and_the_others_go_on() {
    let ended = run(&[
        "-e",
        "local thread = require 'thread'
         local function fails() error('oops') end
         local t = thread.spawn(function() fails() end)
         while t:status() ~= 'failed' do thread.sleep(0.001) end
         print(t:join())
         thread.spawn(error, {})
         thread.sleep(0.01)
         print('on')",
    ]);
    let (out, err) = (text(&ended.stdout), text(&ended.stderr));
    assert!(ended.status.success());
    assert_eq!(out, "false\t(command line):2: oops\non\n");
    assert!(err.starts_with("error in thread 1: (command line):2: oops\nstack traceback:\n"));
    assert!(err.contains("in upvalue 'fails'"), "{err}");
    assert!(
        err.contains("error in thread 2: (error object is a table value)"),
        "{err}"
    );
}

#[test]
fn the_memory_limit_is_told_to_the_thread_that_wants_more() {
    let ended = run(&[
        "--memory-limit",
        "16M",
        "-e",
        "local thread = require 'thread'
         local t = thread.spawn(function() local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end end)
         local ok, e = t:join()
         print(ok, e)
         collectgarbage()
         print(collectgarbage('count') < 4096)",
    ]);
    assert_eq!(
        text(&ended.stdout),
        "false\tnot enough memory\ntrue\n",
        "{}",
        text(&ended.stderr)
    );
}

#[test]
fn a_thread_that_waits_for_ever_collects_what_others_leave() {
    // Two threads wait without end; a third makes garbage and ends, and nobody asks for a collection.
    let ended = run(&[
        "-e",
        "local thread, queue = require 'thread', require 'queue'
         local q = queue.new()
         for i = 1, 2 do thread.spawn(function() q:pop() end) end
         for round = 1, 5 do
           assert(thread.spawn(function() for i = 1, 50000 do local x = { i } end end):join())
           local begun = os.time()
           while gc.stats().heap_bytes > 1e6 and os.time() - begun < 20 do thread.sleep(0.02) end
           assert(gc.stats().heap_bytes < 1e6, gc.stats().heap_bytes)
         end
         print('ok')",
    ]);
    assert_eq!(text(&ended.stdout), "ok\n", "{}", text(&ended.stderr));
}

#[test]
fn stops_and_starts_disturb_no_wait() {
    let (mut child, mut out) = started(&[
        "-e",
        "local thread, queue, socket = require 'thread', require 'queue', require 'socket'
         io.stdout:setvbuf('no')
         print('ready')
         local q, ts = queue.new(), {}
         for i = 1, 10 do
           ts[i] = thread.spawn(function()
             thread.sleep(0.3)
             assert(select(2, q:pop(0.1)) == 'timeout')
             assert(select(2, socket.bind('127.0.0.1', 0)) == nil)
             local p = io.popen('sleep 0.1; echo done')
             return p:read()
           end)
         end
         for i = 1, 10 do assert(select(2, assert(ts[i]:join())) == 'done') end
         print('ok')",
    ]);
    for _ in 0..200 {
        if child.try_wait().unwrap().is_some() {
            break;
        }
        signal(&child, libc::SIGSTOP);
        signal(&child, libc::SIGCONT);
        signal(&child, libc::SIGWINCH);
        std::thread::sleep(Duration::from_millis(2));
    }
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "ok\n", "{}", text(&output(child).stderr));
}
