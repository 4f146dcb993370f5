-- Sockets and processes in threads: an echo server with a thread for each of 50 clients, and what is closed under those who wait.
local thread, socket, process = require "thread", require "socket", require "process"

local server = assert(socket.bind("127.0.0.1", 0, 64))
local _, port = server:getsockname()
local served = {}
local acceptor = thread.spawn(function()
  while true do
    local client, why = server:accept()
    if not client then return why end
    served[#served + 1] = thread.spawn(function()
      while true do
        local line, why = client:receive()
        if not line then client:close() return why end
        assert(client:send(line:upper() .. "\n"))
      end
    end)
  end
end)
local clients = {}
for i = 1, 50 do
  clients[i] = thread.spawn(function()
    local c = assert(socket.connect("127.0.0.1", port))
    for j = 1, 20 do
      assert(c:send(("client %d, %d\n"):format(i, j)))
      assert(c:receive() == ("CLIENT %d, %d"):format(i, j))
    end
    c:shutdown("send") -- half closed: what comes back still arrives
    assert(select(2, c:receive()) == "closed")
    c:close()
    return i
  end)
end
for i = 1, 50 do assert(select(2, assert(clients[i]:join())) == i) end
server:close()
assert(select(2, acceptor:join()) == "closed")
assert(#served == 50)
for i = 1, 50 do assert(select(2, assert(served[i]:join())) == "closed") end

-- closed by another thread
local function waiting(f)
  local t = thread.spawn(f)
  while t:status() ~= "waiting" do thread.sleep(0.001) end
  return t
end
local server = assert(socket.bind("127.0.0.1", 0))
local _, port = server:getsockname()
local a = assert(socket.connect("127.0.0.1", port))
local b = server:accept()
local t = waiting(function() return b:receive(5) end)
b:close()
local _, got, why = t:join()
assert(got == nil and why == "closed")
-- whoever has the descriptor's number next is none of its business
local others = {}
for i = 1, 20 do others[i] = socket.udp() others[i]:setsockname("127.0.0.1", 0) end
assert(select(2, b:receive()) == "closed")
local u = socket.udp()
u:setsockname("127.0.0.1", 0)
local t = waiting(function() return u:receive() end)
u:close()
assert(select(3, t:join()) == "closed")
local t = waiting(function() return socket.select({ server }, nil) end)
server:close()
assert(t:join())
local full = thread.spawn(function()
  local s = assert(socket.bind("127.0.0.1", 0))
  local _, port = s:getsockname()
  local c, d = assert(socket.connect("127.0.0.1", port)), s:accept()
  local sender = waiting(function() return c:send(("x"):rep(50000000)) end)
  c:close()
  return sender:join()
end)
local _, ok, sent, why = full:join()
assert(ok == true and sent == nil and why == "closed")
-- a pipe
local p = assert(process.spawn("cat", { stdio = { stdin = "pipe", stdout = "pipe" } }))
local t = waiting(function() return p.stdout:read("l") end)
p.stdin:write("through\n")
p.stdin:flush()
assert(select(2, t:join()) == "through")
local t = waiting(function() return p:wait() end)
assert(select(2, p:wait(0)) == "timeout" and select(2, p:wait(0.01)) == "timeout")
local u = waiting(function() return p:wait() end)
p.stdin:close()
assert(select(2, t:join()) == true and select(2, u:join()) == true and p:wait() == true)

-- a full pipe holds up its writer alone
local p = assert(process.spawn("cat", { stdio = { stdin = "pipe", stdout = "pipe" } }))
local text = ("0123456789"):rep(100000)
local writer = thread.spawn(function()
  assert(p.stdin:write(text) == p.stdin)
  assert(p.stdin:write(text) and p.stdin:close() == true)
  return "written"
end)
thread.sleep(0.01)
assert(p.stdout:read("a") == text .. text)
assert(select(2, writer:join()) == "written" and p:wait())
local p = assert(process.spawn("sleep", { args = { "60" }, stdio = { stdin = "pipe" } }))
local writer = waiting(function() return p.stdin:write(text) end)
p:kill()
local _, ok, why = writer:join()
assert(ok == nil and why:find("Broken pipe"), why)
p:wait()
-- a named pipe: each end waits for the other
local name = os.tmpname()
os.remove(name)
assert(os.execute("mkfifo " .. name))
local reader = waiting(function() local f = assert(io.open(name)) local all = f:read("a") f:close() return all end)
local f = assert(io.open(name, "w"))
f:write("named")
f:close()
assert(select(2, reader:join()) == "named")
os.remove(name)

-- children of many threads, none of which stays a zombie
local ts = {}
for i = 1, 20 do
  ts[i] = thread.spawn(function()
    assert(select(3, os.execute("exit " .. i)) == i)
    local f = io.popen("echo " .. i)
    local line = f:read()
    f:close()
    local p = process.spawn("sh", { args = { "-c", "exit 3" } })
    assert(select(3, p:wait()) == 3)
    process.spawn("true") -- nobody waits for it
    return tonumber(line)
  end)
end
for i = 1, 20 do assert(select(2, assert(ts[i]:join())) == i) end
thread.sleep(0.05)
collectgarbage() -- the handles of those that nobody waits for
os.execute("true")
local zombies = 0
local me = io.open("/proc/self/stat"):read("n")
for name in io.popen("cat /proc/[0-9]*/stat 2>/dev/null"):lines() do
  local state, parent = name:match("^%d+ %(.*%) (%a) (%d+)")
  if state == "Z" and tonumber(parent) == me then zombies = zombies + 1 end
end
assert(zombies == 0, zombies)

print "ok"
