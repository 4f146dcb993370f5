-- Many small tables that die together: binary trees of growing depth beside one that stays.
local depth = tonumber(arg[1]) or 16

local function tree(d)
  if d == 0 then return {} end
  return { tree(d - 1), tree(d - 1) }
end

local function nodes(t)
  local left = t[1]
  if not left then return 1 end
  return 1 + nodes(left) + nodes(t[2])
end

local stays = tree(depth)
local sum = 0
for d = 4, depth, 4 do
  for _ = 1, 2 ^ (depth - d + 4) do sum = sum + nodes(tree(d)) end
end
print(sum, nodes(stays))
