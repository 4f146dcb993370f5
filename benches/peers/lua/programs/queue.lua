-- Values pushed and popped: at one end, and as a queue between two indices.
local rounds = tonumber(arg[1]) or 60

local sum = 0
for _ = 1, rounds do
  local stack = {}
  for i = 1, 40000 do stack[#stack + 1] = i end
  for _ = 1, 40000 do
    sum = sum + stack[#stack]
    stack[#stack] = nil
  end
  local inserted = {}
  for i = 1, 20000 do table.insert(inserted, i) end
  for _ = 1, 20000 do sum = sum + table.remove(inserted) end
  local queue, first, last = {}, 1, 0
  for i = 1, 40000 do
    last = last + 1
    queue[last] = i
    if i % 2 == 0 then
      sum = sum + queue[first]
      queue[first] = nil
      first = first + 1
    end
  end
end
print(sum)
