-- As http_latency.lua, beside 200,000 live strings, and with a reader that cuts each chunk into
-- 64 slices: what does a collection cost that has to mark a real heap while events keep coming?
--
--   latency_live.lua [bytes] [live strings]      default 2,000 chunks of 16 KiB, 200,000 strings

local here = arg[0]:match("^(.*/)") or "./"
package.path = here .. "lib/?.lua;" .. package.path

local arguments = require("arguments")
local digest = require("digest")
local report = require("report")
local stream = require("stream")

local bytes = arguments.integer(arg[1], 2000 * stream.CHUNK_BYTES, "bytes")
local live_count = arguments.integer(arg[2], 200000, "live strings")

local SLICE_BYTES = 256

local live = {}
for i = 1, live_count do
  live[i] = ("live string number %d"):format(i)
end

local add, result = digest.new()
local delays = {}
local slices_seen = 0
-- Where the collector tells: what running code has had to do for it from here on.
local _, gc = pcall(require, "gc")
local function forced_ns()
  return type(gc) == "table" and gc.stats and gc.stats().forced_ns or 0
end
local forced_before_ns = forced_ns()
local read_bytes = stream.read({ "bytes=" .. bytes, "wait_ms=1-5" }, function(chunk, delay_us)
  add(chunk:sub(stream.STAMP_BYTES + 1))
  local slices = {}
  for at = 1, #chunk, SLICE_BYTES do
    slices[#slices + 1] = chunk:sub(at, at + SLICE_BYTES - 1)
  end
  slices_seen = slices_seen + #slices
  delays[#delays + 1] = delay_us
end)

-- The strings must still be there, all of them.
for i = 1, live_count, 1000 do
  assert(live[i] == ("live string number %d"):format(i), "a live string was lost")
end

report.write({
  same = { bytes = read_bytes, slices = slices_seen, live = #live, [digest.name] = result() },
  wake_delay_us = delays,
  forced_ns = forced_ns() - forced_before_ns,
})
