-- The main thread joins another in slices of 10 ms, while that one reads blocks of 16 KiB, each of them garbage at once: the third
-- benchmark of Ruby's Feature 14723. The thread that only waits has the time to collect.
--
--   gc_join_timeout.lua [blocks]      default 20000 blocks from /dev/zero, 0.2 ms apart now and then

local here = arg[0]:match("^(.*/)") or "./"
package.path = here .. "lib/?.lua;" .. package.path

local thread = require("thread")
local arguments = require("arguments")
local garbage = require("garbage")

local blocks = arguments.integer(arg[1], 20000, "blocks", 1)

local BLOCK_BYTES = 16 * 1024
local SLICE_S = 0.010

local reader = thread.spawn(function()
  local file = assert(io.open("/dev/zero", "rb"))
  local bytes = 0
  for block = 1, blocks do
    bytes = bytes + #file:read(BLOCK_BYTES)
    if block % 100 == 0 then
      thread.sleep(0.001)
    end
  end
  file:close()
  return bytes
end)
local slices = 0
local bytes
garbage.measure("gc_join_timeout", 1, function()
  repeat
    local done, result = reader:join(SLICE_S)
    assert(done or result == "timeout", result)
    slices = slices + 1
    bytes = done and result
  until done
end, function()
  return { bytes = bytes }
end)
