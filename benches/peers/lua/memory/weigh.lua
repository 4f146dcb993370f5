-- What an object of a kind weighs, resident: many of them are made and kept in an array that was there before.
local kind, count = arg[1], 400000

local function resident_kib()
  for line in io.lines("/proc/self/status") do
    local kib = line:match("^VmRSS:%s*(%d+)")
    if kib then return tonumber(kib) end
  end
end

local make = {
  ["{}"] = function() return {} end,
  ["{x=,y=}"] = function(i) return { x = i, y = i } end,
  ["short string"] = function(i) return "string " .. i end,
  ["closure"] = function(i) return function() return i end end,
}

local f = assert(make[kind], "unknown kind of object")
local kept = {}
for i = 1, count do kept[i] = i end
collectgarbage()
collectgarbage()
local before = resident_kib()
for i = 1, count do kept[i] = f(i) end
collectgarbage()
collectgarbage()
print(("%.1f"):format((resident_kib() - before) * 1024 / count))
