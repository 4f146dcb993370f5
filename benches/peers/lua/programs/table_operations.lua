-- Arrays and hashes filled, read, walked, removed from.
local rounds = tonumber(arg[1]) or 80

local unpack = table.unpack or unpack
local sum = 0
for _ = 1, rounds do
  local array = {}
  for i = 1, 50000 do array[i] = i * 2 end
  for i = 1, #array do sum = sum + array[i] % 7 end
  local hash = {}
  for i = 1, 20000 do hash["k" .. i % 1000] = (hash["k" .. i % 1000] or 0) + i end
  for _, v in pairs(hash) do sum = sum + v % 11 end
  local sparse = {}
  for i = 1, 20000 do sparse[i * 37] = i end
  for i = 1, 20000, 2 do sparse[i * 37] = nil end
  for k in pairs(sparse) do sum = sum + k % 3 end
  local moved = table.move(array, 1, 1000, 1, {})
  for i = 1, 1000 do table.insert(moved, i) end
  for _ = 1, 1000 do sum = sum + table.remove(moved) end
  sum = sum + select("#", unpack(array, 1, 200))
end
print(sum)
