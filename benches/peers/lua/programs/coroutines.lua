-- Coroutines: generators of many values, and many that are short.
local rounds = tonumber(arg[1]) or 1500000

local function range(n)
  return coroutine.wrap(function()
    for i = 1, n do coroutine.yield(i) end
  end)
end

local sum = 0
for i in range(rounds) do sum = sum + i end
for _ = 1, rounds / 20 do
  for i in range(3) do sum = sum + i end
end
local co = coroutine.create(function(a)
  while true do a = coroutine.yield(a + 1) end
end)
local value = 0
for _ = 1, rounds do
  local _, next_value = coroutine.resume(co, value)
  value = next_value
end
print(sum, value)
