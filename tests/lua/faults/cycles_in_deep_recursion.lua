-- A deep stack is no reason for more cycles: their number follows what is allocated.
local function cycles() return gc.stats().cycles.total or gc.stats().cycles end
local function churn() local t for i = 1, 20000 do t = { i } end return t end
local function deep(n) if n == 0 then return churn()[1] end return (deep(n - 1)) end
local function count(depth)
  collectgarbage()
  local before = gc.stats()
  for _ = 1, 5 do deep(depth) end
  local after = gc.stats()
  return after, before
end
local function number(stats)
  local total = stats.cycles
  if type(total) ~= "table" then return total end
  local sum = 0
  for _, n in pairs(total) do sum = sum + n end
  return sum
end
local after, before = count(1)
local flat = number(after) - number(before)
after, before = count(15000)
local steep = number(after) - number(before)
assert(steep <= 2 * flat + 20, flat .. " " .. steep)
print("ok")
