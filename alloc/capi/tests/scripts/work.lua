-- Tables, strings and coroutines: what a Lua program does to an allocator.
local state = 7
local function chance(limit)
    state = (state * 1103515245 + 12345) % 2147483648
    return state % limit
end

local records = {}
for i = 1, 50000 do
    records[i] = { id = i, name = "name " .. i, tags = {} }
    for j = 1, i % 7 do records[i].tags[j] = ("x"):rep(j * 3) end
end
print("records", #records, #records[6].tags)

table.sort(records, function(a, b) return a.name < b.name end)
print("sorted", records[1].name, records[#records].name)

for round = 1, 5 do
    local held = {}
    for i = 1, 50000 do held[chance(5000)] = ("y"):rep(chance(300)) end
    local bytes = 0
    for _, text in pairs(held) do bytes = bytes + #text end
    print("held", round, bytes)
end

local pieces = {}
for i = 1, 200000 do pieces[#pieces + 1] = tostring(i) end
local text = table.concat(pieces, ",")
print("text", #text, select(2, text:gsub("7", "7")))

local total = 0
for i = 1, 2000 do
    local co = coroutine.wrap(function() for j = 1, 5 do coroutine.yield(i * j) end end)
    for _ = 1, 5 do total = total + co() end
end
print("coroutines", total)

for _ = 1, 500000 do state = #{ state } end
collectgarbage()
print("done", collectgarbage("count") > 0)
