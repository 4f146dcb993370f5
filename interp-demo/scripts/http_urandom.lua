-- An HTTP GET whose body a local writer copies from /dev/urandom; MD5 over the chunks.
-- The script of Ruby's Feature #14723. Today's /dev/urandom never makes a reader wait, so this one
-- shows what sleeping costs where there is no time to sleep.
--
--   http_urandom.lua [bytes]      default 256 MiB

local here = arg[0]:match("^(.*/)") or "./"
package.path = here .. "lib/?.lua;" .. package.path

local arguments = require("arguments")
local digest = require("digest")
local report = require("report")
local stream = require("stream")

local bytes = arguments.integer(arg[1], 256 * 1024 * 1024, "bytes")

local add, result = digest.new()
local read_bytes = stream.read({ "bytes=" .. bytes, "source=/dev/urandom" }, function(chunk)
  add(chunk)
end)

report.write({ same = { bytes = read_bytes } })
if not os.getenv("SLEEPY_REPORT") then
  print(("%-12s %s"):format(digest.name, result()))
end
