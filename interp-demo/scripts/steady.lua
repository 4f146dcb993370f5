-- A server with much alive and little to do: one request a second beside 300 MB, as in GHC's issue 11134, where collecting
-- in every pause took 30 % of a core. What does it take here?
--
--   steady.lua [live_mb] [period_ms] [requests]      default 300 MB, 1000 ms, 10 requests

local here = arg[0]:match("^(.*/)") or "./"
package.path = here .. "lib/?.lua;" .. package.path

local arguments = require("arguments")
local report = require("report")
local stream = require("stream")

local live_mb = arguments.integer(arg[1], 300, "live_mb")
local period_ms = arguments.number(arg[2], 1000, "period_ms")
local requests = arguments.integer(arg[3], 10, "requests", 1)

local RECORD_BYTES = 1000
local SETTLING_REQUESTS = 2

local live = {}
for i = 1, live_mb * 1000000 // RECORD_BYTES do
  live[i] = { id = i, text = ("%08d"):format(i):rep(RECORD_BYTES // 8 - 20) }
end

-- What a small request leaves: some tables and strings, about 10 KB.
local function answer(request)
  local words = {}
  for i = 1, 50 do
    words[i] = { key = "word " .. i, value = request:sub(i * 8, i * 8 + 40) }
  end
  local found = live[#request % math.max(#live, 1) + 1]
  return (found and found.id or 0) + #words
end

-- What was built is collected before the clock runs.
collectgarbage()
local sum = 0
local begun, begun_wall
local socket = require("socket")
stream.read({
  "bytes=" .. (requests + SETTLING_REQUESTS) * stream.CHUNK_BYTES,
  ("wait_ms=%.3f-%.3f"):format(period_ms, period_ms),
}, function(chunk, _, index)
  if index == SETTLING_REQUESTS then
    begun, begun_wall = os.clock(), socket.gettime()
  end
  sum = sum + answer(chunk)
end)
local cpu_s, wall_s = os.clock() - begun, socket.gettime() - begun_wall
report.write({
  same = { requests = requests, live = #live, sum = sum },
  figures = {
    { "CPU time", cpu_s / wall_s * 100, "% of a core" },
    { "CPU time a request", cpu_s / requests * 1e6, "us" },
  },
  cpu_percent = cpu_s / wall_s * 100,
})
