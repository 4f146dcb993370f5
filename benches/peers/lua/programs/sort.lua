-- Sorting: numbers by themselves, records and strings by a function.
local rounds = tonumber(arg[1]) or 2

local state = 1
local function random(n)
  state = state * 16807 % 2147483647
  return math.floor(state / 8) % n
end

local sum = 0
for _ = 1, rounds do
  local numbers, records, strings = {}, {}, {}
  for i = 1, 100000 do
    numbers[i] = random(32768)
    records[i] = { rank = random(32768), index = i }
    strings[i] = "s" .. random(32768)
  end
  table.sort(numbers)
  table.sort(records, function(a, b)
    if a.rank ~= b.rank then return a.rank < b.rank end
    return a.index < b.index
  end)
  table.sort(strings)
  sum = sum + numbers[50000] + records[50000].rank + #strings[50000]
end
print(sum)
