-- A weak table that has survived collections is cleared by the one in which its entries die.
local tables, held = {}, {}
for i = 1, 30 do
  tables[i] = setmetatable({}, { __mode = ({ "k", "v", "kv" })[i % 3 + 1] })
  held[i] = { i }
  -- In a table of weak values a key is strong.
  tables[i][i % 3 == 1 and i or held[i]] = held[i]
  tables[i].plain = i
end
for _ = 1, 5 do
  collectgarbage()
  for i = 1, 30 do assert(tables[i][i % 3 == 1 and i or held[i]] == held[i]) end
end
held = nil
collectgarbage() collectgarbage()
for i = 1, 30 do
  local key, value = next(tables[i])
  assert(key == "plain" and value == i and next(tables[i], key) == nil, i)
end
-- New entries in old tables go as well.
for i = 1, 30 do tables[i][i % 3 == 1 and i or {}] = {} end
collectgarbage()
for i = 1, 30 do assert(next(tables[i]) == "plain" and next(tables[i], "plain") == nil) end
print("ok")
