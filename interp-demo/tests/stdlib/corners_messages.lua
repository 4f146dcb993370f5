-- Programs that fail: the message, and the traceback.
local function run(text)
  for line in text:gmatch("[^\n]+") do
    if line:find("%S") and not line:find("^%-%-") then
      io.write(line, "\n")
      local chunk, why = load(line:gsub("\\n", "\n"), "=c")
      if chunk then
        local ok, message = pcall(chunk)
        io.write(ok and "   no error " or " ! ", tostring(message):gsub("0x%x+", "PTR"), "\n")
      else
        io.write(" ? ", why, "\n")
      end
    end
  end
end
run[==[
-- names of what is indexed
local a; a.b = 1
local a; return a.b.c
local a = {}; a.b.c = 1
local a = {}; return a.b.c.d
a.b.c = 1
undefined.x()
local a = {}; a.x.y()
local a = {}; a:x()
local a = "x"; a:x()
local a = 5; a:x()
local a; a:x()
local a = {}; a.b:c()
local t = {}; t[1][2] = 3
local t, i = {}, 1; return t[i][i]
local t, k = {}, {}; return t[k].x
local t = {}; return t["a b"].x
local t = {}; return t[1.5].x
local t = {}; return t[true].x
local up = nil; return (function() return up.x end)()
local up = nil; return (function() up.x = 1 end)()
local up = {}; return (function() return up.y.x end)()
local up = {}; return (function() up.y() end)()
local up = {}; return (function() up:y() end)()
return (nil).x
return (1).x.y
return ("x").y.z
return #nil
return -{}
return ~{}
return ~1.5
local a; return -a
local a = {}; return -a.b
local a; return ~a
local a; return #a
return #undefined
local a = {}; return #a.b
return undefined .. "x"
return "x" .. undefined
return {} .. "x"
local a, b = {}, "x"; return a .. b
local a, b = {}, "x"; return b .. a
local a = {}; return "x" .. a.b .. "y"
local a = {}; return 1 .. a
return 1 + nil
return nil + 1
local a; return a + 1
local a; return 1 + a
local a = {}; return a + a
local a = {}; return a.x + 1
local a = {}; return 1 - a.x
local a = "x"; return a + 1
local a = "x"; return 1 + a
return "x" + "y"
return "10" + {}
return {} + "10"
local a = print; return a * 2
return 2 ^ {}
return {} // 1
return 1 // {}
return 1 % nil
return 1 & {}
return 1 & 1.5
return 1.5 | 1
local a = 1.5; return a & 1
local a = 1.5; return 1 & a
local a = {x = 1.5}; return a.x | 1
return 2^64 | 1
return "1.5" | 1
return "x" | 1
local s = "x"; return s | 1
return 1 << {}
return 1 << 1.5
return 1 ~ nil
return 1 // 0
return 1 % 0
local a, b = 1, 0; return a // b
local a, b = 1, 0; return a % b
return 1 < "x"
return "x" < 1
return {} < {}
return {} < 1
return nil < nil
return nil > 1
return true <= false
return print >= print
local a, b = {}, {}; return a < b
local a = "x"; return a < 5
local a = setmetatable({}, {__name = "My"}); return a < 1
local a, b = setmetatable({}, {__name = "My"}), setmetatable({}, {__name = "Other"}); return a < b
local a = setmetatable({}, {__name = "My"}); return a + 1
local a = setmetatable({}, {__name = "My"}); return a.x.y
local a = setmetatable({}, {__name = "My"}); a()
local a = setmetatable({}, {__name = "My"}); return a .. "x"
local a = setmetatable({}, {__name = "My"}); string.rep(a)
io.stdout.x.y = 1
io.stdout + 1
local f = io.stdout; return f + 1
local f = io.stdout; return f < f
-- calls
undefined()
local f; f()
local f = 5; f()
local t = {}; t.f()
local t = {}; t.f.g()
local t = {}; t[1]()
local t = {}; t["f"]()
local t, k = {}, "f"; t[k]()
("x")()
(1)()
({})()
(function() end)()()
local up; (function() up() end)()
string.nope()
string.nope.x()
math.floor.x.y()
return undefined(1)(2)
local t = setmetatable({}, {__call = 1}); t()
local t = setmetatable({}, {__index = function(t, k) error("idx " .. k) end}); return t.foo
local t = setmetatable({}, {__index = function(t, k) error("idx " .. k, 2) end}); return t.foo
local t = setmetatable({}, {__add = function(a, b) return a.x.y end}); return t + 1
for i in nil do end
for i in 5 do end
for i in undefined do end
for i in pairs(nil) do end
for i in ipairs() do end
for i in {} do end
for k, v in next do end
for i = 1, 2, 0 do end
for i = "a", 2 do end
for i = 1, "a" do end
for i = 1, 2, "a" do end
for i = nil, 2 do end
for i = 1.5, {} do end
-- tables
local t = {}; t[nil] = 1
local t = {}; t[0/0] = 1
return {[nil] = 1}
return {[0/0] = 1}
local t = setmetatable({}, {__newindex = 5}); t.x = 1
local t = setmetatable({}, {__index = 5}); return t.x
local t = setmetatable({}, {__newindex = function(t, k, v) error("no " .. k, 2) end}); t.x = 1
local t = {}; table.insert(t, 1, 2, 3)
local t = {}; t.x.y.z = 1
setmetatable({}, {__metatable = 1}); setmetatable(setmetatable({}, {__metatable = 1}), {})
-- arguments
string.rep()
string.rep("x", {})
string.rep("x", "y")
("x"):rep()
("x"):rep({})
("x").rep()
string.char(-1)
string.format("%d", "x")
string.format("%d", 1.5)
("%d"):format("x")
("x"):bad()
local s = string.rep; s()
local t = {rep = string.rep}; t.rep()
local t = {rep = string.rep}; t:rep()
local t = {f = {rep = string.rep}}; t.f.rep("x", {})
io.write({})
io.stdout:write({})
io.stdout.write()
io.stdout.write({})
io.stdout:seek("bad")
io.stdout:seek(1)
io.stdout:setvbuf()
io.stdout:setvbuf("bad")
io.lines("/nonexistent/file")
io.open()
io.open("x", "bad")
io.close({})
io.read("x")
io.read(true)
local f = io.tmpfile(); f:close(); f:read()
local f = io.tmpfile(); f:close(); f:close()
local f = io.tmpfile(); f:close(); return f:lines()
io.type()
math.floor({})
math.floor()
math.random(0, -1)
math.random(1, 2, 3)
math.tointeger()
table.concat({{}})
table.concat({1, 2, {}}, ",")
table.concat(1)
table.insert()
table.insert({}, 5, 5)
table.insert({}, 1, 2, 3)
table.remove({}, 7)
table.unpack()
table.unpack({}, 1, 1e9)
table.sort({1, "x"})
table.sort({1, 2, 3}, 5)
table.sort({3, 2, 1, 5, 4}, function(a, b) return a.x < b.x end)
tostring()
tonumber()
tonumber("1", 99)
tonumber(1, 10)
setmetatable(1)
setmetatable({})
getmetatable()
rawset({}, nil, 1)
rawlen(1)
rawequal(1)
next({}, 1)
select(0)
select()
error()
error(nil)
error({})
error("msg", 0)
error("msg", 1)
error("msg", 2)
error(setmetatable({}, {__tostring = function() return "custom" end}))
assert(false)
assert(nil, "msg")
assert(false, {})
assert()
pcall()
xpcall(print)
load({})
load(1, 2, 3)
require("no.such.module.at.all" == 1)
require()
require({})
coroutine.create()
coroutine.create(1)
coroutine.resume(1)
coroutine.wrap()
coroutine.yield()
coroutine.status()
coroutine.close(coroutine.running())
coroutine.wrap(function() error("in co") end)()
coroutine.wrap(function() error({}) end)()
coroutine.wrap(function() local x; x() end)()
local w = coroutine.wrap(function() end); w(); w()
utf8.char(-1)
utf8.codepoint("\xff")
utf8.len("x", 5)
utf8.offset()
os.time({})
os.time({year = 1})
os.time({year = "x", month = 1, day = 1})
os.time({year = 2020, month = 1.5, day = 1})
os.time({year = 1e100, month = 1, day = 1})
os.time({year = 2^40, month = 1, day = 1})
os.date("%Ez")
os.date("%")
os.date("*t", "x")
os.date("%Y", 2^60)
os.getenv()
os.remove()
os.rename("x")
os.exit("x" == 1 and 1 or {})
os.setlocale("xx", "bad")
debug.getinfo()
debug.getinfo(1, "X")
debug.getinfo({})
debug.getlocal()
debug.getlocal(100, 1)
debug.setlocal(100, 1, 1)
debug.getupvalue()
debug.setupvalue(print)
debug.upvalueid(print, 5)
debug.upvalueid(function() end, 5)
debug.upvaluejoin(print, 1, print, 1)
debug.upvaluejoin(function() end, 1, function() end, 1)
debug.sethook(1, 2, 3)
debug.setmetatable()
debug.setmetatable({}, 1)
debug.setuservalue({}, 1)
debug.traceback({})
debug.traceback("x", "y")
local x <close> = 1
local x <close> = {}
local x <close> = setmetatable({}, {__close = 1})
do local x <close> = setmetatable({}, {__close = function() error("in close") end}) end
do local x <close> = setmetatable({}, {__close = function(_, e) error("close after " .. tostring(e)) end}); error("body") end
return 1, (function() error("deep") end)()
local function f() error("tail") end; return f()
local function f() local x = nil; return x.y end; local t = {f = f}; t.f()
-- syntax
x =
= 1
x = = 1
local
local 1
local x y
local x <const>
local x <foo> = 1
local x <const> = 1; x = 2
local function f() x <close> = 1 end
for
for i
for i =
for i = 1
for i = 1 do
for i = 1, 2
for i, j = 1, 2 do end
for i in
for 1 = 1, 2 do end
if
if x
if x then
if x then else
if x then elseif
if x then end end
while
while true
while true do
repeat
repeat until
function
function f
function f(
function f()
function f(a,
function f(a, a
function f(..., a) end
function f(1) end
function f.g:h.i() end
function (x) end
return return
return 1 2
return 1, 
return;;
return 1; x = 1
break
goto
goto x
goto continue; local a; ::continue:: print(a)
::a::
::a:: ::a::
::1::
do
do end end
end
else
until
then
1
"x"
{}
(x
(x)
x.y
x:y
x:y =
x.1
x[
x[1
x[1] 
x[]
f(
f(1
f(1,
f(1 2)
f{
f{1
f{1,
f{[1]}
f{[1}
f{x = }
f{x = 1 y = 2}
f"x
f'x
f[[x
f[==[x]=]
x = [=x
x = "abc\ndef"
x = "\q"
x = "\x1"
x = "\xzz"
x = "\300"
x = "\u{}"
x = "\u{110000000000}"
x = "\u{12"
x = "\u12"
x = '\
x = 1e
x = 0x
x = 1..2
x = 1.2.3
x = 3x
x = 0xg
x = 1e+
x = 12abc
x = .
x = ..
x = ...
function f() return ... end
x = a.b.
x = a:
x = a:b
x = not
x = -
x = #
x = 1 +
x = 1 + + 
x = (1
x = {
x = {1
x = {1;2
x = function
x = function(
x = function() 
x = a and
x = a or or b
x = @
x = $
x = !
x ! = 1
x ~ 1
x += 1
x ++
a, b
a, b =
a, b = 1,
a + b = 1
f() = 1
(a) = 1
(f()) = 1
a.b, f() = 1, 2
a:b() = 1
--[[ unfinished
--[==[ unfinished ]]
x = "unfinished\z
x = }
x = ]
x = )
x = \1
x = `a`
x = “a”
x = é
local é = 1
and = 1
x.and = 1
x = {and = 1}
local end = 1
function end() end
goto end
nil = 1
true = false
x = nil.y
x = 1 .. 
x = 1 == 
x = 2 ^ 
x = a < b < 
for i = 1, 2, 3, 4 do end
local function
local function 1() end
local function f.g() end
local x, y, = 1
local x, 1 = 1
if x then local end
x = function() end end
x = (function() end
while x do break break
repeat local x until x y
-- lines
x = 1\ny = \nz = 3
\n\nlocal x = \n\n)
f(\n1,\n2
x = {\n1,\n2\n
if x then\n\n\ny = 1\n
x = [[\n\n\n
error("line 1")\nerror("line 2")
local x\n\nx.y = 1
local t = {}\nt.a\n.b\n.c = 1
return 1 +\n{} +\n2
]==]
-- Tracebacks.
local function traced(f) print((tostring(select(2, xpcall(f, debug.traceback))):gsub("0x%x+", "PTR"))) end
local function level3() error("deep") end
local function level2() level3() return 1 end
function global_level1() level2() return 1 end
local object = { method = function(self) global_level1() return 1 end, [1] = function() error("one") end }
traced(function() object:method() end)
traced(function() object.method() end)
traced(function() object[1]() end)
traced(function() return level3() end)
traced(function() table.sort({ 3, 2, 1 }, function(a, b) error("cmp") end) end)
traced(function() ("x"):gsub(".", function() error("gsub") end) end)
traced(function() string.rep() end)
traced(function() return setmetatable({}, { __add = function() error("add") end }) + 1 end)
traced(function() return setmetatable({}, { __index = function() error("index") end }).x end)
traced(function() return #setmetatable({}, { __len = function() error("len") end }) end)
traced(function() return setmetatable({}, { __concat = function() error("concat") end }) .. "x" end)
traced(function() return setmetatable({}, { __lt = function() error("lt") end }) < {} end)
traced(function() return setmetatable({}, { __eq = function() error("eq") end }) == {} end)
traced(function() setmetatable({}, { __newindex = function() error("newindex") end }).x = 1 end)
traced(function() setmetatable({}, { __call = function() error("call") end })() end)
traced(function() do local x <close> = setmetatable({}, { __close = function() error("close") end }) end end)
traced(function() for _ in function() error("iterator") end do end end)
traced(function() coroutine.wrap(function() error("in coroutine") end)() end)
traced(function() pcall(error) error("after") end)
traced(function() load("error('loaded')", "=chunk")() end)
traced(function() load("local x = nil; x.y = 1", "@file.lua")() end)
traced(function() pcall(require, "no.such.module") require("no.such.module" == 1) end)
traced(function() assert(false, "asserted") end)
traced(function() error({}) end)
traced(function() error() end)
local function recurse(n) if n == 0 then error("bottom") end recurse(n - 1) return 1 end
traced(function() recurse(30) end)
traced(function() recurse(5) end)
local co = coroutine.create(function(x) local y = coroutine.yield(x) error("resumed " .. y) end)
coroutine.resume(co, 1)
print(debug.traceback(co), debug.traceback(co, "msg"), debug.traceback(co, nil, 1), debug.traceback(co, "m", 0))
print(coroutine.resume(co, 2))
print(debug.traceback(co, "dead"))
print(debug.traceback("hi", 1):match("^hi\nstack traceback:\n") ~= nil, debug.traceback(nil) == nil, debug.traceback(12), (debug.traceback({}) ~= nil))
print(select(2, pcall(function() local function loop() return loop() + 1 end loop() end)):gsub("\n.*", ""))
print(select(2, pcall(load(string.dump(load("error('m')"), true)))), pcall(load(string.dump(load("local x; x.y = 1"), true))))
print(select(2, pcall(string.rep, "x", -1)), select(2, pcall(string.rep)), select(2, pcall(("x").rep, "x", {})))
