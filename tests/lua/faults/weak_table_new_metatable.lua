-- A fully weak table that marking has visited gets another metatable: nothing else names that one, and it must live.
for turn = 1, 60 do
  local weak = setmetatable({}, { __mode = "kv" })
  local ballast = {}
  for i = 1, 200 do ballast[i] = { i } end
  -- Stop the collector at another point of its cycle each turn.
  for _ = 1, turn do collectgarbage("step", 1) end
  setmetatable(weak, { __mode = "kv", __index = function(_, key) return "from " .. key end })
  for _ = 1, 5 do collectgarbage("step", 1) end
  local garbage
  for i = 1, 300 do garbage = { i } end
  collectgarbage()
  assert(weak.x == "from x" and getmetatable(weak).__mode == "kv")
end
print("ok")
