-- A thread that computes gives way to those that want to run, however it computes.
local thread, socket = require "thread", require "socket"

-- Requests that are answered at once keep the interpreter lock, but count as computing.
for name, request in pairs {
  select = function() socket.select({}, nil, 0) end,
  step = function() collectgarbage("step", 1) end,
  mode = function() collectgarbage("generational") end,
} do
  local has_run, turns = false, 0
  local t = thread.spawn(function() has_run = true end)
  repeat request(); turns = turns + 1 until has_run or turns == 300000
  assert(has_run, name)
  t:join()
end

-- So do tail calls, which come to a safe point as often as loops do: the shortest of some rounds counts.
local round, shortest = 0, math.huge
local t = thread.spawn(function() for i = 1, 20 do thread.sleep(0.001); round = i end end)
local function spin(this, calls)
  if round ~= this then return calls end
  return spin(this, calls + 1)
end
for i = 0, 19 do shortest = math.min(shortest, spin(i, 0)) end
assert(shortest < 500000, shortest)
t:join()

print "ok"
