-- lock and semaphore: exclusion, order, timeouts, ends.
local thread, lock, semaphore = require "thread", require "lock", require "semaphore"

-- 50 threads that change a number in two steps
local l, n, ts = lock.new(), 0, {}
for i = 1, 50 do
  ts[i] = thread.spawn(function()
    for j = 1, 40 do
      local held <close> = l:get()
      local before = n
      if (i + j) % 10 == 0 then thread.yield() end
      n = before + 1
    end
  end)
end
for i = 1, 50 do assert(ts[i]:join()) end
assert(n == 2000, n)

-- as often released as it was got
local got, waited = l:get()
assert(got == l and waited == 0 and l:get() == l)
local t = thread.spawn(function() return l:get(0.01) end)
local _, nothing, why, waited = t:join()
assert(nothing == nil and why == "timeout" and waited >= 0.01)
assert(select(2, thread.spawn(function() return select(2, l:get(0)) end):join()) == "timeout")
assert(select(3, thread.spawn(function() return l:release() end):join()) == "cannot release a lock not owned")
assert(l:release())
local t = thread.spawn(function() local got = l:get() local more = l:release() return got == l, more end)
while t:status() ~= "waiting" do thread.sleep(0.001) end
assert(l:release())
local _, one, two = t:join()
assert(one and two)
assert(select(2, l:release()) == "cannot release a lock not owned")

-- handed over in order, although the owner asks for it again at once
local order, ts = {}, {}
l:get()
for i = 1, 5 do
  ts[i] = thread.spawn(function() l:get() order[#order + 1] = i l:release() end)
  while ts[i]:status() ~= "waiting" do thread.sleep(0.001) end
end
l:release()
l:get()
assert(#order == 5)
l:release()
for i = 1, 5 do assert(order[i] == i and ts[i]:join()) end

-- an error leaves the block, and the lock
assert(not pcall(function() local _ <close> = l:get() error "out" end))
assert(l:get(0) == l and l:release())
-- the end of its owner frees it
thread.spawn(function() l:get() end):join()
assert(l:get(0) == l and l:release())
-- also for those who wait already, in their order, however it ends
local function waiters(l, n)
  local got, ts = {}, {}
  for i = 1, n do
    ts[i] = thread.spawn(function() assert(l:get()) got[#got + 1] = i end)
    while ts[i]:status() ~= "waiting" do thread.sleep(0.001) end
  end
  return ts, got
end
local function ends(f)
  local go = semaphore.new(1)
  local t = thread.spawn(function() f(go) end)
  while t:status() ~= "waiting" do thread.sleep(0.001) end
  local ts, got = waiters(l, 5)
  go:give()
  for i = 1, 5 do assert(ts[i]:join()) assert(got[i] == i) end
  t:join()
  assert(l:get(0) == l and l:release())
end
ends(function(go) l:get() go:take() end)
ends(function(go) l:get() go:take() error "out" end)
local after = semaphore.new(1)
local function held(go) l:get() coroutine.yield() go:take() end
local function resume_twice(f, go)
  local co = coroutine.create(f)
  coroutine.resume(co, go)
  coroutine.resume(co)
  after:take(1, 0.01)
  return co
end
ends(function(go) resume_twice(held, go) end)
ends(function(go) resume_twice(function(go) held(go) error "out" end, go) end)
ends(function(go)
  local co = coroutine.create(held)
  coroutine.resume(co)
  go:take()
  coroutine.close(co)
end)
-- the main thread waits
local is_held
local t = thread.spawn(function() l:get() is_held = true thread.sleep(0.01) end)
while not is_held do thread.sleep(0.001) end
assert(l:get() == l and l:release() and t:join())
-- not reentrant; a time limit of its own
local strict = lock.new(0.01, true)
assert(strict:get() and select(2, strict:get()) == "timeout" and strict:release())
-- destroyed under those who wait
l:get()
local t = thread.spawn(function() return l:get() end)
while t:status() ~= "waiting" do thread.sleep(0.001) end
assert(l:destroy() and select(3, t:join()) == "destroyed")
assert(select(2, l:get()) == "destroyed")
assert(not pcall(lock.new, -1) and not pcall(l.get, 1))
-- a deadlock is an error in the main thread, which can go on
local a, b = lock.new(), lock.new()
a:get()
local t = thread.spawn(function() b:get() local ok = a:get() b:release() a:release() return ok == a end)
while t:status() ~= "waiting" do thread.sleep(0.001) end
local ok, e = pcall(b.get, b)
assert(not ok and e:find("deadlock"), e)
a:release()
assert(select(2, t:join()) == true)

-- semaphores
local s = semaphore.new(5, 2)
assert(s:take() and s:take() and s:get_count() == 0)
assert(select(2, s:take(1, 0)) == "timeout" and select(2, s:take(1, 0.01)) == "timeout")
assert(select(2, s:take(6)) == "too many")
local first = thread.spawn(function() return s:take(3) end)
while first:status() ~= "waiting" do thread.sleep(0.001) end
local second = thread.spawn(function() return s:take(1) end)
while second:status() ~= "waiting" do thread.sleep(0.001) end
assert(s:get_wait() == 4)
s:give(2)
assert(s:get_wait() == 2, "the first one wants three, and the second one waits behind it")
s:give(2)
assert(select(2, first:join()) == true and select(2, second:join()) == true and s:get_count() == 0)
-- who times out makes room for those behind
local big = thread.spawn(function() return s:take(5, 0.05) end)
while big:status() == "running" do thread.sleep(0.001) end
local small = thread.spawn(function() return s:take(1) end)
while small:status() ~= "waiting" do thread.sleep(0.001) end
s:give(1)
assert(select(3, big:join()) == "timeout" and select(2, small:join()) == true)
assert(select(2, s:give(9)) == "too many" and s:get_count() == 5)
-- what is missing for all is told as well as it fits
local huge, ts = semaphore.new(math.maxinteger), {}
for i = 1, 3 do
  ts[i] = thread.spawn(function() return huge:take(math.maxinteger) end)
  while ts[i]:status() ~= "waiting" do thread.sleep(0.001) end
end
assert(huge:get_wait() == math.maxinteger)
huge:destroy()
for i = 1, 3 do assert(select(3, ts[i]:join()) == "destroyed") end
for _, bad in ipairs { 0, -1 } do assert(not pcall(semaphore.new, bad)) end
assert(not pcall(semaphore.new) and not pcall(semaphore.new, 2, 3) and not pcall(s.give, s, -1))
local gate = semaphore.new(1)
local t = thread.spawn(function() return gate:take() end)
while t:status() ~= "waiting" do thread.sleep(0.001) end
gate:destroy()
assert(select(3, t:join()) == "destroyed" and select(2, gate:take()) == "destroyed")
-- at most three at a time
local s, inside, most, ts = semaphore.new(3, 3), 0, 0, {}
for i = 1, 50 do
  ts[i] = thread.spawn(function()
    assert(s:take())
    inside = inside + 1
    most = math.max(most, inside)
    thread.sleep(0.001)
    inside = inside - 1
    s:give()
  end)
end
for i = 1, 50 do assert(ts[i]:join()) end
assert(most == 3 and inside == 0 and s:get_count() == 3)

print "ok"
