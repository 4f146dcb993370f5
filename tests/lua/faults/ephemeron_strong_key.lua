-- An ephemeron visited while its key is white; the key is reached later in the same marking, by other ways.
for turn = 1, 60 do
  local e = setmetatable({}, { __mode = "k" })
  local root = {}
  local deep = root
  for i = 1, 50 do deep[1] = {}; deep = deep[1] end
  local key = {}
  deep.key = key
  e[key] = { "value", { turn } }
  e[{}] = { key }                      -- a dead entry that names the key
  local second = {}
  e[key][3] = second                   -- a chain: the value is the key of another
  e[second] = { "second" }
  key, second, deep = nil, nil, nil
  for _ = 1, turn do collectgarbage("step", 1) end
  -- The key moves while marking goes on.
  local at = root
  while at[1] do at = at[1] end
  local moved = at.key
  at.key = nil
  root.moved, moved = moved, nil
  collectgarbage("step", 1)
  collectgarbage()
  local value = e[root.moved]
  assert(value[1] == "value" and value[2][1] == turn and e[value[3]][1] == "second")
  local n = 0
  for _ in pairs(e) do n = n + 1 end
  assert(n == 2)
  root.moved = nil
  collectgarbage()
  value = nil
  collectgarbage()
  assert(next(e) == nil)
end
print("ok")
