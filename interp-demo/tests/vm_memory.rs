//! What the collector sees of the machine: weak tables, finalizers, barriers, limits.

mod common;

use std::time::{Duration, Instant};

use common::{check, run};
use interp_demo::runtime::{End, Options, Runtime};

#[test]
fn weak_tables_lose_what_is_dead_and_keep_the_rest() {
    check(
        "local keys = setmetatable({}, { __mode = 'k' })
         local values = setmetatable({}, { __mode = 'v' })
         local kept = {}
         for i = 1, 100 do keys[{}] = i; values[i] = {} end
         keys[kept] = 1; values.kept = kept; values.text = 'a string is a value'; keys.text = {}
         collectgarbage()
         local n = 0
         for k, v in pairs(keys) do n = n + 1; assert(k == kept or k == 'text') end
         assert(n == 2)
         assert(next(values) and values.kept == kept and values.text and not values[1])
         -- A chain of ephemerons holds as long as its beginning does.
         local first = {}
         local last = first
         for i = 1, 100 do local new = {}; keys[last] = new; last = new end
         last = nil
         collectgarbage()
         local object, count = first, 0
         while keys[object] do object = keys[object]; count = count + 1 end
         assert(count == 100)
         -- A weak table may become strong again.
         setmetatable(values, nil)
         values[1] = {}
         collectgarbage()
         assert(values[1] and values.kept == kept)",
    );
}

#[test]
fn a_key_removed_while_traversing_keeps_its_place() {
    check(
        "local t = {}
         for i = 1, 100 do t[{}] = i end
         local n = 0
         for k in pairs(t) do t[k] = nil; n = n + 1; k = nil; collectgarbage('step') end
         assert(n == 100 and next(t) == nil)",
    );
}

#[test]
fn finalizers_run_once_the_youngest_first() {
    check(
        "local log = {}
         for i = 1, 3 do setmetatable({}, { __gc = function() log[#log + 1] = i end }) end
         collectgarbage()
         assert(table.concat(log, ' ') == '3 2 1', table.concat(log, ' '))
         collectgarbage()
         assert(#log == 3)
         -- Resurrection, and a second registration.
         local mt = {}
         function mt.__gc(o) saved = o end
         setmetatable({ 'x' }, mt)
         collectgarbage()
         assert(saved[1] == 'x')
         setmetatable(saved, mt)
         saved = nil
         collectgarbage()
         assert(saved[1] == 'x')",
    );
}

#[test]
fn short_memory_is_an_error_that_a_program_survives() {
    let mut runtime = Runtime::new(Options {
        memory_limit_bytes: Some(8 << 20),
        ..Options::default()
    });
    run(
        &mut runtime,
        "local t = {}
         local ok, message = pcall(function() for i = 1, 1e8 do t[i] = { i } end end)
         assert(not ok and message == 'not enough memory', message)
         t = nil
         local ok, message = pcall(function() local s = 'x' while true do s = s .. s end end)
         assert(not ok and message == 'not enough memory', message)
         for i = 1, 100000 do local garbage = { i } end",
    );
}

#[test]
fn a_program_that_runs_too_long_is_stopped() {
    let mut runtime = Runtime::new(Options {
        time_limit: Some(Duration::from_millis(50)),
        ..Options::default()
    });
    let begun = Instant::now();
    let end = runtime.do_string(b"while true do end", b"=test");
    assert!(matches!(end, End::Failed(message) if message.starts_with(b"test:1: time limit")));
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[test]
fn finalizers_at_the_end_are_given_up_when_time_is_over() {
    let endless = "setmetatable({}, { __gc = function() while true do end end })";
    for then in ["", " while true do end"] {
        let mut runtime = Runtime::new(Options {
            time_limit: Some(Duration::from_millis(50)),
            ..Options::default()
        });
        runtime.do_string(format!("{endless}{then}").as_bytes(), b"=test");
        assert_eq!(runtime.close(), Some(1));
    }
}

#[test]
fn coroutines_for_which_there_is_no_memory_are_an_error() {
    let mut runtime = Runtime::new(Options {
        memory_limit_bytes: Some(4 << 20),
        ..Options::default()
    });
    run(
        &mut runtime,
        "local all = {}
         local ok, message = pcall(function()
             for i = 1, 1e6 do all[i] = coroutine.create(print) end
         end)
         assert(not ok and message == 'not enough memory', message)
         all = nil
         collectgarbage()
         assert(coroutine.wrap(function() return true end)())",
    );
    runtime.close();
}

#[test]
fn what_does_not_fit_is_tried_again_after_a_collection() {
    let mut runtime = Runtime::new(Options {
        memory_limit_bytes: Some(10 << 20),
        ..Options::default()
    });
    run(
        &mut runtime,
        "local function litter()
             local all = {}
             pcall(function() for i = 1, 1e7 do all[i] = ('x'):rep(i % 50) .. i end end)
         end
         litter()
         assert(#string.rep('x', 4e6) == 4e6)
         local parts = {}
         for i = 1, 40 do parts[i] = ('y'):rep(1e4) end
         litter()
         assert(#table.concat(parts, ('z'):rep(5e4)) == 40 * 1e4 + 39 * 5e4)
         parts = nil
         -- The collector stands still, so it is the growing table that finds the memory full.
         collectgarbage()
         collectgarbage('stop')
         for round = 1, 6 do
             local t = {}
             for i = 1, 131073 do t[i] = i end
             assert(#t == 131073 and t[131073] == 131073 and t[65536] == 65536)
         end
         collectgarbage('restart')
         -- What can't be had is still an error, each time.
         for _ = 1, 3 do
             local ok, message = pcall(string.rep, 'x', 1e8)
             assert(not ok and message == 'not enough memory')
             local ok, message = pcall(function()
                 local t = {}
                 for i = 1, 1e8 do t[i] = i end
             end)
             assert(not ok and message == 'not enough memory')
         end",
    );
    runtime.verify().unwrap_or_else(|fault| panic!("{fault}"));
    runtime.close();
}

#[test]
fn a_sparse_key_makes_no_huge_array() {
    check(
        "local before = collectgarbage('count')
         local t = { 1, 2, 3 }
         t[10000000] = {}
         assert(collectgarbage('count') - before < 10 and #t == 3 and t[10000000])",
    );
}
