-- As gc_io_wait.lua, with a select over several descriptors, of which one becomes ready: the second benchmark of Ruby's
-- Feature 14723.
--
--   gc_io_select.lua [turns] [objects a turn] [idle descriptors]      default 20000 turns, 50 objects, 16 descriptors

local here = arg[0]:match("^(.*/)") or "./"
package.path = here .. "lib/?.lua;" .. package.path

local socket = require("socket")
local arguments = require("arguments")
local garbage = require("garbage")
local echo = require("echo_client")

local turns = arguments.integer(arg[1], 20000, "turns", 1)
local objects = arguments.integer(arg[2], 50, "objects a turn")
local idle = arguments.integer(arg[3], 16, "idle descriptors")

local far = echo.start()
local watched = {}
for i = 1, idle do
  watched[i] = assert(socket.udp())
end
watched[#watched + 1] = far
local made = 0
garbage.measure("gc_io_select", turns, function(turn)
  assert(far:send("turn " .. turn .. "\n"))
  made = made + garbage.make(objects, turn)
  local readable = socket.select(watched, nil)
  assert(#readable == 1 and readable[1] == far, "another descriptor is ready")
  assert(far:receive("*l") == "turn " .. turn, "an echo of something else")
end, function()
  return { turns = turns, objects = made }
end)
far:close()
echo.finish()
