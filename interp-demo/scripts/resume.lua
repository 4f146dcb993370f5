-- A request after a pause: what was given back in the pause has to be fetched again. How long does the first request take,
-- and how many page faults?
--
--   resume.lua [pauses in seconds]      default 1,1,1,1,1

local here = arg[0]:match("^(.*/)") or "./"
package.path = here .. "lib/?.lua;" .. package.path

local socket = require("socket")
local report = require("report")
local stream = require("stream")

local pauses = {}
for pause in (arg[1] or "1,1,1,1,1"):gmatch("[^,]+") do
  pauses[#pauses + 1] = tonumber(pause) or error("not a number of seconds: '" .. pause .. "'", 0)
end

-- Minor faults of this process so far, where the system tells them.
local function faults()
  local file = io.open("/proc/self/stat")
  if not file then
    return 0
  end
  local text = file:read("a")
  file:close()
  return tonumber(text:match("^.*%) %S+ %S+ %S+ %S+ %S+ %S+ %S+ (%d+)")) or 0
end

local live = {}
for i = 1, 50000 do
  live[i] = { id = i, name = "record number " .. i }
end

-- A request of some weight: 2 MB of rows.
local function answer(chunk)
  local rows = {}
  for i = 1, 5000 do
    local found = live[(i * 7919) % #live + 1]
    rows[i] = { id = found.id, name = found.name, text = chunk:sub(i % 1000 + 1, i % 1000 + 200) }
  end
  return #rows
end

-- A busy stretch before each pause: ten requests with a breath between them.
local BUSY = 10
local waits = {}
for _, pause in ipairs(pauses) do
  for _ = 1, BUSY do
    waits[#waits + 1] = "0.005"
  end
  waits[#waits + 1] = tostring(pause)
end
local request_ms, request_faults, sum = {}, {}, 0
stream.read({
  "bytes=" .. #waits * stream.CHUNK_BYTES,
  "waits_s=" .. table.concat(waits, ","),
}, function(chunk, delay_us, index)
  local begun, faults_before = socket.gettime(), faults()
  sum = sum + answer(chunk)
  if index % (BUSY + 1) == 0 then
    request_ms[#request_ms + 1] = (socket.gettime() - begun) * 1e3 + delay_us / 1e3
    request_faults[#request_faults + 1] = faults() - faults_before
  end
end)
local figures = {}
for i, ms in ipairs(request_ms) do
  figures[#figures + 1] = { ("request after %g s"):format(pauses[i]), ms, "ms" }
  figures[#figures + 1] = { "  page faults", request_faults[i], "" }
end
report.write({
  same = { requests = #waits, sum = sum },
  figures = figures,
  request_ms = request_ms,
  request_faults = request_faults,
})
