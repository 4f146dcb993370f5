-- coroutine.*
local co = coroutine.create(function(...) print("start", ...) local x = coroutine.yield(1, 2) print("got", x) error("died") end)
print(coroutine.status(co), coroutine.isyieldable(co), coroutine.resume(co, "a", "b")) print(coroutine.status(co), coroutine.resume(co, "x")) print(coroutine.status(co), coroutine.resume(co))
print(coroutine.running()== nil, select(2, coroutine.running()), coroutine.isyieldable(), pcall(coroutine.yield))
local w = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end return "end" end) print(w(), w(), w(), w(), pcall(w))
print(pcall(coroutine.wrap(function() error("wrapped") end))) print(pcall(coroutine.wrap(function() error({}) end)) == false)
print(coroutine.resume(coroutine.create(function() return coroutine.resume(coroutine.running()) end)))
local outer outer = coroutine.create(function() local inner = coroutine.create(function() return coroutine.status(outer) end) return coroutine.resume(inner) end) print(coroutine.resume(outer))
print(coroutine.close(coroutine.create(print)))
local c = coroutine.create(function() local x <close> = setmetatable({}, {__close = function(_, e) print("closing", e) end}) coroutine.yield() end) coroutine.resume(c) print(coroutine.close(c), coroutine.status(c))
c = coroutine.create(function() local x <close> = setmetatable({}, {__close = function() error("in close", 0) end}) coroutine.yield() end) coroutine.resume(c) print(coroutine.close(c)) print(coroutine.status(c), coroutine.close(c))
print(pcall(coroutine.close, coroutine.running()))
c = coroutine.create(error) coroutine.resume(c, "E") print(coroutine.close(c), coroutine.close(c))
-- Yields in odd places.
local function gen() return coroutine.wrap(function()
  local t = setmetatable({}, {__add = function(a, b) return coroutine.yield("add") end, __lt = function() return coroutine.yield("lt") end, __concat = function() return coroutine.yield("concat") end,
    __call = function(_, x) return coroutine.yield("call" .. x) end, __newindex = function(_, k, v) coroutine.yield("set" .. k) end, __eq = function() return coroutine.yield("eq") end, __len = function() return coroutine.yield("len") end})
  local r = {t + 1, t < t, t .. "x", t(5), #t} t.key = 1
  for k in function(_, k) return coroutine.yield("iter") end do r[#r + 1] = k break end
  local ok, e = pcall(function() coroutine.yield("in pcall") error("after", 0) end)
  r[#r + 1] = e
  local ok2, v = xpcall(function() return coroutine.yield("in xpcall") end, print)
  r[#r + 1] = v
  for i, v in ipairs(r) do r[i] = tostring(v) end
  return table.concat(r, " ")
end) end
local g = gen() local v = g() local n = 0 while true do io.write(v, ",") n = n + 1 if v:find(" ") and not v:find("^in ") then break end v = g(n) end print()
print(select("#", coroutine.resume(coroutine.create(function(...) return ... end), nil, nil, nil)))
local deep = 0 local function nest(n) if n == 0 then return "bottom" end return coroutine.wrap(nest)(n - 1) end print(nest(100))
