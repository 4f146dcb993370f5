-- finalizers that wait, and that run long.
local thread, queue = require "thread", require "queue"
local lock, semaphore = require "lock", require "semaphore"

local function finalize(f)
  setmetatable({}, { __gc = f })
  collectgarbage()
  collectgarbage()
end

-- a wait that nobody can end is an error in the finalizer, which ends it or is caught, and the program goes on
local q, l, s = queue.new(), lock.new(nil, true), semaphore.new(1)
l:get()
local function full()
  local q = queue.new { limit = 1 }
  q:push(1)
  return q
end
local waits = {
  function() q:pop() end,
  function() full():push(2) end,
  function() full():finish() end,
  function() l:get() end,
  function() s:take() end,
}
local function in_vain(alone)
  for i, wait in ipairs(waits) do
    local ran, ok, e
    finalize(function() ok, e = pcall(wait) ran = true end)
    assert(ran and not ok and e:find "deadlock", i)
    finalize(function() ran = i wait() ran = nil end)
    assert(ran == i)
    -- with a time limit it is none
    finalize(function() ran = select(2, q:pop(0.001)) end)
    assert(ran == "timeout")
  end
end
in_vain()
-- with another thread that waits too
local go = queue.new()
local other = thread.spawn(function() return go:pop() end)
while other:status() ~= "waiting" do thread.yield() end
in_vain()
go:push("gone")
assert(select(2, other:join()) == "gone")

-- one that computes lets the others run
local seen = false
local other = thread.spawn(function() seen = true end)
finalize(function() while not seen do end end)
assert(seen and other:join())

-- one that waits is woken by the others
local item
local other = thread.spawn(function() q:push("item") end)
finalize(function() item = q:pop() end)
assert(item == "item" and other:join())

print "ok"
