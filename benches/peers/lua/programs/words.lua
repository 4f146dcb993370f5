-- Text cut into words, counted in a table, and put in order.
local rounds = tonumber(arg[1]) or 50

local state = 3
local function random(n)
  state = state * 16807 % 2147483647
  return math.floor(state / 8) % n
end

local syllables = { "ka", "to", "mi", "ru", "se", "no", "ha", "li", "pe", "du" }
local parts = {}
for i = 1, 40000 do
  parts[i] = syllables[random(10) + 1] .. syllables[random(10) + 1] .. (random(3) == 0 and syllables[random(10) + 1] or "")
end
local text = table.concat(parts, " ")

local sum = 0
for _ = 1, rounds do
  local counts, order = {}, {}
  for word in text:gmatch("%a+") do
    local key = word:lower()
    if counts[key] then
      counts[key] = counts[key] + 1
    else
      counts[key] = 1
      order[#order + 1] = key
    end
  end
  table.sort(order, function(a, b)
    if counts[a] ~= counts[b] then return counts[a] > counts[b] end
    return a < b
  end)
  for i = 1, 100 do sum = sum + counts[order[i]] * i + #order[i]:rep(3, "-"):reverse():upper() end
end
print(sum)
