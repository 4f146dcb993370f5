-- dkjson, without lpeg and with what is there instead.
local json = require "dkjson"
local order = { "a", "b", "list", "nested" }
local value = { a = 1, b = "tab\t\"quoted\" \1 \226\130\172", list = { 1, 2.5, true, json.null }, nested = { { x = {} } } }
print(json.encode(value, { keyorder = order }))
print(json.encode(value, { indent = true, keyorder = order, level = 1 }))
print(json.encode{}, json.encode(setmetatable({}, { __jsontype = "object" })), json.encode{ n = 3, 1, nil, 3 }, json.encode(1e300), json.encode(0.1), json.encode(2^53))
print(pcall(json.encode, { [{}] = 1 }))
print(pcall(json.encode, { f = print }))
local cycle = {}
cycle[1] = cycle
print(pcall(json.encode, cycle))
print(json.encode({ f = print }, { exception = function(reason, v, state, default) return '"?"' end }))
for _, text in ipairs{
  '{"a":[1,2,{"b":null}],"c":"\\u00e4\\ud83d\\ude00\\n"}', "[1.5e3,-0,0.1,1E-2,12345678901234567890]", " [ ] ", '"x"', "null", "[1,2", '{"a":}', '{"a" 1}',
  "[1 2]", "tru", '"abc', "// c\n[1]", "/* c */ {}", '{"a":1,}', "", "[nan]", '"\\x"',
} do
  local v, at, why = json.decode(text)
  print(text, json.encode(v, { keyorder = { "a", "c" } }), at, why)
end
print(json.decode("[null]", 1, false)[1], json.decode("[null]")[1], getmetatable(json.decode("{}")).__jsontype)
print(json.quotestring("\0\31\127\194\173"), json.version, json.use_lpeg ~= nil)
local big = {}
for i = 1, 2000 do big[i] = { id = i, name = "name " .. i, tags = { "x", "y" } } end
local text = json.encode(big, { keyorder = { "id", "name", "tags" } })
local back = json.decode(text)
print(#text, #back, back[1999].name, json.encode(back, { keyorder = { "id", "name", "tags" } }) == text)
