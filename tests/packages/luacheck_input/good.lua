local M = {}
function M.f(x) return x // 1 | 3 end
local y <const> = 1
return M, y
