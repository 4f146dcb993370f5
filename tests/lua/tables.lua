-- Tables: borders, traversal, sizes, keys of all types, metamethods of access.

-- keys
do
  local f, t, co = function() end, {}, coroutine.create(print)
  local keys = {1, -1, 0, 1.5, 2^53, math.huge, "s", "", ("long"):rep(50), true, false, f, print, t, co, math.mininteger}
  local all = {}
  for i, k in ipairs(keys) do all[k] = i end
  for i, k in ipairs(keys) do assert(all[k] == i, tostring(k)) end
  assert(all[("long"):rep(50)] and all[1.0] == 1 and all[-0.0] == 3)
  local n = 0
  for k, v in pairs(all) do n = n + 1; assert(all[k] == v and keys[v] == k or k == 0) end
  assert(n == #keys)
end

-- borders
do
  local function is_border(t, n) return (n == 0 or t[n] ~= nil) and t[n + 1] == nil end
  local t = {}
  for i = 1, 100 do t[i] = i; assert(#t == i) end
  for i = 100, 1, -1 do t[i] = nil; assert(#t == i - 1) end
  for size = 0, 40 do
    local t = {}
    for i = size, 1, -1 do t[i] = i end
    assert(#t == size)
    for hole = 1, size do t[hole] = nil; assert(is_border(t, #t)); t[hole] = hole end
  end
  assert(is_border({1, 2, nil, 4}, #{1, 2, nil, 4}) and #{n = 1} == 0 and #{nil} == 0 and #{nil, nil, 3} == 3)
  local t = {n = 1, [1] = 1, [2] = 2, [4] = 4}
  assert(is_border(t, #t))
end

-- growth through the hash, in any order, with holes filled later
do
  local t = {}
  for i = 2, 1000 do t[i] = i end
  assert(#t == 0 or #t == 1000)
  t[1] = 1
  assert(#t == 1000)
  local u = {}
  for i = 0, 999 do u[i * 7919 % 1000 + 1] = i end
  assert(#u == 1000)
  local sum = 0
  for _, v in ipairs(u) do sum = sum + v end
  assert(sum == 999 * 500)
end

-- traversal: fields may be changed and removed on the way
do
  local t = {}
  for i = 1, 100 do t[i] = i; t["k" .. i] = i end
  local seen = 0
  for k, v in pairs(t) do
    seen = seen + 1
    if type(k) == "string" then t[k] = nil else t[k] = -v end
  end
  assert(seen == 200)
  for i = 1, 100 do assert(t[i] == -i and t["k" .. i] == nil) end
  assert(next({}) == nil and next({10}) == 1 and select("#", next({})) == 1)
  local ok, message = pcall(next, {}, "absent")
  assert(not ok and message:find "invalid key to 'next'")
  local order = {}
  for i in ipairs {1, 2, nil, 4} do order[#order + 1] = i end
  assert(#order == 2)
end

-- __pairs, __index chains, __newindex tables and functions
do
  local log = {}
  local proxy = setmetatable({}, {
    __pairs = function(t) return function(_, k) k = (k or 0) + 1; if k <= 3 then return k, k * k end end, t, nil end,
    __index = function(_, k) log[#log + 1] = "get " .. k; return k .. "!" end,
    __newindex = function(t, k, v) log[#log + 1] = "set " .. k; rawset(t, k, v) end,
  })
  local sum = 0
  for _, v in pairs(proxy) do sum = sum + v end
  assert(sum == 14 and proxy.x == "x!")
  proxy.y = 1
  proxy.y = 2
  assert(proxy.y == 2 and table.concat(log, ",") == "get x,set y")
  local a = {x = 1}
  local b = setmetatable({y = 2}, {__index = a})
  local c = setmetatable({}, {__index = b, __newindex = b})
  assert(c.x == 1 and c.y == 2 and c.z == nil)
  c.z = 3
  assert(rawget(c, "z") == nil and b.z == 3 and c.z == 3)
  local loop = setmetatable({}, {})
  getmetatable(loop).__index = loop
  local ok, message = pcall(function() return loop.x end)
  assert(not ok and message:find "'__index' chain too long; possible loop")
end

-- __len, __eq, __call, __concat, __close by name, __name
do
  local mt = {__len = function() return 42 end, __eq = function() return true end, __call = function(self, ...) return self, ... end,
    __name = "MyType", __concat = function(a, b) return "cat" end}
  local a, b = setmetatable({}, mt), setmetatable({}, mt)
  assert(#a == 42 and rawlen(a) == 0 and a == b and not rawequal(a, b) and a ~= 1)
  assert(select("#", a(1, nil)) == 3 and a .. 1 == "cat" and 1 .. a == "cat")
  assert(tostring(a):find "^MyType: ")
  local chain = setmetatable({}, {__call = a})
  assert(select(2, chain(5)) == chain and select(3, chain(5)) == 5)
end

-- library functions respect metamethods
do
  local log = 0
  local t = setmetatable({}, {__len = function() return 3 end, __index = function(_, i) log = log + 1; return i * 10 end})
  assert(table.concat(t, ",") == "10,20,30" and table.unpack(t) == 10 and select("#", table.unpack(t)) == 3)
  local u = table.move({1, 2, 3}, 1, 3, 2)
  assert(table.concat(u, ",") == "1,1,2,3" and table.concat(table.move(u, 2, 4, 1), ",") == "1,2,3,3")
  local s = {5, 2, 8, 1, 9, 3}
  table.sort(s, function(x, y) return x > y end)
  assert(table.concat(s, " ") == "9 8 5 3 2 1")
  table.insert(s, 1, 10); table.insert(s, 0); assert(table.remove(s) == 0 and table.remove(s, 1) == 10 and #s == 6)
  local ok, message = pcall(table.sort, {3, 1, 2, 5, 4, 7, 6}, function() return true end)
  assert(ok or message:find "invalid order function")
  assert(table.pack().n == 0 and table.pack(nil, nil).n == 2)
end

print "ok"
