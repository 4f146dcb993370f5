-- Stores of new keys into old tables, with metatables that have no __newindex: each way of storing must shade.
local mt = { __index = function() return nil end }
local all = {}
for i = 1, 300 do all[i] = setmetatable({ i }, i % 2 == 0 and mt or nil) end
collectgarbage()
for turn = 1, 200 do
  collectgarbage("step", 1)
  for i = 1, 300, 7 do
    local t = all[i]
    t["name" .. turn % 5] = { turn }          -- a string key
    t[turn % 9 + 2] = { turn }                -- an integer key, perhaps behind the array
    t[turn % 3 + 0.5] = { turn }              -- a float key
    rawset(t, "raw", { turn })
    t[mt] = { turn }                          -- an object as key
  end
end
collectgarbage()
for i = 1, 300, 7 do
  local t = all[i]
  for n = 0, 4 do assert(t["name" .. n][1] > 190) end
  for n = 2, 10 do assert(t[n][1] > 190) end
  assert(t.raw[1] == 200 and t[mt][1] == 200 and t[0.5][1] > 190)
end
print("ok")
