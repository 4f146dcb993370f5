-- A key is removed in a traversal and collected: `next` must still find its place.
for size = 1, 200, 13 do
  local t, seen = {}, 0
  for i = 1, size do t[{ i }] = i; t["name" .. i] = i; t[i + 0.5] = i end
  for key, value in pairs(t) do
    seen = seen + 1
    t[key] = nil
    key = nil
    if seen % 5 == 0 then collectgarbage() else collectgarbage("step", 1) end
  end
  assert(seen == size * 3 and next(t) == nil)
end
-- In a weak table entries go while it is traversed, and what is held must come up once.
local weak, held = setmetatable({}, { __mode = "k" }), {}
for i = 1, 200 do
  local key = { i }
  weak[key] = i
  if i % 2 == 0 then held[#held + 1] = key end
end
local seen = {}
for key, value in pairs(weak) do
  assert(not seen[value])
  seen[value] = true
  if value % 10 == 0 then collectgarbage() end
end
for i = 2, 200, 2 do assert(seen[i]) end
print("ok")
