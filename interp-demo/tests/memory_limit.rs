//! Whatever asks for memory: under `--memory-limit` it gets Lua's error, a protected call catches that, and the program goes on.

mod common;

const LIMIT_BYTES: usize = 20 << 20;

/// A program under a limit.
fn run(source: &str) {
    common::check_within(LIMIT_BYTES, source);
}

#[test]
fn whatever_asks_for_too_much_is_told() {
    for program in [
        "local t = {} for i = 1, 1e9 do t[i] = i end",
        "local t = {} for i = 1, 1e9 do t[i] = {} end",
        "local t = {} for i = 1, 1e9 do t['k' .. i] = i end",
        "local t = {} for i = 1, 1e9 do t = { t } end",
        "local t = {} for i = 1, 1e9 do rawset(t, i, i) end",
        "local t = {} for i = 1, 1e9 do table.insert(t, i) end",
        "table.move(setmetatable({}, { __index = function() return 1 end }), 1, 1e9, 1, {})",
        "local s = 'x' while true do s = s .. s end",
        "local t = {} for i = 1, 1e9 do t[i] = i .. ' some text that is too long to be kept only once' end",
        "local t = {} for i = 1, 1e9 do t[i] = function() return i end end",
        "local t = {} for i = 1, 1e9 do t[i] = coroutine.create(print) end",
        "local t = {} for i = 1, 1e9 do local c = coroutine.wrap(coroutine.yield) c() t[i] = c end",
        "local t = {} for i = 1, 1e9 do t[i] = setmetatable({}, { __gc = function() end }) end",
        "local t, all = setmetatable({}, { __mode = 'k' }), {} for i = 1, 1e9 do local k = {} t[k] = {} all[i] = k end",
        "local t = {} for i = 1, 1e9 do t[i] = string.gmatch('abc', 'b') end",
        "local q = require('queue').new() for i = 1, 1e9 do q:push({}) end",
        "return ('x'):rep(1 << 30)",
        "return ('x'):rep(1e6):gsub('x', ('y'):rep(100))",
        "return ('x'):rep(1e6):gsub('.', function() return ('y'):rep(1000) end)",
        "return ('%s'):rep(100):format(table.unpack(setmetatable({}, { __index = function() return ('x'):rep(1e6) end }), 1, 100))",
        "return table.concat(setmetatable({}, { __len = function() return 1e9 end, __index = function() return 'xxxxxxxxxx' end }))",
        "return table.pack(table.unpack({}, 1, 9e5)), table.pack(table.unpack({}, 1, 9e5)), table.pack(table.unpack({}, 1, 9e5))",
        "return string.pack('c1000000000', 'x')",
        "return io.open('/dev/zero'):read('a')",
        "return io.open('/dev/zero'):read(1 << 30)",
        // Several large strings at once, of natives that can't fail by themselves.
        "return ('x'):rep(1.4e7):match('((((.*))))')",
        "local s = ('x'):rep(1.8e7) return s:upper(), s:lower()",
        "local s, t = ('x'):rep(9e6), {} for i = 1, 10 do t[i] = s:sub(2) end",
        "assert(load('return {' .. ('k'):rep(9e5):gsub('k', function() n = (n or 0) + 1 return '\"k' .. n .. '\",' end) .. '}'))",
        // A stack, and what stands beside it.
        "local function f(n) return 1 + f(n + 1) end return f(1)",
        "local function f() local a <close> = setmetatable({}, { __close = function() end }) return f(), 1 end f()",
    ] {
        let source = format!(
            "local ok, message = pcall(load([==[{program}]==]))
             assert(not ok, 'there is room')
             assert(message:find('not enough memory') or message:find('stack overflow'), #message < 1000 and message)
             collectgarbage()
             local t = {{}}
             for i = 1, 1000 do t[i] = {{ i }} end
             assert(#('x'):rep(1e6):upper() == 1e6)"
        );
        run(&source);
    }
}

#[test]
fn what_is_outside_of_the_heap_counts() {
    let source = "local t, n = {}, 0
        local ok, message = pcall(function()
            for i = 1, 1e6 do
                t[i] = load('local a, b, c = 1, 2, 3 return function() return a + b + c + ' .. i .. ' end') or error('not enough memory', 0)
                n = i
            end
        end)
        assert(not ok and message == 'not enough memory', message)
        assert(n < 40000, n)
        t = nil
        for i = 1, 30000 do assert(load('return ' .. i)) end";
    run(source);
}
