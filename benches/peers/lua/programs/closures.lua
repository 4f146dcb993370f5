-- Closures made and called, with upvalues that are shared and written.
local rounds = tonumber(arg[1]) or 1500000

local function counter(step)
  local n = 0
  return function() n = n + step return n end, function() return n end
end

local function compose(f, g)
  return function(x) return f(g(x)) end
end

local sum = 0
for i = 1, rounds do
  local up, read = counter(i % 5)
  up() up()
  local twice = compose(up, read)
  sum = sum + twice(i)
end
print(sum)
