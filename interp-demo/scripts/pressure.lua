-- A program that never waits: how large does its heap become beside what is alive in it? Two kinds of pressure, since a
-- collector that counts only objects is starved by bytes, and the other way round.
--
--   pressure.lua objects|bytes [live_mb] [made_mb]      default objects, 20 MB alive, 1000 MB made

local here = arg[0]:match("^(.*/)") or "./"
package.path = here .. "lib/?.lua;" .. package.path

local arguments = require("arguments")
local report = require("report")

local kind = arg[1] or "objects"
if kind ~= "objects" and kind ~= "bytes" then
  error("the first argument must be 'objects' or 'bytes', not '" .. kind .. "'", 0)
end
local live_mb = arguments.integer(arg[2], 20, "live_mb", 1)
local made_mb = arguments.integer(arg[3], 1000, "made_mb", 1)

local MB = 1000000
local BUFFER_BYTES = 1 << 20

local live = {}
for i = 1, live_mb * 10 do
  live[i] = ("%08d"):format(i):rep(MB // 80)
end
collectgarbage()
local live_bytes = collectgarbage("count") * 1024

local most_bytes, made_bytes, count = 0, 0, 0
while made_bytes < made_mb * MB do
  if kind == "bytes" then
    local buffer = ("x"):rep(BUFFER_BYTES)
    made_bytes = made_bytes + #buffer
  else
    -- 100 small tables: about 10 KB.
    for i = 1, 100 do
      local object = { i }
      count = count + #object
    end
    made_bytes = made_bytes + 10000
  end
  most_bytes = math.max(most_bytes, collectgarbage("count") * 1024)
end
report.write({
  same = { made = made_bytes, objects = count },
  figures = {
    { "alive", live_bytes / MB, "MB" },
    { "largest heap", most_bytes / MB, "MB" },
    { "times what is alive", most_bytes / live_bytes, "" },
  },
  times_live = most_bytes / live_bytes,
})
