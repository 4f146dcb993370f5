-- The metatable is weak itself, and the value of its __newindex is garbage while an assignment goes through it.
local log = 0
for turn = 1, 100 do
  local mt = setmetatable({}, { __mode = "v" })
  mt.__newindex = setmetatable({}, { __newindex = function(_, key, value) log = log + value end })
  local object = setmetatable({}, mt)
  -- In the middle of the assignment the value to be stored is made by a collection.
  object[turn] = (function() collectgarbage("step", 100) return 1 end)()
  collectgarbage()
  -- By now there may be no __newindex any more: then the key is stored.
  object.other = 5
  assert(rawget(object, "other") == 5 or mt.__newindex)
  mt.__index = function() return "index" end
  local index = mt.__index
  assert(index == nil or object.absent == "index")
end
print("ok")
