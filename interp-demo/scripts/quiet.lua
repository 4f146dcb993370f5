-- A process at rest: a 10 ms timer that allocates nothing, or 40 bytes a tick. It should wake up for its ticks and for nothing else.
--
--   quiet.lua [ticks] [bytes a tick]      default 6000 ticks, which take a minute, 0 bytes

local here = arg[0]:match("^(.*/)") or "./"
package.path = here .. "lib/?.lua;" .. package.path

local arguments = require("arguments")
local socket = require("socket")

local ticks = arguments.integer(arg[1], 6000, "ticks")
local bytes = arguments.integer(arg[2], 0, "bytes a tick")

local PERIOD_S = 0.010

-- What is allocated once, before the first tick.
local sleep = socket.sleep
local text = ("x"):rep(bytes)
local made = 0
collectgarbage()
for tick = 1, ticks do
  sleep(PERIOD_S)
  if bytes > 0 then
    -- A string that there was not before.
    made = made + #(text:sub(1, bytes - 8) .. ("%08d"):format(tick))
  end
end
require("report").write({
  same = { ticks = ticks, bytes = made },
  figures = { { "CPU time", os.clock() * 1e3, "ms" } },
})
