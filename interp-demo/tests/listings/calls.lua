f()
f(1, g(), ...)
local a, b, c = f(), g(...)
o.m:n(1):p "s" {}
local x, y = (f()), (...)
if f() then return f(g()) end
for i = 1, 2 do return (f()) end
return f(...), f(
  ...)
