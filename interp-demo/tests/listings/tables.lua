local t, k = {}, "k"
local u = {1, 2, 3, x = 1, [k] = 2, [1] = 3, ["a b"] = 4; t, f()}
local v = {...}
local w = {(...), f(), n = nil}
t.a.b[k][1][255][256][-1] = u.x
t[1], t.x, t[k], g, g.h = 1, nil, t, v, "s"
t.x, t = 1, 2
t, t[k], t.z = 1, 2, 3
return t.x, t[k], t[1.0], t[#t], _ENV
