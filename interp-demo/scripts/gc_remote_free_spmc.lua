-- One producer makes objects, many consumers take them from a queue and drop them: the fourth benchmark of Ruby's Feature 14723.
-- What one thread has made another lets go of.
--
--   gc_remote_free_spmc.lua [objects] [consumers]      default 100000 objects, 4 consumers

local here = arg[0]:match("^(.*/)") or "./"
package.path = here .. "lib/?.lua;" .. package.path

local queue = require("queue")
local thread = require("thread")
local arguments = require("arguments")
local garbage = require("garbage")

local objects = arguments.integer(arg[1], 100000, "objects", 1)
local consumers = arguments.integer(arg[2], 4, "consumers", 1)

local items = queue.new({ limit = 1024 })
local threads = {}
for i = 1, consumers do
  threads[i] = thread.spawn(function()
    local count = 0
    while true do
      local item = items:pop()
      if not item then
        return count
      end
      count = count + 1
    end
  end)
end
local count = 0
garbage.measure("gc_remote_free_spmc", objects, function(turn)
  items:push({ turn, ("object %d"):format(turn), { turn } })
end, function()
  items:stop()
  for i = 1, consumers do
    local done, taken = threads[i]:join()
    assert(done, taken)
    count = count + taken
  end
  return { objects = count }
end)
