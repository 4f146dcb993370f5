-- A binary search tree that stays large while its nodes come and go.
local operations = tonumber(arg[1]) or 300000

local root
local state = 7
local function random(n)
  state = state * 16807 % 2147483647
  return math.floor(state / 8) % n
end

local function insert(key)
  local node = { key = key, value = { key } }
  if not root then root = node return end
  local at = root
  while true do
    if key < at.key then
      if not at.left then at.left = node return end
      at = at.left
    elseif key > at.key then
      if not at.right then at.right = node return end
      at = at.right
    else
      at.value = node.value
      return
    end
  end
end

local function remove(node, key)
  if not node then return nil end
  if key < node.key then
    node.left = remove(node.left, key)
  elseif key > node.key then
    node.right = remove(node.right, key)
  elseif not node.left then
    return node.right
  elseif not node.right then
    return node.left
  else
    local least = node.right
    while least.left do least = least.left end
    node.key, node.value = least.key, least.value
    node.right = remove(node.right, least.key)
  end
  return node
end

local function count(node)
  if not node then return 0 end
  return 1 + count(node.left) + count(node.right)
end

for _ = 1, operations do
  insert(random(200000))
  if random(2) == 0 then root = remove(root, random(200000)) end
end
print(count(root))
