-- Patterns: find, match, gmatch, gsub with strings, tables and functions.
local rounds = tonumber(arg[1]) or 120

local lines = {}
for i = 1, 400 do
  lines[i] = ("2026-%02d-%02d host%d user%d@example.org GET /path/%d?x=%d 200 %d"):format(
    i % 12 + 1, i % 28 + 1, i % 7, i, i, i * 3, i * 100)
end
local text = table.concat(lines, "\n")

local sum = 0
for _ = 1, rounds do
  for year, month, day in text:gmatch("(%d%d%d%d)%-(%d%d)%-(%d%d)") do sum = sum + year + month + day end
  for name in text:gmatch("([%w_]+)@[%w%.]+") do sum = sum + #name end
  local _, count = text:gsub("%s+", " ")
  sum = sum + count
  sum = sum + #text:gsub("host(%d)", { ["1"] = "one", ["2"] = "two" })
  sum = sum + #text:gsub("/path/(%d+)", function(n) return "/" .. n * 2 end)
  for i = 1, #lines do
    local query = lines[i]:match("%?x=(%d+)")
    if query then sum = sum + query end
    if lines[i]:find("user%d*7@", 1) then sum = sum + 1 end
    if lines[i]:find("example.org", 1, true) then sum = sum + 1 end
  end
end
print(sum)
