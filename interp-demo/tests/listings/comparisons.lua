local a, b, t = ...
if a < b then t() elseif a <= 10 then t(1) elseif 10 > a then t(2) elseif a >= 2.0 then t(3) end
if a == nil or a ~= "k" or 5 == a or a == 1000 or a == true then t() end
if not (a and b) or a == b then t() end
local x, y = a < b, a and b or not a
while a and not b do a = b end
return a == b, not (a == b), (a and b) == 1, a and 1, nil and a
