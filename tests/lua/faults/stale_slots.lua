-- A dead value in an unused slot of a stack keeps no weak entry alive.
local weak = setmetatable({}, { __mode = "v" })
local function fill(n)
  local a, b, c, d = {}, {}, {}, {}
  if n > 0 then fill(n - 1) end
  weak[#weak + 1] = a
  weak[#weak + 1] = d
end
fill(30)
assert(#weak == 62)
collectgarbage()
assert(next(weak) == nil)
-- Registers of a block that is over, below the top, are dropped with the next call that uses them; calls with many arguments.
local function many(...) weak.last = (...) end
many({}, {}, {}, {}, {}, {}, {}, {})
collectgarbage()
assert(weak.last == nil)
-- The stack of a coroutine that yields from deep down, and has come back.
local co = coroutine.wrap(function()
  while true do
    (function() local x = {} weak.co = x coroutine.yield(); x = nil end)()
    collectgarbage()
    assert(weak.co == nil)
    coroutine.yield()
  end
end)
for _ = 1, 6 do co() end
-- What pcall caught.
pcall(function() local x = {} weak.err = x error(x) end)
collectgarbage()
assert(weak.err == nil)
print("ok")
