//! Each request for memory of a program fails once by itself, which a collection mends; and each is once the first after which none is
//! met: the program ends in Lua's error or succeeds, the state stays usable, and the heap is in order.
//!
//! Requests fail on purpose in debug builds only. `allocation_failure.rs` does the same by limits that rise.
#![cfg(debug_assertions)]

use interp_demo::runtime::{End, Options, Runtime};
use sleepy_gc::Shortage;

/// Scripts that make a few hundred requests of every kind, buffers outside of the heap among them. Each checks its own work, so that a
/// second attempt that repeats too much, or too little, shows.
const SCRIPTS: &[(&str, &str)] = &[
    (
        "tables",
        "local t = {} for i = 1, 20 do t[i] = { i, x = i, [i * 7.5] = true } end
         for i = 1, 20 do assert(t[i][1] == i and t[i].x == i and t[i][i * 7.5]) end
         table.insert(t, 1, 0) assert(#t == 21 and table.remove(t, 1) == 0) rawset(t, 'k', t) assert(next(t))",
    ),
    (
        "strings",
        "local t = {} for i = 1, 20 do t[i] = ('x'):rep(i * 20) .. i end
         assert(#table.concat(t, ',') == 4250, #table.concat(t, ','))
         local s = ('abc '):rep(10000) assert(#s:upper() == 40000 and #s:lower() == 40000 and #s:reverse() == 40000 and #s:sub(2) == 39999)
         assert(string.char(65, 66) == 'AB' and #utf8.char(228, 8364) == 5 and tostring(1.5) == '1.5')",
    ),
    (
        "closures",
        "local t = {} for i = 1, 40 do local x = i t[i] = function() x = x + 1 return function() return x end end end
         for i = 1, 40 do assert(t[i]()() == i + 1) end",
    ),
    (
        "coroutines",
        "local t = {} for i = 1, 10 do
             local c = coroutine.wrap(function(...) local n = select('#', ...) local a = coroutine.yield(n) return a, { a } end)
             assert(c(i, i) == 2) t[i] = c
         end
         for i = 1, 10 do assert(t[i](i) == i) end
         local c = coroutine.create(function() local x <close> = setmetatable({}, { __close = function() coroutine.yield() end }) coroutine.yield() end)
         coroutine.resume(c) assert(coroutine.close(c) ~= nil)",
    ),
    (
        "load",
        "local n = 0
         local f = assert(load(function() n = n + 1 return n <= 20 and ('local a' .. n .. ' = \"some text of piece ' .. n .. '\" ') or n == 21 and 'return a20' or nil end))
         assert(f() == 'some text of piece 20')
         assert(load('return function(x) return x .. \"!\" end'))()('a')
         local big = ('y'):rep(40000)
         assert(#assert(load(coroutine.wrap(function() coroutine.yield('return \"') coroutine.yield(big) coroutine.yield('\"') end)))() == 40000)",
    ),
    (
        "gsub",
        "local s = ('key=value '):rep(2500)
         assert(#s:gsub('%w+', '<%0%0>') == 2500 * 22)
         local n = 0 assert(#s:gsub('key', function(k) n = n + 1 return k .. k end) == 2500 * 13 and n == 2500)
         assert(#s:gsub('%w+', { key = 'k', value = 'v' }) == 2500 * 4)
         local m = 0 for a, b in s:sub(1, 100):gmatch('(%w+)=(%w+)') do m = m + #a + #b end assert(m == 80)
         assert(s:find('(v)(a)') == 5 and s:match('((.*))') == s)",
    ),
    (
        "format",
        "local s = ('x'):rep(20000)
         assert(#('%s %q %10d %5.1f %-20s'):format(s, s, 5, 2.5, 'a') == 20000 + 20002 + 10 + 5 + 20 + 4)
         local t = setmetatable({}, { __tostring = function() return s end }) assert(#('%s%s'):format(t, t) == 40000 and #tostring(t) == 20000)",
    ),
    (
        "concat",
        "local mt = {} mt.__concat = function(a, b) if type(a) == 'table' then a = a.n end if type(b) == 'table' then b = b.n end return a .. b end
         local v = setmetatable({ n = 'v' }, mt)
         for i = 1, 10 do
             local a, b, c = 'a' .. i, ('b'):rep(60) .. i, i
             assert(a .. b .. v .. c .. a == a .. (b .. ('v' .. (c .. a))))
             assert(v .. a .. b .. v == 'v' .. a .. b .. 'v')
             assert(a .. v .. b .. a .. b == a .. 'v' .. b .. a .. b)
             assert(c .. c .. c == tostring(c):rep(3))
         end",
    ),
    (
        "sort",
        "local t, u, v = {}, {}, {} for i = 1, 100 do t[i] = { (i * 7919) % 101 } u[i] = (i * 7919) % 101 v[i] = 'k' .. u[i] end
         table.sort(t, function(a, b) return a[1] < b[1] end) table.sort(u) table.sort(v)
         local p = setmetatable({}, { __index = function(_, i) return u[101 - i] end, __newindex = function(_, i, x) rawset(v, i, x) end, __len = function() return 100 end })
         for i = 1, 100 do assert(t[i][1] == i and u[i] == i) end table.sort(p) for i = 1, 100 do assert(v[i] == i) end",
    ),
    (
        "pack",
        "local s = ('z'):rep(20000)
         local p = string.pack('s4 z i8 d c10', s, s, 7, 1.5, 'ten') local a, b, c, d = string.unpack('s4 z i8 d c10', p) assert(a == s and b == s and c == 7 and d == 1.5)
         local t = table.pack(table.unpack({}, 1, 300)) assert(t.n == 300)",
    ),
    (
        "weak",
        "local kept, t, v = {}, setmetatable({}, { __mode = 'k' }), setmetatable({}, { __mode = 'v' })
         for i = 1, 40 do local k = {} kept[i] = k t[k] = { k } v[i] = k end
         for i = 1, 40 do assert(t[kept[i]][1] == kept[i] and v[i] == kept[i]) end",
    ),
    (
        "finalizers",
        // One that can't be called warns, and does not hold up the program.
        "local n = 0 for i = 1, 30 do setmetatable({ i }, { __gc = function(o) n = n + o[1] end }) end
         collectgarbage() collectgarbage() assert(n == 465 or lasting, n)",
    ),
    (
        "metamethods",
        "local mt = {} mt.__add = function(a, b) return setmetatable({ a[1] + b[1] }, mt) end mt.__index = function(t, k) return k .. '!' end
         mt.__call = function(t, ...) return select('#', ...) end mt.__len = function() return 7 end
         local s = setmetatable({ 0 }, mt) for i = 1, 30 do s = s + setmetatable({ i }, mt) end assert(s[1] == 465 and s.a == 'a!' and s(1, 2) == 2 and #s == 7)",
    ),
    (
        "move",
        "local t = {} for i = 1, 100 do t[i] = i end
         table.move(t, 1, 100, 50) for i = 50, 149 do assert(t[i] == i - 49) end
         local u = table.move(t, 1, 149, 10, {}) assert(u[158] == 100 and u[9] == nil)
         local n = 0 local p = setmetatable({}, { __index = function(_, i) n = n + 1 return 'v' .. i end })
         local w = table.move(p, 1, 100, 1, {}) for i = 1, 100 do assert(w[i] == 'v' .. i) end assert(n == 100, n)
         assert(#table.concat(setmetatable({}, { __index = p, __len = function() return 50 end })) == 141)",
    ),
    (
        "queue",
        "local q = require('queue').new() for i = 1, 100 do assert(q:push({ i })) end
         for i = 1, 100 do assert(q:pop()[1] == i) end assert(#q == 0)",
    ),
    (
        "socket",
        "local socket = require('socket') local server = assert(socket.bind('127.0.0.1', 0))
         local client = assert(socket.connect('127.0.0.1', (select(2, server:getsockname())))) local peer = assert(server:accept())
         local text = ('w'):rep(30000) assert(client:send(text .. '\\nline\\n')) assert(peer:receive('*l') == text and peer:receive('*l', 'a ') == 'a line')
         assert(client:send(text)) client:close() assert(peer:receive('*a') == text) peer:close() server:close()",
    ),
    (
        "dump",
        "local function f(a) local t = { 'a constant', 2.5, a } return function() return t end end
         assert(load(string.dump(f)))(5) assert(load(string.dump(f, true)))(5)",
    ),
    (
        "files",
        "local name = os.tmpname() local f = assert(io.open(name, 'w')) assert(f:write(('return 1 -- some text\\n'):rep(1), ('-'):rep(40000), '\\n')) f:close()
         f = assert(io.open(name)) assert(#f:read('l') == 21 and #f:read('a') == 40001) f:close()
         local n = 0 for l in io.lines(name) do n = n + #l end assert(n == 40021)
         assert(assert(loadfile(name))() == 1 and dofile(name) == 1) os.remove(name)",
    ),
    (
        "errors",
        "for i = 1, 5 do
             local ok, m = pcall(error, { ('x'):rep(100) .. i }) assert(not ok and #m[1] == 101)
             ok, m = xpcall(error, function(m) return m .. '?' end, 'z' .. i) assert(not ok and m == 'z' .. i .. '?')
         end
         local function f(n) local c <close> = setmetatable({}, { __close = function() end }) if n > 0 then f(n - 1) end return n end assert(f(60) == 60)",
    ),
];

/// Shows that the state can still be used.
const AFTERWARDS: &str = "local t = {}
    for i = 1, 10 do t[i] = { tostring(i), function() return i end } end
    assert(t[10][2]() == 10 and #table.concat({ 'a', 'b' }, ','):rep(3) == 9)
    assert(coroutine.wrap(function() return pcall(error, 'e') end)() == false)
    assert(load('return 1 + 1')() == 2)";

#[test]
fn a_single_request_may_fail() {
    fail_each(Shortage::Once);
}

#[test]
fn all_requests_from_one_on_may_fail() {
    fail_each(Shortage::Lasting);
}

fn fail_each(shortage: fn(u64) -> Shortage) {
    for (name, script) in SCRIPTS {
        let mut runtime = Runtime::new(Options {
            hash_seed: Some(1),
            ..Options::default()
        });
        let lasting = matches!(shortage(0), Shortage::Lasting(_));
        run(&mut runtime, &format!("lasting = {lasting}"), name);
        run(&mut runtime, script, name);
        run(&mut runtime, AFTERWARDS, name);
        let mut failed = Vec::new();
        let mut k = 0;
        loop {
            runtime.set_shortage(shortage(k));
            let end = runtime.do_string(script.as_bytes(), b"=script");
            let left = runtime.set_shortage(Shortage::Never);
            match end {
                End::Done => {}
                End::Failed(message) => {
                    let message = String::from_utf8_lossy(&message);
                    let message = message.lines().next().unwrap_or_default();
                    assert!(
                        message.contains("not enough memory"),
                        "{name} at {k}: {message}"
                    );
                    failed.push(k);
                }
                End::Exit { .. } => panic!("{name} has ended the program"),
            }
            run(&mut runtime, AFTERWARDS, name);
            assert_eq!(runtime.verify(), Ok(()), "{name} at {k}");
            // The request was not reached.
            if matches!(left, Shortage::Once(_)) || matches!(left, Shortage::Lasting(1..)) {
                break;
            }
            k += 1;
        }
        if !lasting {
            // After a collection there is another attempt.
            assert!(failed.is_empty(), "{name}: {failed:?}");
        }
        println!("{name}: {k} requests, {} runs failed", failed.len());
        runtime.close();
    }
}

fn run(runtime: &mut Runtime, source: &str, name: &str) {
    let end = runtime.do_string(source.as_bytes(), b"=afterwards");
    if let End::Failed(message) = &end {
        panic!("after {name}: {}", String::from_utf8_lossy(message));
    }
    assert_eq!(end, End::Done, "after {name}");
}
