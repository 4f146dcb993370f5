-- inspect: values of all kinds as text.
local inspect = require "inspect"
print(inspect(1), inspect(1.5), inspect("a\n\"b'\0\127\200"), inspect('it\'s "x"'), inspect(nil), inspect(true))
print(inspect{}, inspect{ 1, 2, 3 }, inspect{ a = 1, b = { c = { d = 1 } }, 7, 8, [10] = 9 })
print(inspect{ ["not an id"] = 1, [true] = 2, [1.5] = 3, ["end"] = 4, _ok = 5 })
local cycle = { name = "c" }
cycle.self, cycle.list = cycle, { cycle, {} }
print(inspect(cycle))
print(inspect(setmetatable({ 1 }, { __index = { x = 1 }, __tostring = function() return "T" end })))
print(inspect({ a = { b = { c = {} } } }, { depth = 2 }), inspect({ 1, { 2 } }, { newline = "@", indent = ">" }))
print(inspect({ a = 1, secret = 2, list = { secret = 3 } }, {
  process = function(item, path) if path[#path] ~= "secret" then return item end end,
}))
print(inspect({ a = 1, [inspect.METATABLE] = 2 }, {
  process = function(item, path) if path[#path] ~= inspect.METATABLE then return item end end,
}))
local f = function() end
print(inspect{ f, f, print, coroutine.create(f) })
print(inspect{ 1, 2, nil, 4, n = 4 }, inspect{ [1] = "a", [3] = "c" }, inspect{ {}, {}, { {} } })
print(inspect{ 1e100, -0.0, math.huge, 2^53, math.mininteger })
