-- A finalizer that allocates when memory is short: its error is a warning, and the program goes on. Runs with a limit of 24 MiB.
local tried, survived = 0, 0
local function finalizer()
  tried = tried + 1
  local t = {}
  for i = 1, 400000 do t[i] = { i } end
  survived = survived + 1
end
for turn = 1, 3 do
  for _ = 1, 3 do setmetatable({}, { __gc = finalizer }) end
  local ok, why = pcall(function()
    local hog = {}
    for i = 1, 1e7 do hog[i] = ("x"):rep(1000) .. i end
  end)
  assert(not ok and why == "not enough memory", why)
  collectgarbage()
  local fresh = {}
  for i = 1, 1000 do fresh[i] = { i } end
  assert(#fresh == 1000)
end
collectgarbage()
assert(tried >= 9 and survived <= tried)
print("ok")
