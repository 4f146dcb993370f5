-- queue: order, limits, timeouts, ends, workers.
local thread, queue = require "thread", require "queue"

local q = queue.new()
assert(q:push(1) and q:push(nil) and q:push(false))
assert(#q == 3 and q:get_size() == 3 and q:get_limit() == nil)
assert(q:pop() == 1 and q:pop() == nil and q:pop() == false)
assert(select(2, q:pop(0)) == "timeout" and select(2, q:pop(0.01)) == "timeout")
for _, bad in ipairs { 0, -1, 1.5, "x", {} } do assert(not pcall(queue.new, { limit = bad })) end
assert(not pcall(queue.new, 3) and not pcall(q.push, {}, 1))

-- sized
local q = queue.new { limit = 2, name = "two" }
assert(q:get_name() == "two" and q:get_limit() == 2)
assert(q:push(1) and q:push(2))
assert(select(2, q:push(3, 0)) == "timeout" and select(2, q:push(3, 0.01)) == "timeout")
local t = thread.spawn(function() return q:push(3) end)
while t:status() ~= "waiting" do thread.sleep(0.001) end
assert(q:pop() == 1 and t:join() and q:pop() == 2 and q:pop() == 3)

-- who waits first is served first
local q, order = queue.new(), {}
local ts = {}
for i = 1, 5 do
  ts[i] = thread.spawn(function() local item = q:pop() order[#order + 1] = { i, item } end)
  while ts[i]:status() ~= "waiting" do thread.sleep(0.001) end
end
for i = 1, 5 do q:push(i) assert(ts[i]:join()) end
for i = 1, 5 do assert(order[i][1] == i and order[i][2] == i) end

-- a storm
local q = queue.new { limit = 7 }
local producers, consumers = {}, {}
local sum, count = 0, 0
for p = 1, 25 do
  producers[p] = thread.spawn(function() for i = 1, 100 do assert(q:push { i, ("x"):rep(i) }) end end)
end
for c = 1, 25 do
  consumers[c] = thread.spawn(function()
    local n = 0
    while true do
      local item, e = q:pop()
      if not item then assert(e == "destroyed") return n end
      assert(#item[2] == item[1])
      sum = sum + item[1]
      n = n + 1
    end
  end)
end
for p = 1, 25 do assert(producers[p]:join()) end
assert(q:finish() == true)
for c = 1, 25 do count = count + select(2, assert(consumers[c]:join())) end
assert(count == 2500 and sum == 25 * 5050)
assert(select(2, q:push(1)) == "destroyed" and select(2, q:pop()) == "destroyed" and #q == 0)

-- stopping
local q = queue.new()
q:push("last")
assert(q:stop() and q:stop())
assert(select(2, q:push(1)) == "stopping")
local t = thread.spawn(function() return q:finish() end)
thread.sleep(0.005)
assert(q:pop() == "last" and select(2, t:join()) == true)
assert(select(2, q:pop()) == "destroyed")
local q = queue.new()
q:push(1)
local ok, e = q:finish(0.01, true)
assert(not ok and e == "timeout" and #q == 1)
local ok, e = q:finish(0.01)
assert(not ok and e == "timeout" and #q == 0)

-- destroyed under those who wait
local q = queue.new { limit = 1 }
local popper = thread.spawn(function() return q:pop() end)
thread.sleep(0.005)
q:destroy()
assert(select(3, popper:join()) == "destroyed")
local q = queue.new { limit = 1 }
q:push(1)
local pusher = thread.spawn(function() return q:push(2) end)
thread.sleep(0.005)
q:destroy()
assert(select(3, pusher:join()) == "destroyed")

-- workers
local q, seen = queue.new(), 0
local w = assert(q:add_worker(function(i) thread.sleep(0.001) seen = seen + i end))
assert(q:add_worker(function(i) seen = seen + i end))
assert(#q:get_workers() == 2)
for i = 1, 20 do q:push(i) end
assert(q:finish(5) and w:join(5) and seen == 210, seen)
while #q:get_workers() > 0 do thread.sleep(0.001) end

-- nobody is left who could push
local ok, e = pcall(q.pop, queue.new())
assert(not ok and e:find("deadlock"), e)
local ts = {}
local q = queue.new()
for i = 1, 10 do ts[i] = thread.spawn(function() return q:pop() end) end
local ok, e = pcall(ts[1].join, ts[1])
assert(not ok and e:find("deadlock"), e)
for i = 1, 10 do q:push(i) end
for i = 1, 10 do assert(ts[i]:join()) end

print "ok"
