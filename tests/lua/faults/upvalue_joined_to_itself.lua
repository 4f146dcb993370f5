-- debug.upvaluejoin of an upvalue with itself, and crosswise.
local function pair()
  local x, y = { 1 }, { 2 }
  return function() return x, y end, function(a, b) x, y = a, b end
end
for turn = 1, 50 do
  local get, set = pair()
  collectgarbage("step", turn)
  debug.upvaluejoin(get, 1, get, 1)
  debug.upvaluejoin(set, 2, set, 2)
  collectgarbage()
  local x, y = get()
  assert(x[1] == 1 and y[1] == 2)
  debug.upvaluejoin(get, 1, get, 2)
  collectgarbage()
  x, y = get()
  assert(x == y and x[1] == 2)
  set({ 3 }, { 4 })
  collectgarbage()
  x, y = get()
  assert(x[1] == 4 and x == y and debug.upvalueid(get, 1) == debug.upvalueid(get, 2))
end
print("ok")
