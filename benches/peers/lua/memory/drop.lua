-- What stays resident one second after 999 of 1000 records were dropped and collected, as a part of the peak.
local count = 300000

local function status(name)
  for line in io.lines("/proc/self/status") do
    local kib = line:match("^" .. name .. ":%s*(%d+)")
    if kib then return tonumber(kib) end
  end
end

local records = {}
for i = 1, count do
  records[i] = { id = i, name = "name " .. i, tags = { "a" .. i, i }, text = ("x"):rep(i % 100 + 140) }
end
for i = 1, count do
  if i % 1000 ~= 0 then records[i] = nil end
end
collectgarbage()
collectgarbage()
-- A wait of a second, of a kind that each interpreter has.
local socket = package.loaded.socket or (pcall(require, "socket") and require("socket"))
if socket then
  socket.sleep(1)
else
  os.execute("sleep 1")
end
print(("%.1f"):format(status("VmRSS") / status("VmHWM") * 100))
