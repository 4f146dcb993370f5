-- 200 threads that do everything at once, on one queue, one lock and one semaphore, beside a timer that collects and fails.
local thread, queue, lock = require "thread", require "queue", require "lock"
local semaphore, timer = require "semaphore", require "timer"

local q, l, s = queue.new { limit = 5 }, lock.new(0.005), semaphore.new(3, 3, 0.005)
local ticks, inside = 0, 0
local t = timer.new { delay = 0.001, recurring = true, errorhandler = function() end, callback = function()
  ticks = ticks + 1
  collectgarbage("step")
  if ticks % 7 == 0 then error "tick" end
end }
local actions = {
  function(i) q:push({ i, ("x"):rep(i) }, 0.001) end,
  function() local item = q:pop(0.001) assert(item == nil or #item[2] == item[1]) end,
  function()
    if l:get() then
      inside = inside + 1
      thread.yield()
      assert(inside == 1)
      inside = inside - 1
      assert(l:release())
    end
  end,
  function(i) local n = 1 + i % 3 if s:take(n) then thread.sleep(0.0005) assert(s:give(n)) end end,
  function() thread.sleep(0.0001) end,
  function() local co = coroutine.wrap(function() thread.yield() coroutine.yield(1) end) co() co() end,
  function()
    local closes = setmetatable({}, { __close = function() thread.yield() end })
    assert(not pcall(function() local _ <close> = closes error "x" end))
  end,
  function() setmetatable({}, { __gc = function() thread.sleep(0) end }) end,
  function()
    local list = {}
    for j = 1, 50 do list[j] = { j } end
    table.sort(list, function(a, b) return a[1] > b[1] end)
    assert(list[1][1] == 50 and list[50][1] == 1)
  end,
}
local ts = {}
for i = 1, 200 do
  ts[i] = thread.spawn(function()
    local random = i
    for _ = 1, 40 do
      random = (random * 1103515245 + 12345) & 0x7fffffff
      actions[(random >> 8) % #actions + 1](i)
    end
  end)
end
for i = 1, 200 do assert(ts[i]:join()) end
assert(t:cancel() == t and ticks > 0)
assert(s:get_count() == 3 and inside == 0 and l:get(0) == l)

print "ok"
