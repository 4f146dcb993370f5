-- table.*, on plain tables and through metamethods.
local t = {1, 2, 3}
table.insert(t, 4) table.insert(t, 1, 0) table.insert(t, 3, 1.5)
print(table.concat(t, ","), table.remove(t), table.remove(t, 1), table.remove(t, 2), table.concat(t, ","), table.remove({}), table.remove({}, 0), #t)
print(table.concat({}), table.concat({"a"}), table.concat({1, 2.5, "x"}, "-"), table.concat({1, 2, 3}, ",", 2), table.concat({1, 2, 3}, ",", 2, 2), table.concat({1, 2, 3}, ",", 3, 2))
print(table.unpack({1, 2, nil, 4}, 1, 4)) print(table.unpack({}, 1, 3)) print(table.unpack({1, 2, 3}, -1, 1)) print(table.unpack({1, 2}, 2)) print((table.unpack({1, 2})))
local p = table.pack(nil, 2, nil) print(p.n, p[1], p[2], p[3], table.pack().n)
print(table.concat(table.move({1, 2, 3, 4, 5}, 2, 5, 1), ","), table.concat(table.move({1, 2, 3}, 1, 3, 2), ","), table.concat(table.move({1, 2, 3}, 1, 3, 3, {9, 9}), ","), #table.move({1, 2, 3}, 1, 0, 5))
print(table.concat(table.move({1, 2, 3}, 2, 3, 2), ","), pcall(table.move, {}, 1, math.maxinteger, 2))
local function sorted(list, f) table.sort(list, f) local out = {} for i, v in ipairs(list) do out[i] = tostring(v) end return table.concat(out, " ") end
print(sorted {3, 1, 2}) print(sorted {"b", "a", "C", ""}) print(sorted({3, 1, 2}, function(a, b) return a > b end)) print(sorted {2.5, 1, -1e10, 3}) print(sorted {}) print(sorted {1}) print(sorted {2, 1})
local big = {} for i = 1, 1000 do big[i] = (i * 7919) % 1009 end
table.sort(big) local ok = true for i = 2, #big do ok = ok and big[i - 1] <= big[i] end print(ok)
table.sort(big, function(a, b) return a > b end) ok = true for i = 2, #big do ok = ok and big[i - 1] >= big[i] end print(ok)
local objects = {} for i = 1, 20 do objects[i] = setmetatable({v = (i * 7) % 20}, {__lt = function(a, b) return a.v < b.v end}) end
table.sort(objects) local vs = {} for i, o in ipairs(objects) do vs[i] = o.v end print(table.concat(vs, " "))
print(pcall(table.sort, {1, 2, "x"})) print(pcall(table.sort, {1, 2, 3, nil, 5, 4}, function(a, b) return true end)) print(pcall(table.sort, {{}, {}}))
print(pcall(table.sort, {5, 3, 1}, function(a, b) error("stop") end))
print(table.unpack(table.pack(table.unpack({1, 2, 3}))))

-- A proxy counts its accesses.
local reads, writes = 0, 0
local function proxy(data)
  return setmetatable({}, {
    __index = function(_, k) reads = reads + 1 return data[k] end,
    __newindex = function(_, k, v) writes = writes + 1 data[k] = v end,
    __len = function() return #data end,
  }), data
end
local q, data = proxy {10, 20, 30}
table.insert(q, 40) table.insert(q, 1, 5) print(table.concat(data, ","), reads, writes)
print(table.remove(q), table.remove(q, 1), table.concat(data, ","), reads, writes)
print(table.concat(q, "-"), table.unpack(q))
table.move(q, 1, 2, 3) print(table.concat(data, ","))
local r = proxy {3, 1, 2} table.sort(r) print(r[1], r[2], r[3]) table.sort(r, function(a, b) return a > b end) print(table.concat(r, ","))
print(pcall(table.insert, setmetatable({}, {__len = function() return "x" end}), 1))
print(#setmetatable({}, {__len = function() return 42 end}), pcall(table.concat, setmetatable({}, {__len = function() return 2 end})))
print(next({}, nil), #{1, 2, 3, nil}, #{n = 1})

-- A large table of which little is left, and collections between: what stays is there, the rest is nil, and can be set.
local large = {}
for i = 1, 70000 do large[i] = i end
for i = 1, 70000 do if i % 1000 ~= 0 then large[i] = nil end end
collectgarbage() collectgarbage()
local count, sum = 0, 0
for k, v in pairs(large) do count, sum = count + 1, sum + v collectgarbage("step") end
print(count, sum, large[1], large[1000], large[69999], large[70000])
for i = 1, 70000 do large[i] = large[i] or -i end
collectgarbage()
print(#large, large[1], large[1000], large[69999])
for k in pairs(large) do large[k] = nil if k % 20000 == 0 then collectgarbage() end end
print(next(large), #large)
