local a, b = ...
local r = a + 1, 1 + a, a - 1, 1 - a, a + 128, a - 128, a + 200, a * 2.5, 2.5 * a
r = a % 3 + a ^ 2 + a / b // 2
r = (a & 7) | (3 ~ b) & 1.5, a << 1, 1 << a, a >> 2, 2 >> a, a << b
r = -a + #b + ~a + (not b and 1 or 2)
return a .. 1 .. "x" .. b, (a .. b) .. r
