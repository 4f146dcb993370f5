-- Stores during the sweep, when colours mean something else.
local old = {}
for i = 1, 2000 do old[i] = { i } end
for turn = 1, 30 do
  collectgarbage()
  local garbage = {}
  for i = 1, 3000 do garbage[i] = { i } end
  garbage = nil
  -- Small steps over a whole cycle: some of them are in the sweep.
  for step = 1, 60 do
    collectgarbage("step", 1)
    local i = (turn * 61 + step * 7) % 2000 + 1
    old[i].child = { step, { turn } }
    old[i % 2000 + 1].child, old[i].other = old[i].child, function() return old[i] end
    setmetatable(old[i], { __index = { deep = step } })
  end
end
collectgarbage()
local n = 0
for i = 1, 2000 do
  local object = old[i]
  assert(object[1] == i)
  if object.other then
    n = n + 1
    assert(object.other() == object and object.deep >= 1 and object.child[2][1] >= 1)
  end
end
assert(n > 500)
print("ok")
