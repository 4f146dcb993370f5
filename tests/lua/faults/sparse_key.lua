-- t[10000000] = {} makes no huge array part, nor do other keys far apart.
collectgarbage()
local before = collectgarbage("count")
local t = {}
t[10000000] = {}
t[math.maxinteger] = 1
t[math.mininteger] = 2
t[1 << 40] = 3
for i = 1, 20 do t[1 << i] = i end
local list = { 1, 2, 3, [100000000] = 4 }
collectgarbage()
assert(collectgarbage("count") - before < 100)
assert(#list == 3 and list[100000000] == 4 and t[math.mininteger] == 2)
-- Filled from its end it is a table as any other.
local back = {}
for i = 5000, 1, -1 do back[i] = i end
for i = 1, 5000 do assert(back[i] == i) end
assert(#back == 5000)
print("ok")
