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

local SETTLING_TICKS = 100

-- How often the main thread has gone to sleep, where the system tells it.
local function sleeps()
  local file = io.open("/proc/self/status")
  if not file then
    return 0
  end
  local text = file:read("a")
  file:close()
  return tonumber(text:match("\nvoluntary_ctxt_switches:%s*(%d+)")) or 0
end

-- What is allocated once, before the ticks that count. When they begin, the script prints the line "quiet".
local sleep = socket.sleep
local text = ("x"):rep(bytes)
local made, sleeps_before = 0, 0
for tick = 1 - SETTLING_TICKS, ticks do
  sleep(PERIOD_S)
  if tick == 0 then
    print("quiet")
    io.stdout:flush()
    sleeps_before = sleeps()
  end
  if bytes > 0 then
    -- A string that there was not before.
    made = made + #(text:sub(1, bytes - 8) .. ("%08d"):format(tick + SETTLING_TICKS))
  end
end
local extra = sleeps() - sleeps_before - ticks
require("report").write({
  same = { ticks = ticks, bytes = made },
  figures = {
    { "CPU time", os.clock() * 1e3, "ms" },
    { "wake-ups beyond the ticks", extra, "" },
  },
  extra_sleeps = extra,
})
