-- Steps of any size end, and in the end a cycle is over: also with a stopped collector, and sizes that overflow.
for _, mode in ipairs{ "incremental", "generational" } do
  collectgarbage(mode)
  for _, size in ipairs{ 0, 1, -1, 2^31, math.maxinteger // 1024, math.maxinteger, math.mininteger, 1 << 40 } do
    collectgarbage("step", math.tointeger(size))
  end
  collectgarbage("stop")
  local turns = 0
  repeat
    turns = turns + 1
    local garbage = {}
    for i = 1, 10 do garbage[i] = { i } end
  until collectgarbage("step", 10) or turns > 100000
  assert(turns <= 100000)
  repeat until collectgarbage("step", 0)
  collectgarbage("restart")
  assert(collectgarbage("isrunning"))
end
collectgarbage("incremental")
-- A pause or a multiplier at either end of its range.
for _, value in ipairs{ 0, 1, 1000, math.maxinteger } do
  collectgarbage("setpause", value)
  collectgarbage("setstepmul", value)
  local t
  for i = 1, 2000 do t = { t and t[1] } end
end
collectgarbage("setpause", 200)
collectgarbage("setstepmul", 100)
collectgarbage()
print("ok")
