-- Bursts of work, then silence: 64 chunks at once, 200 ms of silence, again and again; then a long
-- silence, in which the memory of the bursts should go back and the process should then be still.
-- When the long silence begins, the script prints the line "silent".
--
--   burst.lua [silence_s] [bursts]      default 12 s after 10 bursts

local here = arg[0]:match("^(.*/)") or "./"
package.path = here .. "lib/?.lua;" .. package.path

local socket = require("socket")
local arguments = require("arguments")
local digest = require("digest")
local report = require("report")
local stream = require("stream")

local silence_s = arguments.number(arg[1], 12, "silence_s")
local bursts = arguments.integer(arg[2], 10, "bursts", 1)

local BURST_CHUNKS = 64

local add, result = digest.new()
local delays = {}
local marks = {}
local read_bytes = stream.read({
  "bytes=" .. (bursts * BURST_CHUNKS + 1) * stream.CHUNK_BYTES,
  "burst=" .. BURST_CHUNKS,
  "pause_ms=200",
  "silence_s=" .. silence_s,
}, function(chunk, delay_us, index)
  add(chunk:sub(stream.STAMP_BYTES + 1))
  -- Within a burst a chunk waits for those before it: only the first tells how late we woke up.
  if (index - 1) % BURST_CHUNKS == 0 then
    delays[#delays + 1] = delay_us
  end
  if index == bursts * BURST_CHUNKS then
    marks[#marks + 1] = { name = "silence", at = socket.gettime() }
    print("silent")
    io.stdout:flush()
  end
end)

report.write({
  same = { bytes = read_bytes, [digest.name] = result() },
  wake_delay_us = delays,
  marks = marks,
})
