local i, f, big, s = 1, 2.0, 65537, "text"
local small, large, fraction = -65535, 9007199254740993, 0.1
local folded = 2 ^ 3 + 10 // 3 - (7 & 3 | 8) << 1
local kept = 1 // 0 + 0.0 * -1 + 0 / 0
local N <const>, S <const>, B <const> = 10, "const", true
local computed <const> = f()
return N + 1, S .. S, B and N, computed, not nil, not N, -N, ~5
