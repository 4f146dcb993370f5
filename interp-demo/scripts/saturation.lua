-- A reader that is never done: the writer has the next chunk ready before it is asked for. Nothing to win by waiting, so
-- nothing may be lost: how long does a batch take, and how much do batches differ?
--
--   saturation.lua [batches] [chunks a batch]      default 100 batches of 64 chunks of 16 KiB

local here = arg[0]:match("^(.*/)") or "./"
package.path = here .. "lib/?.lua;" .. package.path

local arguments = require("arguments")
local digest = require("digest")
local report = require("report")
local stream = require("stream")

local batches = arguments.integer(arg[1], 100, "batches", 1)
local batch_chunks = arguments.integer(arg[2], 64, "chunks a batch", 1)

local SLICE_BYTES = 256

local add, result = digest.new()
local batch_ms = {}
local begun = os.clock()
local read_bytes = stream.read({
  "bytes=" .. batches * batch_chunks * stream.CHUNK_BYTES,
  "source=/dev/zero",
}, function(chunk, _, index)
  add(chunk)
  local slices = {}
  for at = 1, #chunk, SLICE_BYTES do
    slices[#slices + 1] = chunk:sub(at, at + SLICE_BYTES - 1)
  end
  if index % batch_chunks == 0 then
    local now = os.clock()
    batch_ms[#batch_ms + 1] = (now - begun) * 1e3
    begun = now
  end
end)

local sum = 0
for _, ms in ipairs(batch_ms) do
  sum = sum + ms
end
local mean = sum / #batch_ms
local square = 0
for _, ms in ipairs(batch_ms) do
  square = square + (ms - mean) ^ 2
end
report.write({
  same = { bytes = read_bytes, [digest.name] = result() },
  figures = {
    { "CPU time of a batch, mean", mean, "ms" },
    { "its variance", square / #batch_ms, "ms^2" },
  },
  batch_ms = batch_ms,
})
