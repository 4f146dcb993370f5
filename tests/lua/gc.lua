-- Weak tables, ephemerons, finalizers; and faults that Lua and its embedders have had.

local function collect() collectgarbage(); collectgarbage() end
local function count(t) local n = 0 for _ in pairs(t) do n = n + 1 end return n end

-- weak values, weak keys, both
do
  local values = setmetatable({}, {__mode = "v"})
  local keys = setmetatable({}, {__mode = "k"})
  local both = setmetatable({}, {__mode = "kv"})
  local held = {}
  for i = 1, 100 do
    local keep = i % 10 == 0
    local object = {}
    if keep then held[#held + 1] = object end
    values[i] = object
    keys[object] = i
    both[object] = {}
  end
  values.number, values.string, values.boolean = 1, "text", true
  collect()
  assert(count(values) == 13 and count(keys) == 10 and count(both) == 0)
  assert(values.string == "text")
  for _, object in ipairs(held) do assert(keys[object]) end
end

-- an ephemeron does not keep its own key alive, in chains neither
do
  local e = setmetatable({}, {__mode = "k"})
  do
    local a, b = {}, {}
    e[a] = {b}
    e[b] = {a}
  end
  collect()
  assert(next(e) == nil)
  local head = {}
  local key = head
  for i = 1, 1000 do local nextkey = {}; e[key] = nextkey; key = nextkey end
  key = nil
  collect()
  assert(count(e) == 1000)
  head = nil
  collect()
  assert(count(e) == 0)
end

-- a table that becomes weak while it's full; one that stops being weak
do
  local t = {}
  for i = 1, 10 do t[i] = {} end
  setmetatable(t, {__mode = "v"})
  collect()
  assert(count(t) == 0)
  setmetatable(t, nil)
  for i = 1, 10 do t[i] = {} end
  collect()
  assert(count(t) == 10)
end

-- finalizers: order, once only, resurrection, errors are warnings
do
  local log = {}
  local function finalized(name)
    return setmetatable({name = name}, {__gc = function(o) log[#log + 1] = o.name end})
  end
  for i = 1, 3 do finalized(i) end
  collect()
  assert(table.concat(log, " ") == "3 2 1")

  local saved
  log = {}
  do
    local o = setmetatable({}, {__gc = function(o) log[#log + 1] = "first"; saved = o end})
    o = nil
  end
  collect()
  assert(#log == 1 and saved)
  saved = nil
  collect()
  assert(#log == 1)

  local again = 0
  do
    local mt
    mt = {__gc = function(o) again = again + 1; if again < 3 then setmetatable(o, mt) end end}
    setmetatable({}, mt)
  end
  for _ = 1, 5 do collect() end
  assert(again == 3)

  setmetatable({}, {__gc = function() error "in a finalizer" end})
  collect()

  -- a metatable that gets its __gc later does not count
  log = {}
  local mt = {}
  do setmetatable({}, mt) end
  mt.__gc = function() log[1] = "late" end
  collect()
  assert(#log == 0)
end

-- weak keys see their finalized object once more, weak values do not
do
  local keys = setmetatable({}, {__mode = "k"})
  local values = setmetatable({}, {__mode = "v"})
  local seen
  do
    local o = setmetatable({}, {__gc = function(o) seen = {keys[o], values[1]} end})
    keys[o], values[1] = "data", o
  end
  collect()
  assert(seen[1] == "data" and seen[2] == nil)
  collect()
  assert(next(keys) == nil)
end

-- a finalizer that collects, that allocates, that makes objects with finalizers
do
  local runs = 0
  setmetatable({}, {__gc = function()
    collectgarbage()
    local t = {}
    for i = 1, 1000 do t[i] = {i} end
    setmetatable({}, {__gc = function() runs = runs + 1 end})
    runs = runs + 1
  end})
  for _ = 1, 3 do collect() end
  assert(runs == 2)
end

-- collection in the middle of a metamethod, and of a traversal that removes what it visits
do
  local t = setmetatable({}, {__index = function(_, k) collectgarbage(); return {k} end})
  for i = 1, 10 do assert(t[i][1] == i) end
  local all = {}
  for i = 1, 500 do all[{}] = i end
  local n = 0
  for k in pairs(all) do
    all[k] = nil
    n = n + 1
    if n % 100 == 0 then collectgarbage() end
  end
  assert(n == 500 and next(all) == nil)
end

-- open upvalues, closed ones, and a coroutine that nobody holds
do
  local get
  do
    local object = {1}
    get = function() return object end
  end
  collect()
  assert(get()[1] == 1)
  local weak = setmetatable({}, {__mode = "v"})
  do
    local co = coroutine.wrap(function() local held = {}; weak[1] = held; coroutine.yield() end)
    co()
    collect()
    assert(weak[1])
    co = nil
  end
  collect()
  assert(weak[1] == nil)
end

-- a slot of the stack that is not used any more keeps nothing alive
do
  local weak = setmetatable({}, {__mode = "v"})
  local function fill() local a, b, c, d = {}, {}, {}, {}; weak[1], weak[2], weak[3], weak[4] = a, b, c, d end
  fill()
  collect()
  assert(count(weak) == 0)
end

-- a huge index makes no huge array
do
  local before = collectgarbage "count"
  local t = {}
  t[10000000] = {}
  t[1 << 40] = {}
  assert(collectgarbage "count" - before < 100)
end

-- garbage is collected without being asked for, and steps end
do
  local weak = setmetatable({}, {__mode = "k"})
  weak[{}] = true
  local n = 0
  while next(weak) do
    local garbage = {}
    n = n + 1
    assert(n < 1e8)
  end
  for _ = 1, 100 do collectgarbage("step", 100) end
  collectgarbage "stop"
  assert(not collectgarbage "isrunning")
  collectgarbage "restart"
  assert(collectgarbage "isrunning")
end

-- strings: many of them come and go, equal ones stay equal
do
  local kept = {}
  for i = 1, 20000 do
    local s = "string " .. i % 100 .. ("x"):rep(i % 50)
    if kept[s] == nil then kept[s] = i end
  end
  collect()
  for s, i in pairs(kept) do assert(s == "string " .. i % 100 .. ("x"):rep(i % 50)) end
end

-- the modes can be changed at any time
do
  local mode = collectgarbage "generational"
  assert(mode == "incremental" or mode == "generational")
  for i = 1, 1000 do local t = {i} end
  assert(collectgarbage "incremental" == "generational")
  collect()
end

print "ok"
