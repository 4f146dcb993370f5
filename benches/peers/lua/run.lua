-- Runs the program arg[1] with the arguments behind it, and says as JSON what it printed and what the process has held
-- at most: any Lua from 5.1 on can do this, so no interpreter needs to know that it is measured.
local lines = {}
function print(...)
  local words = { ... }
  for i = 1, select("#", ...) do words[i] = tostring(words[i]) end
  lines[#lines + 1] = table.concat(words, " ")
end

local program = arg[1]
table.remove(arg, 1)
dofile(program)

local held = {}
for line in io.lines("/proc/self/status") do
  local name, kib = line:match("^(Vm%u+):%s*(%d+) kB")
  if name then held[name] = kib end
end
io.write(('{"output": "%s", "peak_kib": %s, "resident_kib": %s}\n'):format(table.concat(lines, "; "), held.VmHWM, held.VmRSS))
