-- A big heap of which nearly all is dropped: 300,000 records are built, 99.9 % of them are let go,
-- and the script waits. How much memory does the process keep?
--
--   drop_heap.lua [records] [wait_s] [collect]      default 300,000 records, 1 s
--
-- With "collect" the script calls collectgarbage() after the drop: an interpreter that doesn't
-- collect while it waits gets its chance.

local here = arg[0]:match("^(.*/)") or "./"
package.path = here .. "lib/?.lua;" .. package.path

local socket = require("socket")
local arguments = require("arguments")
local report = require("report")

local count = arguments.integer(arg[1], 300000, "records")
local wait_s = arguments.number(arg[2], 1, "wait_s")
local collect = arg[3] == "collect"
if arg[3] and not collect then
  error("the third argument can only be 'collect', not '" .. arg[3] .. "'", 0)
end

local KEPT_OF = 1000

local records = {}
for i = 1, count do
  records[i] = {
    id = i,
    name = ("record number %d"):format(i),
    tags = { "tag " .. i % 97, "tag " .. i % 89 },
    score = i * 0.5,
  }
end
local built = socket.gettime()

local kept = {}
for i = KEPT_OF, count, KEPT_OF do
  kept[#kept + 1] = records[i]
end
records = nil
local dropped = socket.gettime()
if collect then
  collectgarbage()
end
socket.sleep(wait_s)

local sum = 0
for _, record in ipairs(kept) do
  assert(record.name == "record number " .. record.id, "a record that was kept has changed")
  sum = sum + record.id
end

report.write({
  same = { records = count, kept = #kept, sum = sum },
  marks = { { name = "built", at = built }, { name = "dropped", at = dropped } },
})
