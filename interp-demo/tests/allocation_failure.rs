//! Memory that runs out at any point of a program ends it with an error of Lua's, and leaves a state in which the next one runs.
//!
//! Each script runs under limits that rise from what the empty state needs, in steps that are small beside what a script allocates,
//! until it succeeds: so each allocation is once the first that fails. `SLEEPY_EVERY_K=1` makes the steps 16 times smaller.

use interp_demo::runtime::{End, Options, Runtime};

/// Scripts that allocate one to two megabytes of every kind of object.
const SCRIPTS: &[(&str, &str)] = &[
    (
        "tables",
        "local t = {} for i = 1, 4000 do t[i] = { i, x = i } end return #t",
    ),
    (
        "array",
        "local t = {} for i = 1, 40000 do t[i] = i end table.insert(t, 1, 0) return table.remove(t)",
    ),
    (
        "hash",
        "local t = {} for i = 1, 10000 do t[i * 7.5] = i; t['k' .. i] = i end return next(t)",
    ),
    (
        "strings",
        "local t = {} for i = 1, 100 do t[i] = ('x'):rep(i * 100) .. i end return #table.concat(t, ',')",
    ),
    (
        "concat",
        "local s = '' for i = 1, 300 do s = s .. 'some more text ' .. i end return #s",
    ),
    (
        "text",
        "local s = ('abc '):rep(20000) s = s:upper():reverse():gsub('A', '<%0>') return #s:lower():sub(2), s:format(), s:match('(.*)()(C.*)')",
    ),
    (
        "closures",
        "local t = {} for i = 1, 8000 do local x = i t[i] = function() x = x + 1 return x end end return t[#t]()",
    ),
    (
        "coroutines",
        "local t = {} for i = 1, 800 do local c = coroutine.wrap(function(...) local a = coroutine.yield(...) return a end) c(i) t[i] = c end return t[1](5)",
    ),
    (
        "stack",
        "local function f(n) if n == 0 then return 0 end return 1 + f(n - 1) end return f(12000)",
    ),
    (
        "varargs",
        "local function f(...) return select('#', ...), { ... }, table.pack(...) end return f(table.unpack({}, 1, 20000))",
    ),
    (
        "chunks",
        "local t = {} for i = 1, 60 do t[i] = assert(load('local a = \"some text of chunk ' .. i .. '\" return function(b) return a .. b, {} end'))() end return t[60]('x')",
    ),
    (
        "weak",
        "local t, kept = setmetatable({}, { __mode = 'k' }), {} for i = 1, 3000 do local k = {} t[k] = { k } kept[i] = k end return next(t)",
    ),
    (
        "finalizers",
        "local n = 0 for i = 1, 3000 do setmetatable({}, { __gc = function() n = n + 1 end }) end collectgarbage() return n",
    ),
    (
        "close",
        "local function f(n) local c <close> = setmetatable({}, { __close = function() end }) if n > 0 then f(n - 1) end return 1 end return f(3000)",
    ),
    (
        "sort",
        "local t = {} for i = 1, 10000 do t[i] = { (i * 7919) % 10007 } end table.sort(t, function(a, b) return a[1] < b[1] end) return t[1][1]",
    ),
    (
        "errors",
        "for i = 1, 300 do pcall(error, { ('x'):rep(1000) .. i }) pcall(error, ('y'):rep(2000) .. i, 1) xpcall(error, debug.traceback, 'z' .. i) end",
    ),
    (
        "iterators",
        "local n = 0 for a, b in ('key=value '):rep(2000):gmatch('(%w+)=(%w+)') do n = n + #a + #b end return n",
    ),
    (
        "metamethods",
        "local mt = {} mt.__add = function(a, b) return setmetatable({ a[1] + b[1] }, mt) end mt.__concat = function(a) return a end local s = setmetatable({ 0 }, mt) for i = 1, 4000 do s = s + setmetatable({ i }, mt) .. 'x' end return s[1]",
    ),
];

/// Steps of the limit, in bytes.
fn step_bytes() -> usize {
    let fine = std::env::var_os("SLEEPY_EVERY_K").is_some();
    if fine { 8 << 10 } else { 128 << 10 }
}

/// Shows that the state can still be used.
const AFTERWARDS: &str = "collectgarbage()
    local t = {}
    for i = 1, 100 do t[i] = { tostring(i), function() return i end } end
    assert(t[100][2]() == 100 and #table.concat({ 'a', 'b' }, ','):rep(3) == 9)
    assert(coroutine.wrap(function() return pcall(error, 'e') end)() == false)
    assert(load('return 1 + 1')() == 2)";

#[test]
fn memory_may_run_out_anywhere() {
    for (name, script) in SCRIPTS {
        let mut runtime = Runtime::new(Options {
            hash_seed: Some(1),
            ..Options::default()
        });
        run(&mut runtime, AFTERWARDS, name);
        let base = runtime.enter(|ctx| ctx.heap_bytes());
        let mut failures = 0;
        for step in 0.. {
            runtime.set_heap_limit(Some(base + step * step_bytes()));
            let end = runtime.do_string(script.as_bytes(), b"=script");
            runtime.set_heap_limit(None);
            match end {
                End::Done => {
                    run(&mut runtime, AFTERWARDS, name);
                    break;
                }
                End::Failed(message) => {
                    let message = String::from_utf8_lossy(&message);
                    assert!(message.contains("not enough memory"), "{name}: {message}");
                    failures += 1;
                }
                End::Exit { .. } => panic!("{name} has ended the program"),
            }
            run(&mut runtime, AFTERWARDS, name);
            assert_eq!(runtime.verify(), Ok(()), "{name} at {step}");
            assert!(step < 4096, "{name} does not succeed");
        }
        println!("{name}: {failures} failures");
        runtime.close();
    }
}

fn run(runtime: &mut Runtime, source: &str, name: &str) {
    let end = runtime.do_string(source.as_bytes(), b"=afterwards");
    assert_eq!(end, End::Done, "after {name}");
}
