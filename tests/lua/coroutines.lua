-- Coroutines: yields from everywhere, states, errors.

local yield, wrap, create, resume = coroutine.yield, coroutine.wrap, coroutine.create, coroutine.resume

-- across pcall, xpcall and error handlers
do
  local co = wrap(function()
    local ok, a = pcall(function() return yield(1) + 1 end)
    assert(ok and a == 11)
    local ok, message = xpcall(function() yield(2); error("e", 0) end, function(m) return m .. "!" end)
    assert(not ok and message == "e!")
    return "end"
  end)
  assert(co() == 1 and co(10) == 2 and co() == "end")
end

-- across metamethods
do
  local mt = {}
  for _, event in ipairs {"add", "concat", "unm", "len", "eq", "lt", "le", "index", "call", "band", "shl", "idiv"} do
    mt["__" .. event] = function(a, b) return yield(event) end
  end
  mt.__newindex = function() yield "newindex" end
  local a, b = setmetatable({}, mt), setmetatable({}, mt)
  local function check(f, event, answer, expected)
    local co = wrap(f)
    assert(co() == event, event)
    local got = co(answer)
    assert(got == expected, event)
  end
  check(function() return a + 1 end, "add", 5, 5)
  check(function() return 1 + a end, "add", 6, 6)
  check(function() return a .. "x" end, "concat", "c", "c")
  check(function() return "x" .. "y" .. a end, "concat", "c", "xc")
  check(function() return -a end, "unm", 7, 7)
  check(function() return #a end, "len", 8, 8)
  check(function() return a == b end, "eq", 1, true)
  check(function() return a ~= b end, "eq", false, true)
  check(function() return a < b end, "lt", nil, false)
  check(function() return a >= b end, "le", true, true)
  check(function() return a.x end, "index", 9, 9)
  check(function() return a[1] end, "index", 9, 9)
  check(function() return a(1) end, "call", "r", "r")
  check(function() return a & 1 end, "band", 3, 3)
  check(function() return 1 << a end, "shl", 3, 3)
  check(function() return a // b end, "idiv", 3, 3)
  check(function() if a < b then return "yes" else return "no" end end, "lt", true, "yes")
  check(function() a.x = 1; return "stored" end, "newindex", nil, "stored")
end

-- in iterators
do
  local co = wrap(function()
    local sum = 0
    for v in function() return yield "next" end do sum = sum + v end
    return sum
  end)
  assert(co() == "next" and co(1) == "next" and co(2) == "next" and co(nil) == 3)
end

-- generators in generators
do
  local function tree(n) if n > 0 then tree(n - 1); yield(n); tree(n - 1) end end
  local out = {}
  for v in wrap(function() tree(3) end) do out[#out + 1] = v end
  assert(table.concat(out, " ") == "1 2 1 3 1 2 1")
end

-- values in and out
do
  local co = create(function(...)
    local n = select("#", ...)
    local t = table.pack(yield(n, ...))
    return t.n
  end)
  local t = table.pack(resume(co, nil, 2, nil))
  assert(t.n == 5 and t[1] and t[2] == 3 and t[4] == 2)
  assert(select(2, resume(co, nil, nil)) == 2)
  local ok, message = resume(co)
  assert(not ok and message == "cannot resume dead coroutine")
end

-- states
do
  local co
  co = create(function()
    assert(coroutine.status(co) == "running" and coroutine.isyieldable())
    local inner = create(function() assert(coroutine.status(co) == "normal") end)
    assert(resume(inner))
    local ok, message = resume(co)
    assert(not ok and message == "cannot resume non-suspended coroutine")
    yield()
  end)
  assert(coroutine.status(co) == "suspended")
  assert(resume(co))
  assert(coroutine.status(co) == "suspended" and resume(co) and coroutine.status(co) == "dead")
  local main, is_main = coroutine.running()
  assert(type(main) == "thread" and is_main and not coroutine.isyieldable())
  local ok, message = pcall(yield)
  assert(not ok and message == "attempt to yield from outside a coroutine")
  local ok, message = pcall(wrap(function() error({}) end))
  assert(not ok and type(message) == "table")
end

-- deep recursion inside a coroutine, and deep nesting of coroutines
do
  local function depth(n) if n == 0 then return 0 end return 1 + depth(n - 1) end
  assert(wrap(depth)(10000) == 10000)
  local function nest(n) if n == 0 then return "deep" end return wrap(nest)(n - 1) end
  assert(nest(100) == "deep")
  local ok, message = pcall(function() local function f() return 1 + f() end return f() end)
  assert(not ok and message:find "stack overflow")
end

-- tail calls need no stack
do
  local function loop(n) if n == 0 then return "done" end return loop(n - 1) end
  assert(loop(1000000) == "done")
end

print "ok"
