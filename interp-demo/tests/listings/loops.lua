for i = 1, 10 do f(i) end
for i = a, b, -1 do if i then break end end
for k, v, w in pairs(t) do local c; g(function() return c, k end) end
for l in t do goto continue; l = 1; ::continue:: end
while f() do if g() then break else h() end end
repeat local x = f(); if x then break end until g(x)
repeat local y = f(); g(function() y = 1 end) until y
do local a; ::top:: local b; f(function() return b end); if a then goto top end end
