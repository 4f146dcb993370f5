-- A timer that keeps turning: it sleeps, makes a little garbage or none, and sleeps again.
-- A process that does so should not cost more because something could be given back.
--
--   timer_idle.lua [period_ms] [turns] [bytes a turn]      default 10 ms, 1000 turns, 0 bytes

local here = arg[0]:match("^(.*/)") or "./"
package.path = here .. "lib/?.lua;" .. package.path

local socket = require("socket")
local arguments = require("arguments")
local report = require("report")

local period_s = arguments.number(arg[1], 10, "period_ms") / 1000
local turns = arguments.integer(arg[2], 1000, "turns")
local bytes = arguments.integer(arg[3], 0, "bytes a turn")

local delays = {}
local made_bytes = 0
for turn = 1, turns do
  local due = socket.gettime() + period_s
  socket.sleep(period_s)
  delays[turn] = (socket.gettime() - due) * 1e6
  if bytes > 0 then
    -- A new string each turn: the turn's number makes it differ from the last.
    made_bytes = made_bytes + #(("x"):rep(bytes - 8) .. ("%08d"):format(turn))
  end
end

report.write({ same = { turns = turns, bytes = made_bytes }, wake_delay_us = delays })
