-- An HTTP GET whose body comes over a slow line: a local writer waits 1 to 5 ms before each chunk of
-- 16 KiB, and this reader takes the MD5 of the chunks. Between two chunks it has nothing to do but to
-- collect the garbage of the last one.
--
--   http_latency.lua [bytes]      default 32 MiB, which takes about 6.5 s

local here = arg[0]:match("^(.*/)") or "./"
package.path = here .. "lib/?.lua;" .. package.path

local arguments = require("arguments")
local digest = require("digest")
local report = require("report")
local stream = require("stream")

local bytes = arguments.integer(arg[1], 32 * 1024 * 1024, "bytes")

local add, result = digest.new()
local delays = {}
local read_bytes = stream.read({ "bytes=" .. bytes, "wait_ms=1-5" }, function(chunk, delay_us)
  -- The stamp differs from run to run: the digest is over what follows it.
  add(chunk:sub(stream.STAMP_BYTES + 1))
  delays[#delays + 1] = delay_us
end)

report.write({
  same = { bytes = read_bytes, [digest.name] = result() },
  wake_delay_us = delays,
})
