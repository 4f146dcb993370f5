local up, other = 1
local function f(a, b, ...)
  local x <close> = up
  if a then return f(b) end
  return ..., function() up = other; return x, _ENV end
end
function t.a.b(p) return p end
function t.a:m(p) return self, p end
local g = function(...) local a, b = ...; return select("#", ...) end
local function tail(n) return tail(n - 1) end
return f, g
