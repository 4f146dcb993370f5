-- Garbage, then a wait for one descriptor, again and again: the first benchmark of Ruby's Feature 14723. Each turn sends a line to
-- an echo in another process and waits for it to come back.
--
--   gc_io_wait.lua [turns] [objects a turn]      default 20000 turns, 50 objects

local here = arg[0]:match("^(.*/)") or "./"
package.path = here .. "lib/?.lua;" .. package.path

local arguments = require("arguments")
local garbage = require("garbage")
local echo = require("echo_client")

local turns = arguments.integer(arg[1], 20000, "turns", 1)
local objects = arguments.integer(arg[2], 50, "objects a turn")

local far = echo.start()
local made = 0
garbage.measure("gc_io_wait", turns, function(turn)
  assert(far:send("turn " .. turn .. "\n"))
  made = made + garbage.make(objects, turn)
  assert(far:receive("*l") == "turn " .. turn, "an echo of something else")
end, function()
  return { turns = turns, objects = made }
end)
far:close()
echo.finish()
