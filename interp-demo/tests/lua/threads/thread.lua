-- thread: results, errors, joins, coroutines.
local thread = require "thread"

local t = thread.spawn(function(a, b) thread.sleep(0.01) return a + b, nil, "x" end, 3, 4)
for _ = 1, 2 do -- a thread can be joined as often as one likes
  local r = table.pack(t:join())
  assert(r.n == 4 and r[1] == true and r[2] == 7 and r[3] == nil and r[4] == "x")
end
assert(t:status() == "done" and thread.status(t) == "done")

-- errors of any type
local what = {}
local t = thread.spawn(function() thread.sleep(0.01) error(what) end)
local ok, e = t:join()
assert(ok == false and e == what and t:status() == "failed")
local t = thread.spawn(function() thread.sleep(0.01) local x = nil; return x.y end)
local ok, e = t:join()
assert(not ok and e:find("thread.lua:%d+: attempt to index a nil value %(local 'x'%)"), e)
local ok, e = thread.spawn(function() thread.sleep(0.01) coroutine.yield(1) end):join()
assert(not ok and e:find("attempt to yield from outside a coroutine"), e)
local ok, e = pcall(thread.join, thread.self())
assert(not ok and e:find("own end"), e)
assert(not pcall(thread.spawn))
assert(not pcall(thread.spawn, 1))
assert(not pcall(t.join, {}))
assert(not pcall(t.join, t, 0/0))

-- timeouts
local gate = require "queue".new()
local t = thread.spawn(function() return gate:pop() end)
assert(t:status() == "running" or t:status() == "waiting")
local ok, e = t:join(0)
assert(ok == false and e == "timeout")
local ok, e = t:join(0.01)
assert(ok == false and e == "timeout")
gate:push "late"
assert(select(2, t:join(math.huge)) == "late")

-- the handle
assert(thread.self() == thread.self() and thread.self():status() == "running")
local t; t = thread.spawn(function() return thread.self() == t, select(2, coroutine.running()) end)
local _, same, main = t:join()
assert(same == true and main == false)

-- one heap; a loop without waits gives way
local n, stop = 0, false
local spinner = thread.spawn(function() while not stop do n = n + 1 end end)
thread.sleep(0.01)
stop = true
assert(spinner:join() and n > 0)

-- coroutines: resumed by any thread, one at a time
local co = coroutine.create(function(a) local b = coroutine.yield(a + 1) thread.sleep(0.1) return b * 2 end)
assert(select(2, coroutine.resume(co, 1)) == 2)
local t = thread.spawn(function() return coroutine.resume(co, 21) end)
while coroutine.status(co) == "suspended" do thread.sleep(0.001) end
local ok, e = coroutine.resume(co)
assert(not ok and e == "cannot resume non-suspended coroutine")
assert(not pcall(coroutine.close, co))
assert(select(3, t:join()) == 42 and coroutine.status(co) == "dead")

-- sort, gsub, pcall and metamethods are left in the middle
local slow = setmetatable({}, { __index = function(_, k) thread.sleep(0) return k end })
local ts = {}
for i = 1, 20 do
  ts[i] = thread.spawn(function()
    local list = {}
    for j = 1, 30 do list[j] = (j * 7919 + i) % 31 end
    table.sort(list, function(a, b) if a % 5 == 0 then thread.yield() end return a < b end)
    for j = 2, 30 do assert(list[j - 1] <= list[j]) end
    local s = ("abc"):rep(10):gsub("b", function() thread.yield() return slow.B end)
    assert(s == ("aBc"):rep(10))
    local ok, e = pcall(function() thread.sleep(0) error({ i }) end)
    assert(not ok and e[1] == i)
    return i
  end)
end
for i = 1, 20 do assert(select(2, ts[i]:join()) == i) end

-- finalizers that wait, and collections by any thread
local closed = 0
for i = 1, 10 do
  thread.spawn(function()
    setmetatable({}, { __gc = function() thread.sleep(0.001) closed = closed + 1 end })
    collectgarbage()
  end):join()
end
for _ = 1, 200 do
  if closed == 10 then break end
  collectgarbage()
  thread.sleep(0.001)
end
assert(closed == 10, closed)

-- a thread that nobody can wake is an error of the main thread, and of that one alone
local ok, e = pcall(function() return thread.spawn(function(m) return m:join() end, thread.self()):join() end)
assert(not ok and e:find("deadlock"), e)

print "ok"
