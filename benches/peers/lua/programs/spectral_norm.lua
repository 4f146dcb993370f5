-- Calls with float arithmetic: the spectral norm of an infinite matrix, cut off.
local n = tonumber(arg[1]) or 500

local function entry(i, j)
  local ij = i + j - 1
  return 1.0 / (ij * (ij - 1) * 0.5 + i)
end

local function times(x, y, transposed)
  for i = 1, n do
    local sum = 0
    for j = 1, n do
      sum = sum + x[j] * (transposed and entry(j, i) or entry(i, j))
    end
    y[i] = sum
  end
end

local u, v, t = {}, {}, {}
for i = 1, n do u[i] = 1 end
for _ = 1, 10 do
  times(u, t, false) times(t, v, true)
  times(v, t, false) times(t, u, true)
end
local uv, vv = 0, 0
for i = 1, n do
  uv = uv + u[i] * v[i]
  vv = vv + v[i] * v[i]
end
print(string.format("%.9f", (uv / vv) ^ 0.5))
