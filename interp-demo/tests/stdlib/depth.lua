-- Whatever nests without end is an error in Lua's words, and never the end of the process. Where `lua` recurses in C and we do not, its
-- "C stack overflow" is our "stack overflow".
local function short(v)
  v = tostring(v):gsub('C stack overflow', 'stack overflow')
  local first = v:match('^[^\n]*')
  return #first > 150 and first:sub(1, 60) .. ' ... ' .. first:sub(-60) or first
end
local function case(name, f, ...)
  local t = table.pack(pcall(f, ...))
  for i = 1, t.n do t[i] = short(t[i]) end
  print(name, table.concat(t, ' ', 1, math.min(t.n, 4)))
  collectgarbage()
end
local function try(text) local f, m = load(text, '=text') return f and 'compiles' or short(m) end
-- The parser.
for _, n in ipairs { 50, 150, 180, 190, 198, 199, 200, 201, 205, 220, 250, 300, 1000, 10000, 100000 } do
  for _, pair in ipairs {
    { '(', ')', 'return ', '1' }, { '{', '}', 'return ', '' }, { 'do ', ' end', '', '' }, { 'while x do ', ' end', '', '' },
    { 'if x then ', ' end', '', '' }, { 'function f() ', ' end', '', '' }, { 'repeat ', ' until x', '', '' }, { 'for i = 1, 2 do ', ' end', '', '' },
    { 'return function() ', ' end', '', '' }, { '- ', '', 'return ', '1' }, { 'not ', '', 'return ', '1' }, { 'a[', ']', 'return ', '1' },
    { 'a(', ')', 'return ', '1' }, { '1 .. ', '', 'return ', '1' }, { '2 ^ ', '', 'return ', '1' }, { '1 + (', ')', 'return ', '1' },
    { 'a.', '', 'return ', 'b' }, { '1 + ', '', 'return ', '1' }, { 'x = x or ', '', '', '1' },
  } do
    local opening, closing, before, core = table.unpack(pair)
    local told = try(before .. opening:rep(n) .. core .. closing:rep(n))
    case('parser ' .. n .. ' ' .. opening, function() return told end)
  end
end
case('names', function() return try('local ' .. ('a,'):rep(300) .. 'a') end)
case('upvalues', function()
  local t = {} for i = 1, 3 do t[#t + 1] = 'local ' for j = 1, 180 do t[#t + 1] = (j > 1 and ',' or '') .. 'v' .. i .. '_' .. j end t[#t + 1] = ' local function f' .. i .. '() ' end
  t[#t + 1] = 'return ' for i = 1, 3 do for j = 1, 180 do t[#t + 1] = 'v' .. i .. '_' .. j .. '+' end end t[#t + 1] = '1' .. (' end'):rep(3)
  return try(table.concat(t))
end)
case('else chain', function() return try('if x then ' .. ('elseif x then '):rep(10000) .. 'end') end)
case('chunk of many statements', function() return try(('x = 1 '):rep(100000)) end)
case('concat operands', function() return try('return x' .. (' .. x'):rep(180)) end)
case('concat too many', function() return try('return x' .. (' .. x'):rep(300)) end)
case('arguments', function() return try('return f(' .. ('1,'):rep(250) .. '1)') end)
case('arguments too many', function() return try('return f(' .. ('1,'):rep(300) .. '1)') end)
-- Patterns.
for _, n in ipairs { 10, 31, 32, 33, 150, 199, 200, 201, 1000, 100000 } do
  case('captures ' .. n, function() return #{ ('a'):rep(n):find(('(a)'):rep(n)) } end)
  case('nested captures ' .. n, function() return #{ ('a'):find(('('):rep(n) .. 'a' .. (')'):rep(n)) } end)
  if n <= 10 then case('optional ' .. n, function() return ('a'):rep(n):find(('a?'):rep(n) .. ('a'):rep(n)) end) end
  case('sets ' .. n, function() return ('a'):rep(n):find(('[ab]'):rep(n)) end)
  case('balance ' .. n, function() return (('('):rep(n) .. (')'):rep(n)):find('%b()') end)
end
for _, n in ipairs { 100, 1000, 10000, 100000 } do
  if n <= 1000 then case('maximal ' .. n, function() return ('a'):rep(n):find('.-b') end) end
  case('greedy ' .. n, function() return ('a'):rep(n):find('^.*a$') end)
  case('items ' .. n, function() return ('a'):rep(n):find(('.'):rep(n)) end)
end
case('backtracking', function() return ('x'):rep(30):find(('.-'):rep(4) .. 'b') end)
case('malformed', function() return ('x'):find(('['):rep(1000)) end)
case('malformed class', function() return ('x'):find('%') end)
case('bad balance', function() return ('x'):find('%b') end)
-- Sorting.
case('sort by itself', function() local t = { 3, 2, 1 } local function f(a, b) table.sort({ 3, 2, 1 }, f) return a < b end table.sort(t, f) end)
case('invalid order', function() local t = {} for i = 1, 100 do t[i] = i end table.sort(t, function() return true end) end)
case('sort by error', function() table.sort({ 1, 2, 3 }, function() error('e', 0) end) end)
case('sort of lists', function() table.sort({ {}, {}, {} }) end)
case('sort in coroutines', function() local function f(n) return coroutine.wrap(function() local t = { 2, 1 } table.sort(t, function(a, b) if n > 0 then f(n - 1) end return a < b end) return n end)() end return f(25) end)
-- Chains of metatables.
case('index chain', function() local t = {} for _ = 1, 1999 do t = setmetatable({}, { __index = t }) end return t.x end)
case('index chain too long', function() local t = {} for _ = 1, 2100 do t = setmetatable({}, { __index = t }) end return t.x end)
case('index loop', function() local t = {} setmetatable(t, { __index = t }) return t.x end)
case('newindex loop', function() local t = {} setmetatable(t, { __newindex = t }) t.x = 1 end)
case('newindex chain', function() local t = {} for _ = 1, 2100 do t = setmetatable({}, { __newindex = t }) end t.x = 1 end)
case('index function', function() local t = setmetatable({}, {}) getmetatable(t).__index = function(t, k) return t[k + 1] end return t[1] end)
case('newindex function', function() local t = setmetatable({}, {}) getmetatable(t).__newindex = function(t, k, v) t[k + 1] = v end t[1] = 1 end)
case('eq', function() local mt = {} mt.__eq = function(a, b) return setmetatable({}, mt) == setmetatable({}, mt) end return setmetatable({}, mt) == setmetatable({}, mt) end)
case('lt', function() local mt = {} mt.__lt = function(a, b) return a < b end local t = setmetatable({}, mt) return t < t end)
case('add', function() local mt = {} mt.__add = function(a, b) return a + b end local t = setmetatable({}, mt) return t + t end)
case('len', function() local mt = {} mt.__len = function(a) return #a end return #setmetatable({}, mt) end)
case('unm', function() local mt = {} mt.__unm = function(a) return -a end return -setmetatable({}, mt) end)
case('concat', function() local mt = {} mt.__concat = function(a, b) return a .. b end return setmetatable({}, mt) .. 1 end)
case('call', function() local mt = {} mt.__call = function(a) return 1 + a() end return setmetatable({}, mt)() end)
case('call chain', function() local f = function(...) return select('#', ...) end for _ = 1, 100 do f = setmetatable({}, { __call = f }) end return f() end)
case('tostring', function() local mt = {} mt.__tostring = function(a) return tostring(a) end return tostring(setmetatable({}, mt)) end)
case('tostring format', function() local mt = {} mt.__tostring = function(a) return ('%s'):format(a) end return tostring(setmetatable({}, mt)) end)
case('tostring print', function() local mt = {} mt.__tostring = function(a) print(a) end return print(setmetatable({}, mt)) end)
case('name', function() return (tostring(setmetatable({}, { __name = ('n'):rep(1000) })):gsub('0x%x+', 'A')) end)
case('pairs', function() local mt = {} mt.__pairs = function(a) return pairs(a) end return pairs(setmetatable({}, mt)) end)
-- Strings.
case('rep', function() return ('x'):rep(1 << 40) end)
case('rep with separator', function() return ('x'):rep(1 << 31, ('y'):rep(1 << 20)) end)
case('rep negative', function() return ('x'):rep(-1 << 40) end)
case('gsub by itself', function() local function f() return (('x'):gsub('x', f)) end return f() end)
case('gsub of gsub', function() local function f(n) if n == 0 then return 'y' end return (('x'):gsub('x', function() return f(n - 1) end)) end return f(50) end)
case('gsub of index', function() local t = setmetatable({}, {}) getmetatable(t).__index = function() return (('x'):gsub('x', t)) end return ('x'):gsub('x', t) end)
case('gmatch', function() local function f(n) for w in ('a b'):gmatch('%a') do if n > 0 then f(n - 1) end end return n end return f(10) end)
case('load in load', function() local s = 'return 1' for _ = 1, 15 do s = ('return load(%q)()'):format(s) end return load(s)() end)
case('dofile', function() return dofile('/nowhere') end)
-- Calls.
case('calls', function() local function f() return 1 + f() end return f() end)
case('calls with arguments', function() local function f(...) return 1 + f(1, ...) end return f() end)
case('two functions', function() local f, g f = function() return 1 + g() end g = function() return 1 + f() end return f() end)
case('deep and back', function() local function f(n) if n == 0 then return 0 end return 1 + f(n - 1) end return f(150000) end)
case('tail calls', function() local function f(n) if n == 0 then return 'end' end return f(n - 1) end return f(1000000) end)
case('pcall by itself', function() local function f() return pcall(f) end return f() end)
case('pcall and more', function() local function f() local ok, m = pcall(f) return ok and 1 or 2 end return f() end)
case('xpcall', function() local function f() return xpcall(f, f) end return f() end)
case('handler fails', function() return xpcall(error, function() error('again') end, 'x') end)
case('handler fails deep', function() local function h(m) return h(m) + 1 end return xpcall(error, h, 'x') end)
case('handler of overflow', function() local function f() return 1 + f() end return xpcall(f, function(m) return 'handled: ' .. short(m) end) end)
case('handler calls', function() local function f() return 1 + f() end return xpcall(f, function(m) local function g(n) return n == 0 and 0 or 1 + g(n - 1) end return g(20) end) end)
case('handler overflows', function() local function f() return 1 + f() end return xpcall(f, function(m) return 1 + f() end) end)
case('traceback', function() local function f() return 1 + f() end return select('#', xpcall(f, debug.traceback)) end)
case('unpack', function() return table.unpack({}, 1, 1e7) end)
case('unpack many', function() return select('#', table.unpack({}, 1, 1e5)) end)
case('pack', function() return table.pack(table.unpack({}, 1, 1e5)).n end)
case('select', function() return select('#', select(2, table.unpack({}, 1, 1e5))) end)
case('char', function() return #string.char(table.unpack((function() local t = {} for i = 1, 1e5 do t[i] = 65 end return t end)())) end)
case('byte', function() return select('#', ('x'):rep(1e5):byte(1, -1)) end)
case('byte too many', function() return select('#', ('x'):rep(1e7):byte(1, -1)) end)
-- Coroutines.
case('coroutines', function() local function f() return coroutine.wrap(f)() end return f() end)
case('coroutines resumed', function() local function f() return coroutine.resume(coroutine.create(f)) end return f() end)
case('coroutines to 150', function() local function f(n) if n == 0 then return 'deep' end return coroutine.wrap(f)(n - 1) end return f(150) end)
case('coroutine calls', function() return coroutine.wrap(function() local function f() return 1 + f() end return f() end)() end)
case('coroutine of itself', function() local co co = coroutine.create(function() return coroutine.resume(co) end) return coroutine.resume(co) end)
case('wrap of itself', function() local w w = coroutine.wrap(function() return w() end) return w() end)
case('yield across pcall', function() return coroutine.wrap(function() return pcall(pcall, pcall, coroutine.yield, 5) end)() end)
case('close deep', function() local function f(n) local x <close> = setmetatable({}, { __close = function() end }) if n > 0 then f(n - 1) end return n end return f(10000) end)
case('close in close', function() local mt = {} mt.__close = function() local x <close> = setmetatable({}, mt) end local x <close> = setmetatable({}, mt) end)
case('close in close to 100', function() local n, mt = 0, {} mt.__close = function() n = n + 1 if n < 100 then local x <close> = setmetatable({}, mt) end end do local x <close> = setmetatable({}, mt) end return n end)
case('errors in close', function() local function f(n) local x <close> = setmetatable({}, { __close = function(_, e) error(tostring(e) .. n % 10, 0) end }) if n > 0 then return f(n - 1), 1 end error('e', 0) end return f(50) end)
case('close of coroutine', function() local co = coroutine.create(function() local function f(n) local x <close> = setmetatable({}, { __close = function() end }) if n > 0 then f(n - 1) end coroutine.yield() end f(1000) end) coroutine.resume(co) return coroutine.close(co) end)
case('close of coroutines', function() local function f(n) local co = coroutine.create(function() local x <close> = setmetatable({}, { __close = function() if n > 0 then f(n - 1) end end }) coroutine.yield() end) coroutine.resume(co) return coroutine.close(co) end return f(50) end)
case('error values', function() local t = {} for _ = 1, 100000 do t = { t } end error(t) end)
case('error of error', function() return pcall(error) end)
case('goto', function() local n = 0 ::a:: n = n + 1 if n < 100000 then goto a end return n end)
case('require', function() package.preload.deep = function() return require('deep') end return require('deep') end)
case('hook', function() local n = 0 debug.sethook(function() n = n + 1 end, 'c') local function f(d) if d > 0 then return 1 + f(d - 1) end return 0 end f(1000) debug.sethook() return n >= 1000 end)
