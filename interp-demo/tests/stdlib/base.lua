-- The basic functions.
print(type(nil), type(1), type("x"), type({}), type(print), type(coroutine.create(print)), type(io.stdout))
print(tostring(nil), tostring(1.5), tostring(-0.0), tostring(1e100), tostring(true))
print(tonumber("0x1p4"), tonumber("  12  "), tonumber("1e"), tonumber("z", 36), tonumber("8", 8), tonumber(""), tonumber("10", 2))
print(rawequal("a", "a"), rawequal({}, {}), rawlen({1, 2}), rawlen("abc"), rawget(setmetatable({}, {__index = print}), 1))
print(select("#"), select("#", nil, nil), select(2, "a", "b", "c"), select(-1, "a", "b"))
print(_VERSION, _G._G == _G)

local t = setmetatable({}, {
  __tostring = function() return "shown" end,
  __pairs = function(t) return function(_, k) if not k then return 1, "paired" end end, t, nil end,
  __index = function(_, i) if i <= 3 then return i * 10 end end,
  __name = "My.Type",
})
print(t, tostring(t), pcall(tostring, setmetatable({}, {__tostring = function() return {} end})))
for k, v in pairs(t) do print(k, v) end
for i, v in ipairs(t) do print(i, v) end
print((tostring(setmetatable({}, {__name = "My.Type"})):gsub("0x%x+", "ADDR")))
print(pairs({}) == next, ipairs({}) == ipairs({}))
print(getmetatable("").__index == string, getmetatable(setmetatable({}, {__metatable = "locked"})))
print(pcall(setmetatable, setmetatable({}, {__metatable = 1}), {}))

print(pcall(error), pcall(error, nil), pcall(error, {1}) == false)
print(pcall(error, "with level", 1))
print(pcall(error, "with level", 2))
print(pcall(function() error("here") end))
print(pcall(function() error("there", 2) end))
print(pcall(function() error("nowhere", 0) end))
print(select("#", pcall(error, setmetatable({}, {__tostring = function() return "E" end}))))
print(xpcall(function(...) return ... end, print, 1, nil, 3))
print(xpcall(error, function(m) return "handled " .. tostring(m) end, "boom"))
print(xpcall(function() local x = nil; x() end, function(m) return m:gsub("^.-:%d+: ", "") end))
print(pcall(pcall), pcall(xpcall, print))
print(pcall(assert), pcall(assert, false), pcall(assert, nil, "m"), pcall(assert, false, {1}) == false, assert(1, 2, 3))
print(pcall(assert, nil, nil))

print(next({}), next({10}), pcall(next, {}, "no such key"))
local list = {}
for k, v in next, {a = 1, b = 2, 3} do list[#list + 1] = tostring(k) .. "=" .. v end
table.sort(list)
print(table.concat(list, " "))

-- Coroutines may yield inside of metamethods and protected calls.
local co = coroutine.wrap(function()
  local ok, v = pcall(function() return coroutine.yield(1) + 1 end)
  local m = setmetatable({}, {__index = function(_, k) return coroutine.yield(k) end})
  return ok, v, m.field
end)
print(co(), co(41), co("last"))
