-- Messages of run-time errors: the variable that is to blame, and the line.

local cases = {
  -- indexing
  {"local x; return x.y", "attempt to index a nil value (local 'x')"},
  {"return x.y", "attempt to index a nil value (global 'x')"},
  {"local t = {}; return t.a.b", "attempt to index a nil value (field 'a')"},
  {"local t = {}; t.a.b = 1", "attempt to index a nil value (field 'a')"},
  {"local t = {}; return t[1].b", "attempt to index a nil value (field 'integer index')"},
  {"local t, k = {}, 'k'; return t[k].b", "attempt to index a nil value (field '?')"},
  {"local up; return (function() return up.x end)()", "attempt to index a nil value (upvalue 'up')"},
  {"return (1).x", "attempt to index a number value"},
  {"return ('x').y.z", "attempt to index a nil value (field 'y')"},
  {"local t = {}; t.x.y.z = 1", "attempt to index a nil value (field 'x')"},
  {"local t = {}; return t:f().x", "attempt to call a nil value (method 'f')"},
  {"x.y = 1", "attempt to index a nil value (global 'x')"},
  {"local a = true; a[1] = 2", "attempt to index a boolean value (local 'a')"},
  -- calling
  {"f()", "attempt to call a nil value (global 'f')"},
  {"local f = 1; f()", "attempt to call a number value (local 'f')"},
  {"local t = {}; t.x()", "attempt to call a nil value (field 'x')"},
  {"local t = {}; t:x()", "attempt to call a nil value (method 'x')"},
  {"local t = {}; t[1]()", "attempt to call a nil value (field 'integer index')"},
  {"local up; local function g() up() end g()", "attempt to call a nil value (upvalue 'up')"},
  {"return (function() end)()()", "attempt to call a nil value"},
  {"for i in 5 do end", "attempt to call a number value (for iterator 'for iterator')"},
  {"local t = setmetatable({}, {__index = 5}); return t.x", "attempt to index a number value"},
  -- arithmetic
  {"local a; return a + 1", "attempt to perform arithmetic on a nil value (local 'a')"},
  {"return 1 + a", "attempt to perform arithmetic on a nil value (global 'a')"},
  {"local a = {}; return a.x * 2", "attempt to perform arithmetic on a nil value (field 'x')"},
  {"local a = {}; return -a", "attempt to perform arithmetic on a table value (local 'a')"},
  {"return 'a' + 1", "attempt to add a 'string' with a 'number'"},
  {"local s = 'abc'; return s * 2", "attempt to mul a 'string' with a 'number'"},
  {"local a = 1; return a & 1.5", "number has no integer representation"},
  {"local a = 1.5; return a | 1", "number (local 'a') has no integer representation"},
  {"return 2^63 | 0", "number has no integer representation"},
  {"local a = {}; return a | 1", "attempt to perform bitwise operation on a table value (local 'a')"},
  {"local a = 'x'; return a << 1", "attempt to perform bitwise operation on a string value (local 'a')"},
  {"return 1 // 0", "attempt to divide by zero"},
  {"return 1 % 0", "attempt to perform 'n%0'"},
  {"local a; return #a", "attempt to get length of a nil value (local 'a')"},
  {"local a = {}; return a .. 'x'", "attempt to concatenate a table value (local 'a')"},
  {"local a; return 'x' .. a", "attempt to concatenate a nil value (local 'a')"},
  {"return 'x' .. a.b", "attempt to index a nil value (global 'a')"},
  {"return 'x' .. y .. 'z'", "attempt to concatenate a nil value (global 'y')"},
  -- comparison
  {"return {} < {}", "attempt to compare two table values"},
  {"return 1 < 'x'", "attempt to compare number with string"},
  {"return nil < 1", "attempt to compare nil with number"},
  {"local a = 'x'; return a <= 1", "attempt to compare string with number"},
  {"local a = {}; return a > 1", "attempt to compare number with table"},
  {"return print < print", "attempt to compare two function values"},
  -- loops
  {"for i = 'x', 2 do end", "bad 'for' initial value (number expected, got string)"},
  {"for i = 1, {} do end", "bad 'for' limit (number expected, got table)"},
  {"for i = 1, 2, {} do end", "bad 'for' step (number expected, got table)"},
  {"for i = 1, 2, 0 do end", "'for' step is zero"},
  -- table keys
  {"local t = {}; t[nil] = 1", "table index is nil"},
  {"local t = {}; t[0/0] = 1", "table index is NaN"},
  {"return {[nil] = 1}", "table index is nil"},
  {"rawset({}, nil, 1)", "table index is nil"},
  -- variables that are to be closed
  {"local x <close> = 1", "variable 'x' got a non-closable value"},
  {"local x <close> = {}", "variable 'x' got a non-closable value"},
  -- arguments of natives
  {"string.rep()", "bad argument #1 to 'rep' (string expected, got no value)"},
  {"('x'):rep({})", "bad argument #1 to 'rep' (number expected, got table)"},
  {"('x'):rep(1.5)", "bad argument #1 to 'rep' (number has no integer representation)"},
  {"string.char(256)", "bad argument #1 to 'char' (value out of range)"},
  {"setmetatable(1, {})", "bad argument #1 to 'setmetatable' (table expected, got number)"},
  {"ipairs()", "bad argument #1 to 'ipairs' (value expected)"},
  {"math.floor('x')", "bad argument #1 to 'floor' (number expected, got string)"},
  {"table.concat({1, {}, 3})", "invalid value (table) at index 2 in table for 'concat'"},
  {"local t = {}; t.insert = table.insert; t:insert(1, 2, 3)", "wrong number of arguments to 'insert'"},
  {"select(0)", "bad argument #1 to 'select' (index out of range)"},
  {"tostring()", "bad argument #1 to 'tostring' (value expected)"},
  {"collectgarbage('x')", "bad argument #1 to 'collectgarbage' (invalid option 'x')"},
  {"io.open('x', 'q')", "bad argument #2 to 'open' (invalid mode)"},
  {"local s = 'x'; s:bad()", "attempt to call a nil value (method 'bad')"},
  {"coroutine.wrap(function() error('in') end)()", "t:1: t:1: in"},
  {"error(setmetatable({}, {__tostring = function() return 'custom' end}))", "custom"},
  {"string.format('%d', 1.5)", "bad argument #2 to 'format' (number has no integer representation)"},
  {"string.format('%y', 1)", "invalid conversion '%y' to 'format'"},
  {"load('x =')()", "attempt to call a nil value"},
  {"assert(false)", "assertion failed!"},
  {"assert(nil, 'why')", "why"},
  {"assert()", "bad argument #1 to 'assert' (value expected)"},
  {"local t = setmetatable({}, {__metatable = 1}); setmetatable(t, {})", "cannot change a protected metatable"},
  {"goto_ = 1; error('msg', 0)", "msg"},
}

for _, case in ipairs(cases) do
  local code, expected = case[1], case[2]
  local f = assert(load(code, "=t"))
  local ok, message = pcall(f)
  assert(not ok, code)
  message = tostring(message)
  local text = expected:find("^t:1: ") and message or message:gsub("^t:1: ", "")
  assert(text == expected, ("%s\n  is:        %s\n  should be: %s"):format(code, message, expected))
end

-- lines
local function line_of(code)
  local _, message = pcall(assert(load(code, "=t")))
  return tonumber(message:match("^t:(%d+):"))
end

assert(line_of("local a = 1\n\nlocal b = a.x.y\n") == 3)
assert(line_of("local a = {}\nreturn a.x +\n1") == 2)
assert(line_of("\n\nerror('x')") == 3)
assert(line_of("local function f()\n error('x', 2)\nend\n\nf()") == 5)
assert(line_of("for i = 1,\n 'x' do\nend") == 2)
assert(line_of("local a\na = 'x'\n.. nil ..\n'y'") == 3)

-- errors that are no strings
for _, value in ipairs {1, true, {}, print} do
  local ok, got = pcall(error, value)
  assert(not ok and got == value)
end
assert(select("#", pcall(error)) == 2 and select(2, pcall(error)) == nil)

print "ok"
