-- What every program of the fuzzer begins with. Nothing that it prints depends on addresses or on time.
local fuel = 500
local function tick()
  fuel = fuel - 1
  if fuel < 0 then error("out of fuel", 0) end
end
local function text(v, depth)
  local kind = math.type(v) or type(v)
  if kind == "table" then
    if depth > 2 then return "{...}" end
    local parts = {}
    -- Up to the first hole, since a border behind it may be the length as well.
    for i = 1, 12 do
      local item = rawget(v, i)
      if item == nil then break end
      parts[i] = text(item, depth + 1)
    end
    return "{" .. table.concat(parts, ",") .. "}" .. (getmetatable(v) and "*" or "")
  elseif kind == "function" or kind == "thread" or kind == "userdata" then
    return kind
  elseif v ~= v then
    return "nan"
  end
  return kind:sub(1, 1) .. ":" .. tostring(v)
end
local function show(...)
  local parts = {}
  for i = 1, select("#", ...) do parts[i] = text((select(i, ...)), 0) end
  print(table.concat(parts, " "))
end
local function dense(...)
  local t = {}
  for i = 1, select("#", ...) do t[#t + 1] = (select(i, ...)) end
  return t
end
local function short(s)
  if type(s) ~= "string" and type(s) ~= "number" then s = text(s, 1) end
  return (tostring(s):sub(1, 60))
end
local function id(...) return ... end
local function thrice(a) return a, a, a end
local events = { "add", "sub", "mul", "div", "idiv", "mod", "pow", "band", "bor", "bxor", "shl", "shr" }
local function value(o) if type(o) == "table" then return rawget(o, "v") or 1 end return tonumber(o) or 2 end
local MT = { __name = "Box" }
local function box(v) return setmetatable({ v = v }, MT) end
for i, event in ipairs(events) do
  MT["__" .. event] = function(a, b)
    tick()
    if i % 3 == 0 then return box(value(a)) end
    return event .. ":" .. short(text(value(a), 3)) .. ":" .. short(text(value(b), 3))
  end
end
function MT.__unm(a, b) tick() return rawequal(a, b) and a or 0 end
function MT.__bnot(a) tick() return "bnot", 2 end
function MT.__len(a) tick() return value(a) end
function MT.__concat(a, b) tick() return "cat(" .. short(text(a, 2)) .. short(text(b, 2)) .. ")" end
function MT.__eq(a, b) tick() return rawequal(value(a), value(b)) and 1 end
function MT.__lt(a, b) tick() return tostring(value(a)) < tostring(value(b)) and "yes" or nil end
function MT.__le(a, b) tick() return tostring(value(a)) <= tostring(value(b)) end
function MT.__index(o, k) tick() if k == "none" then return nil end return type(k) == "string" and k .. "?" or k end
function MT.__newindex(o, k, v) tick() rawset(o, "last", v) end
function MT.__call(self, ...) tick() return select("#", ...), ... end
function MT.__tostring(o) tick() return "box<" .. short(text(rawget(o, "v"), 2)) .. ">" end
function MT.__close(o, e) tick() print("close", text(rawget(o, "v"), 1), text(e, 1)) end
local Base = { greet = function(self, x) tick() return "hi", x, self.name end, n = 10 }
Base.__index = Base
local Derived = setmetatable({ extra = "e" }, Base)
Derived.__index = Derived
local function object(name) return setmetatable({ name = name }, Derived) end
local function proxy(t) return setmetatable({}, { __index = t, __newindex = t, __len = function() return #t end }) end
local function closer(name, fails)
  return setmetatable({}, { __close = function(_, e)
    print("closing", text(name, 1), text(e, 1))
    if fails then error("close " .. short(text(name, 1)), 0) end
  end })
end
local g1, g2, g3 = 1, "two", 3.5
G1, G2, GT = 10, "global", { 5, 6, 7, k = "key" }
local list = { 3, 1, 2 }
local fs = {}
local function try(name, f, ...)
  print(name, (function(ok, ...) show(ok, ...) return ok end)(pcall(f, ...)))
end
