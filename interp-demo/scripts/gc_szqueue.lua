-- A sized queue between two threads: one makes strings, the other takes them, and each waits for the other: the fifth benchmark of
-- Ruby's Feature 14723.
--
--   gc_szqueue.lua [strings] [limit]      default 100000 strings, 16 in the queue

local here = arg[0]:match("^(.*/)") or "./"
package.path = here .. "lib/?.lua;" .. package.path

local queue = require("queue")
local thread = require("thread")
local arguments = require("arguments")
local garbage = require("garbage")

local strings = arguments.integer(arg[1], 100000, "strings", 1)
local limit = arguments.integer(arg[2], 16, "limit", 1)

local items = queue.new({ limit = limit })
local consumer = thread.spawn(function()
  local bytes = 0
  while true do
    local item = items:pop()
    if not item then
      return bytes
    end
    bytes = bytes + #item
  end
end)
garbage.measure("gc_szqueue", strings, function(turn)
  items:push(("%08d"):format(turn):rep(16))
end, function()
  items:stop()
  local done, bytes = consumer:join()
  assert(done, bytes)
  return { bytes = bytes }
end)
