-- timer: once, again and again, cancelled, failing.
local thread, timer, queue = require "thread", require "timer", require "queue"

local q = queue.new()
local once = timer.new { delay = 0.01, params = "p", name = "one", callback = function(...) q:push { ... } end }
assert(once:is_armed() and once:get_name() == "one")
assert(select(2, once:arm()) == "already armed")
local args = q:pop()
assert(args[1] == once and args[2] == "p")
assert(select(2, once:cancel()) == "not armed" and not once:is_armed())
assert(once:arm(0) == once and q:pop()[1] == once)

-- by their times, not by the order in which they were made
for i = 5, 1, -1 do timer.new { delay = i * 0.1, params = i, callback = function(_, p) q:push(p) end } end
for i = 1, 5 do assert(q:pop() == i) end

-- recurring, until it cancels itself
local count = 0
local r = timer.new { delay = 0.005, initial_delay = 0, recurring = true, callback = function(self)
  count = count + 1
  assert(self:is_armed() and select(2, self:arm()) == "already armed")
  if count == 5 then assert(self:cancel() == self) q:push "end" end
end }
assert(q:pop() == "end" and not r:is_armed())
thread.sleep(0.03)
assert(count == 5)

-- cancelled before its time
local never = timer.new { delay = 0.02, callback = function() error "cancelled" end }
assert(never:cancel() == never and select(2, never:cancel()) == "not armed")
-- many
local left = 200
for i = 1, 200 do
  local t = timer.new { delay = (i % 10) / 500, callback = function() left = left - 1 if left == 0 then q:push(0) end end }
  local gone = timer.new { delay = 0.001, callback = function() error "cancelled" end }
  gone:cancel()
end
assert(q:pop() == 0)

-- errors
local t = timer.new { delay = 0, callback = function() error { "x" } end, errorhandler = function(e, t) q:push(e) q:push(t) end }
assert(q:pop()[1] == "x" and q:pop() == t)
assert(not pcall(timer.new) and not pcall(timer.new, {}) and not pcall(timer.new, { delay = 1 }))
assert(not pcall(timer.new, { delay = -1, callback = print }))
assert(not pcall(timer.new, { delay = 1, initial_delay = "x", callback = print }))
-- a callback may wait
timer.new { delay = 0, callback = function() thread.sleep(0.01) q:push "woken" end }
assert(q:pop() == "woken")
-- an unreachable timer is called as well
do timer.new { delay = 0.01, callback = function() q:push "kept" end } end
collectgarbage()
assert(q:pop() == "kept")

print "ok"
