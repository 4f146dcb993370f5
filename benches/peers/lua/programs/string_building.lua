-- Strings of every length: appended to, joined, repeated, formatted, cut.
local rounds = tonumber(arg[1]) or 60

local length = 0
for round = 1, rounds do
  local text = ""
  for i = 1, 1500 do text = text .. "line " .. i .. "\n" end
  local parts = {}
  for i = 1, 20000 do parts[#parts + 1] = "item" .. i end
  local joined = table.concat(parts, ",")
  local formatted = {}
  for i = 1, 5000 do formatted[i] = string.format("%d:%s:%5.2f", i, "name", i / 3) end
  local cut = 0
  for i = 1, 10000 do cut = cut + #joined:sub(i, i + 20) end
  length = length + #text + #joined + #table.concat(formatted) + cut + #(("ab"):rep(50000)):upper()
end
print(length)
