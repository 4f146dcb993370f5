//! Nothing runs on for ever when its time is over: no loop, and no native.

use std::time::{Duration, Instant};

use interp_demo::runtime::{End, Options, Runtime};

/// So long may a program run.
const LIMIT: Duration = Duration::from_millis(100);
/// So long may it take to stop, on a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn endless_programs_are_stopped() {
    for program in [
        // Patterns that backtrack.
        "string.find(('a'):rep(3000), ('a*'):rep(30) .. 'b')",
        "string.match(('a'):rep(3000), ('a-'):rep(30) .. 'b')",
        "(('a'):rep(3000)):gsub(('a*'):rep(30) .. 'b', '')",
        "for x in (('a'):rep(3000)):gmatch(('a*'):rep(30) .. 'b') do end",
        "string.find(('a'):rep(1e7), '.-b')",
        "string.match(('('):rep(1e7), '%b()x')",
        "string.gsub(('a'):rep(1e8), '.', { a = 'b' })",
        // Lists that have no end.
        "table.move({}, 1, 1 << 60, 2)",
        "table.move({}, 1, 1 << 60, 2, setmetatable({}, { __newindex = function() end }))",
        "table.concat(setmetatable({}, { __index = function() return '' end }), '', 1, 1 << 40)",
        "table.insert(setmetatable({}, { __len = function() return 1 << 40 end }), 1, 1)",
        "table.remove(setmetatable({}, { __len = function() return 1 << 40 end }), 1)",
        "table.sort(setmetatable({}, { __len = function() return 1 << 30 end, __index = function() return 1 end }))",
        // Calls.
        "local function f() return f() end f()",
        "local function f(...) return f(...) end f(1, 2)",
        "local t = setmetatable({}, { __index = function(t, k) return k end }) while t.x do end",
        "while true do pcall(error) end",
        "local co = coroutine.wrap(function() while true do coroutine.yield() end end) while true do co() end",
        "local x <close> = setmetatable({}, { __close = function() while true do end end })",
        "error(setmetatable({}, { __tostring = function() while true do end end }))",
        "local function f(...) return f(1, ...) end f()",
        "local t = setmetatable({}, {}) getmetatable(t).__call = t t()",
        // Natives and operators that are done with a lot at once, in loops that are no work themselves.
        "local t = {} for i = 1, 1e6 do t[i] = (i * 7919) % 1000003 end while true do table.sort(t) end",
        "local s, md5 = ('x'):rep(1e8), require('md5') while true do md5.sum(s) end",
        "local s = ('x'):rep(1e8) while true do s:find('y', 1, true) end",
        "local s = ('x'):rep(1e8) while true do s:upper() end",
        "local s = ('x'):rep(1e8) while true do utf8.len(s) end",
        "local s = ('1'):rep(1e8) while true do tonumber(s) end",
        "local s = ('i4'):rep(1e7) while true do string.packsize(s) end",
        "local s, t = ('x'):rep(1e8), ('x'):rep(1e8) while true do local same = s == t end",
        "local s, t = ('x'):rep(1e8), ('x'):rep(1e8) while true do local less = s < t end",
        "local s = ('\\0'):rep(1e7) while true do local quoted = ('%q'):format(s) end",
        "local t = {} for i = 1, 1e6 do t[i] = i end for i = 1, 1e6 do t[i] = nil end while true do next(t) end",
        "local t = {} while true do table.unpack(t, 1, 9e5) end",
        "local t = {} for i = 1, 2e5 do t[i] = {} end while true do collectgarbage() end",
        "local s = 'return \"' .. ('x'):rep(5e7) .. '\"' while true do load(s) end",
        // Input.
        "io.open('/dev/zero'):read('a')",
        "for l in io.lines('/dev/zero', 1 << 20) do end",
        // Compiling.
        "load(('x = 1 '):rep(5e6))",
        "load('if x then ' .. ('elseif x then '):rep(5e6) .. 'end')",
        "load(('x = { '):rep(50) .. ('1, '):rep(1e7) .. '} ')",
        "load(function() return 'x = 1 ' end)",
        // Loops.
        "::again:: goto again",
        "for i = 1, 1 << 60 do end",
        "repeat until false",
    ] {
        let mut runtime = Runtime::new(Options {
            time_limit: Some(LIMIT),
            memory_limit_bytes: Some(2 << 30),
            ..Options::default()
        });
        let begun = Instant::now();
        match runtime.do_string(program.as_bytes(), b"=test") {
            End::Failed(message) => {
                let message = String::from_utf8_lossy(&message);
                assert!(
                    message.contains("time limit exceeded"),
                    "{program}: {message}"
                );
            }
            end => panic!("{program}: {end:?}"),
        }
        assert!(begun.elapsed() < PATIENCE, "{program}");
        runtime.close();
    }
}

#[test]
fn nothing_repeated_for_ever_is_nothing() {
    let mut runtime = Runtime::new(Options::default());
    let end = runtime.do_string(
        b"assert((''):rep(1 << 40) == '' and (''):rep(1 << 40, '') == '')
          assert(('ab'):rep(3, ',') == 'ab,ab,ab' and ('ab'):rep(1, ',') == 'ab' and ('a'):rep(4) == 'aaaa')
          assert((''):rep(4, '-') == '---' and ('abc'):rep(5) == 'abcabcabcabcabc')",
        b"=test",
    );
    assert_eq!(end, End::Done);
}
