-- Variables that are to be closed: when, in which order, and what errors do.

local log
local function closer(name, fail)
  return setmetatable({}, {__close = function(_, err)
    log[#log + 1] = name .. (err ~= nil and "(" .. tostring(err):gsub("^.-: ", "") .. ")" or "")
    if fail then error(fail, 0) end
  end})
end
local function run(f, ...)
  log = {}
  local results = table.pack(pcall(f, ...))
  return table.concat(log, " "), table.unpack(results, 1, results.n)
end

-- the end of a block, break, goto, return
assert(run(function() do local a <close>, b = closer "a"; local c <close> = closer "c" end log[#log + 1] = "after" end) == "c a after")
assert(run(function() for i = 1, 3 do local x <close> = closer(i); if i == 2 then break end end end) == "1 2")
assert(run(function()
  local i = 0
  ::top::
  do
    local x <close> = closer(i)
    i = i + 1
    if i < 3 then goto top end
  end
end) == "0 1 2")
do
  local order, ok, a, b = run(function() local x <close> = closer "x"; return 1, 2 end)
  assert(order == "x" and ok and a == 1 and b == 2)
end
assert(run(function() while true do local x <close> = closer "w"; do local y <close> = closer "y"; break end end end) == "y w")
assert(run(function() local n <close> = nil; local f <close> = false; local x <close> = closer "x" end) == "x")

-- a returned call is not a tail call
do
  local order, ok, value = run(function()
    local x <close> = closer "x"
    return (function() log[#log + 1] = "called"; return "v" end)()
  end)
  assert(order == "called x" and ok and value == "v")
end

-- errors reach the methods, and may be replaced by them
do
  local order, ok, err = run(function()
    local a <close> = closer("a")
    local b <close> = closer("b", "from b")
    local c <close> = closer("c")
    error("first", 0)
  end)
  assert(order == "c(first) b(first) a(from b)", order)
  assert(not ok and err == "from b")
end
do
  local order, ok, err = run(function() local a <close> = closer("a", "late"); return 1 end)
  assert(order == "a" and not ok and err == "late")
end

-- the fourth value of a generic for
do
  local function iterate(limit)
    return function(_, i) if i < limit then return i + 1 end end, nil, 0, closer "iterator"
  end
  assert(run(function() for i in iterate(3) do log[#log + 1] = tostring(i) end end) == "1 2 3 iterator")
  assert(run(function() for i in iterate(3) do if i == 2 then break end end end) == "iterator")
  assert(run(function() for i in iterate(3) do return i end end) == "iterator")
  assert(run(function() for i in iterate(3) do error("e", 0) end end) == "iterator(e)")
end

-- coroutines: yields in the methods, and closing from outside
do
  local function yielding(name)
    return setmetatable({}, {__close = function(_, err)
      coroutine.yield("closing " .. name)
      log[#log + 1] = name .. (err and "(" .. err .. ")" or "")
    end})
  end
  log = {}
  local co = coroutine.wrap(function()
    local a <close> = yielding "a"
    local b <close> = yielding "b"
    coroutine.yield "body"
    return "result"
  end)
  assert(co() == "body" and co() == "closing b" and co() == "closing a" and co() == "result")
  assert(table.concat(log, " ") == "b a")

  log = {}
  co = coroutine.create(function()
    pcall(function()
      local a <close> = yielding "a"
      error("e", 0)
    end)
    log[#log + 1] = "after"
  end)
  assert(select(2, coroutine.resume(co)) == "closing a")
  assert(coroutine.resume(co))
  assert(table.concat(log, " ") == "a(e) after")

  log = {}
  co = coroutine.create(function() local a <close> = closer "a"; local b <close> = closer "b"; coroutine.yield() end)
  coroutine.resume(co)
  assert(coroutine.close(co) and coroutine.status(co) == "dead" and table.concat(log, " ") == "b a")

  log = {}
  co = coroutine.create(function() local a <close> = closer "a"; local b <close> = closer("b", "no"); coroutine.yield() end)
  coroutine.resume(co)
  local ok, err = coroutine.close(co)
  assert(not ok and err == "no" and table.concat(log, " ") == "b a(no)")
  assert(coroutine.close(coroutine.create(print)))
end

-- upvalues of closed variables keep their values
do
  local function make()
    local up = 1
    local x <close> = setmetatable({}, {__close = function() up = up + 1 end})
    return function() return up end
  end
  assert(make()() == 2)
end

print "ok"
