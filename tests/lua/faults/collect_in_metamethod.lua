-- collectgarbage() inside a metamethod: operands and results that only the running instruction names live on.
local function full(...) collectgarbage() return ... end
local mt = {}
for _, event in ipairs{ "add", "sub", "mul", "div", "mod", "pow", "idiv", "band", "bor", "bxor", "shl", "shr", "concat" } do
  mt["__" .. event] = function(a, b) full(); return setmetatable({ event, a, b }, mt) end
end
mt.__unm = function(a) full(); return setmetatable({ "unm", a }, mt) end
mt.__len = function(a) full(); return { "len", a } end
mt.__index = function(t, k) full(); return { k } end
mt.__newindex = function(t, k, v) full(); rawset(t, k, full({ v })) end
mt.__call = function(self, ...) full(); return { ... }, full({ "second" }) end
mt.__eq = function(a, b) full(); return true end
mt.__lt = function(a, b) full(); return {} end
mt.__le = function(a, b) full(); return nil end
mt.__close = function() full() end
local function new() return setmetatable({}, mt) end
for _ = 1, 5 do
  local sum = new() + new() * (new() .. "x") // new() | 5
  assert(sum[1] == "bor" and sum[2][1] == "add")
  assert((-new())[1] == "unm" and (#new())[1] == "len" and new()[{ 1 }][1][1] == 1 and new().name[1] == "name")
  local t = new()
  t[{}], t.x = { 1 }, { 2 }
  assert(rawget(t, "x")[1][1] == 2)
  local first, second = new()({ 3 }, { 4 })
  assert(first[1][1] == 3 and first[2][1] == 4 and second[1] == "second")
  assert(new() == new() and new() < new() and not (new() <= new()))
  do local closing <close> = new() end
  for a, b in function(_, i) full(); if not i then return { 1 }, { 2 } end end do assert(a[1] == 1 and b[1] == 2) end
  local sorted = { 5, 3, 1, 4 }
  table.sort(sorted, function(a, b) full(); return a < b end)
  assert(sorted[1] == 1)
  assert(("abc"):gsub(".", function(c) full(); return c .. c end) == "aabbcc")
  assert(select(2, pcall(function() error(full({ "e" })) end))[1] == "e")
  assert(tostring(setmetatable({}, { __tostring = function() return full("text" .. _) end })) == "text" .. _)
end
print("ok")
