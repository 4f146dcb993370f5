-- Child processes: pipes, ends, time limits, failures.

local process = require("process")

local function sh(script, stdio, options)
  options = options or {}
  options.args = { "-c", script }
  options.stdio = stdio
  return assert(process.spawn("sh", options))
end

local tests = {}

function tests.pipes_and_status()
  local p = sh("read x; echo got $x; echo bad >&2; exit 3",
    { stdin = "pipe", stdout = "pipe", stderr = "pipe" })
  assert(math.type(p.pid) == "integer" and p.pid > 1)
  p.stdin:write("hello\n")
  p.stdin:close()
  assert(p.stdout:read("l") == "got hello")
  assert(p.stderr:read("a") == "bad\n")
  assert(p.stdout:read("l") == nil)
  local ok, how, code = p:wait()
  assert(ok == nil and how == "exit" and code == 3)
  ok, how, code = p:wait()
  assert(ok == nil and how == "exit" and code == 3, "again")
end

function tests.success()
  local p = sh("exit 0", { stdout = "null" })
  assert(p.stdout == nil and p.stdin == nil)
  local ok, how, code = p:wait(20)
  assert(ok == true and how == "exit" and code == 0)
end

function tests.time_limit_and_kill()
  local p = sh("exec sleep 30")
  local ok, why = p:wait(0.02)
  assert(ok == nil and why == "timeout")
  ok, why = p:wait(0)
  assert(ok == nil and why == "timeout")
  assert(p:kill() == true)
  local how, signal
  ok, how, signal = p:wait()
  assert(ok == nil and how == "signal" and signal == 15)
  assert(p:kill() == true, "it has gone")
  p = sh("exec sleep 30")
  assert(p:kill(9))
  ok, how, signal = p:wait()
  assert(how == "signal" and signal == 9)
  assert(not pcall(p.kill, p, 12345))
end

function tests.environment_and_directory()
  local p = sh("echo $COLOUR; echo ${HOME:-none}; pwd", { stdout = "pipe" },
    { env = { COLOUR = "green", HOME = false }, cwd = "/" })
  assert(p.stdout:read("a") == "green\nnone\n/\n")
  assert(p:wait())
end

function tests.failures()
  local p, message, code = process.spawn("/no/such/program")
  assert(p == nil and message == "/no/such/program: No such file or directory" and code == 2)
  p, message, code = process.spawn("true", { cwd = "/no/such/directory" })
  assert(p == nil and message == "/no/such/directory: No such file or directory" and code == 2)
  p, message = process.spawn("true", { cwd = "/dev/null" })
  assert(p == nil and message == "/dev/null: Not a directory")
  p, message = process.spawn("/no/such/program", { cwd = "/" })
  assert(p == nil and message == "/no/such/program: No such file or directory")
  assert(not pcall(process.spawn))
  assert(not pcall(process.spawn, "sh", 5))
  assert(not pcall(process.spawn, "sh", { args = { {} } }))
  assert(not pcall(process.spawn, "sh", { args = { "a\0b" } }))
  assert(not pcall(process.spawn, "sh", { stdio = { stdout = "nowhere" } }))
end

-- Whether children that have ended were not asked for their status.
local function zombies()
  local found = 0
  local list = io.popen("ps -o stat= --ppid $PPID")
  for line in list:lines() do
    found = found + (line:find("^Z") and 1 or 0)
  end
  list:close()
  return found
end

function tests.children_that_nobody_waits_for()
  for _ = 1, 20 do
    sh("exit 0")
  end
  sh("read x", { stdin = "pipe" })
  io.popen("exit 0")
  require("socket").sleep(0.2)
  collectgarbage()
  -- What still ran when its object went is seen to by the next that starts or waits.
  local tries = 0
  while zombies() > 0 do
    tries = tries + 1
    assert(tries < 50)
    require("socket").sleep(0.1)
  end
end

function tests.many_children()
  for _ = 1, 20 do
    local p = sh("echo x", { stdout = "pipe" })
    assert(p.stdout:read("a") == "x\n")
    assert(p:wait())
  end
  collectgarbage()
end

local names = {}
for name in pairs(tests) do
  names[#names + 1] = name
end
table.sort(names)
for _, name in ipairs(names) do
  local ok, message = xpcall(tests[name], debug.traceback)
  if not ok then
    io.stderr:write("process.lua: ", name, ": ", message, "\n")
    os.exit(1)
  end
end
print("ok")
