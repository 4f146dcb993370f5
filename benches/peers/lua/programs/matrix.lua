-- Arrays of arrays of floats: matrices multiplied.
local n = tonumber(arg[1]) or 220

local function matrix(rows, columns, f)
  local m = {}
  for i = 1, rows do
    local row = {}
    for j = 1, columns do row[j] = f(i, j) end
    m[i] = row
  end
  return m
end

local function multiply(a, b)
  local columns, inner = #b[1], #b
  local c = {}
  for i = 1, #a do
    local row, from = {}, a[i]
    for j = 1, columns do
      local sum = 0.0
      for k = 1, inner do sum = sum + from[k] * b[k][j] end
      row[j] = sum
    end
    c[i] = row
  end
  return c
end

local a = matrix(n, n, function(i, j) return (i - j) / n end)
local b = matrix(n, n, function(i, j) return (i + j) / n end)
local c = multiply(multiply(a, b), b)
print(string.format("%.6f %.6f", c[1][n], c[7][3]))
