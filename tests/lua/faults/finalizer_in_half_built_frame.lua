-- Finalizers run at safe points: also where calls, vararg frames, concatenations, tables and loops are being set up.
local runs = 0
local mt
mt = { __gc = function(object)
  runs = runs + 1
  local a, b, c, d, e, f, g, h = 1, 2, 3, 4, 5, 6, 7, 8
  local function deep(n) if n > 0 then return (deep(n - 1)) end return select("#", a, b, c, d, e, f, g, h) end
  assert(deep(20) == 8)
  if runs < 3000 then setmetatable({}, mt) end
end }
for _ = 1, 20 do setmetatable({}, mt) end
local function varargs(...)
  local t = { ..., n = select("#", ...), x = { ... } }
  return ...
end
local function check(n)
  local values = {}
  for i = 1, n do values[i] = i .. "" end
  local got = table.pack(varargs(table.unpack(values)))
  assert(got.n == n)
  for i = 1, n do assert(got[i] == i .. "") end
  local text = values[1] .. "," .. (values[2] or "") .. "," .. tostring({}):sub(1, 5) .. n
  assert(text:find(",table" .. n, 1, true))
  for i, v in ipairs(values) do assert(v == i .. "") end
  local object <close> = setmetatable({}, { __close = function() collectgarbage("step", 1) end })
  return (" "):rep(n):gsub(" ", function() collectgarbage("step", 1) return "x" end)
end
for turn = 1, 30 do assert(#check(turn % 30 + 1) == turn % 30 + 1) end
local co = coroutine.wrap(function(...)
  while true do collectgarbage("step", 1); coroutine.yield(varargs(...)) end
end)
for i = 1, 100 do local a, b, c = co("a", i, "c"); assert(i > 1 or (a == "a" and b == 1 and c == "c")) end
collectgarbage()
assert(runs > 0)
print("ok")
