-- Small arrays and integers: all ways to place n queens.
local n = tonumber(arg[1]) or 11

local columns, rising, falling = {}, {}, {}
local found = 0

local function place(row)
  if row > n then
    found = found + 1
    return
  end
  for column = 1, n do
    if not columns[column] and not rising[row + column] and not falling[row - column + n] then
      columns[column], rising[row + column], falling[row - column + n] = true, true, true
      place(row + 1)
      columns[column], rising[row + column], falling[row - column + n] = false, false, false
    end
  end
end

place(1)
print(found)
