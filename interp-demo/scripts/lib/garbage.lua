-- Garbage, and what a benchmark that makes it has cost.

local report = require("report")
local socket = require("socket")

local garbage = {}

-- Makes so many tables and strings that nobody keeps. Returns how many.
function garbage.make(count, seed)
  local last
  for i = 1, count do
    last = { i, "object " .. seed * count + i }
  end
  return last and count or 0
end

-- The most memory that this process has had resident, in MB, where the system tells it.
local function peak_mb()
  local file = io.open("/proc/self/status")
  if not file then
    return 0
  end
  local text = file:read("a")
  file:close()
  return (tonumber(text:match("VmHWM:%s*(%d+)")) or 0) * 1024 / 1e6
end

-- Calls `turn(n)` for n from 1 to `turns`, then `finish()`, which tells what every run must agree on, and reports.
function garbage.measure(name, turns, turn, finish)
  local begun, begun_cpu = socket.gettime(), os.clock()
  for n = 1, turns do
    turn(n)
  end
  local same = finish()
  local wall_s, cpu_s = socket.gettime() - begun, os.clock() - begun_cpu
  report.write({
    same = same,
    figures = {
      { name .. ", time", wall_s, "s" },
      { "CPU time", cpu_s, "s" },
      { "largest resident memory", peak_mb(), "MB" },
    },
    wall_s = wall_s,
  })
end

return garbage
