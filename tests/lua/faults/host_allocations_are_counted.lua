-- What the host allocates for Lua's objects counts: garbage of that kind does not outrun the collector. Runs with a limit of 64 MiB.
local limit = 40 * 1024
local function bounded(name, make)
  collectgarbage()
  local most = 0
  for i = 1, 400 do
    make(i)
    most = math.max(most, collectgarbage("count"))
  end
  assert(most < limit, name .. " " .. most)
end
bounded("strings", function(i) local s = ("x"):rep(200000) .. i end)
bounded("arrays", function(i) local t = table.pack(("x"):rep(20000):byte(1, 6000)) end)
bounded("stacks", function(i)
  coroutine.wrap(function() local function deep(n) if n > 0 then return (deep(n - 1)) end coroutine.yield() end deep(1500) end)()
end)
bounded("formats", function(i) local s = ("%s%s"):format(("y"):rep(100000), i):upper():reverse() end)
bounded("concatenations", function(i) local parts = {} for j = 1, 50 do parts[j] = ("z"):rep(2000) end local s = table.concat(parts) end)
bounded("gsub", function(i) local s = ("a"):rep(50000):gsub("a", "bb") end)
bounded("dumps", function(i) local f = load("return " .. ("1 + "):rep(2000) .. i) local d = string.dump(f) end)
bounded("packs", function(i) local s = string.pack("s4", ("p"):rep(150000)) local u = string.unpack("s4", s) end)
bounded("files", function(i) local f = io.open("/dev/null", "w") f:write(("f"):rep(3000)) end)
print("ok")
