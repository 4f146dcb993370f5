-- A dead key, its value nil, stays in the table; a lookup of an equal long string must neither find nor touch it.
for turn = 1, 50 do
  local t = setmetatable({}, { __mode = turn % 2 == 0 and "k" or "v" })
  local long = ("x"):rep(100) .. turn
  t[long] = turn % 2 == 0 and { 1 } or {}
  t[long] = nil
  long = nil
  local object = {}
  t[object] = {}
  object = nil
  collectgarbage()
  assert(t[("x"):rep(100) .. turn] == nil)
  t[("x"):rep(100) .. turn] = "again"
  collectgarbage()
  assert(t[("x"):rep(100) .. turn] == "again")
  local n = 0
  for _ in pairs(t) do n = n + 1 end
  assert(n == 1)
end
print("ok")
