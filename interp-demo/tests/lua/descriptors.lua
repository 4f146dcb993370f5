-- Descriptors that garbage holds are got back when there are no others; run with few of them.

local socket, process = require "socket", require "process"
local function many(what, open)
  for i = 1, 300 do
    local got, message = open(i)
    assert(got, what .. ": " .. tostring(message))
  end
end
many("open", function()
  return io.open("/dev/null")
end)
many("lines", function()
  return io.lines("/dev/null")
end)
many("input", function()
  return io.input("/dev/null")
end)
io.input(io.stdin)
many("tmpfile", io.tmpfile)
many("bind", function()
  return socket.bind("127.0.0.1", 0)
end)
many("udp", function()
  return socket.udp():setsockname("127.0.0.1", 0)
end)
local server = socket.bind("127.0.0.1", 0, 400)
local port = select(2, server:getsockname())
many("connect", function()
  return socket.connect("127.0.0.1", port)
end)
many("accept", function()
  return socket.connect("127.0.0.1", port) and server:accept()
end)
for _ = 1, 60 do
  assert(process.spawn("true", { stdio = { stdin = "pipe", stdout = "pipe" } }))
  assert(io.popen("exit 0"))
end
local held = {}
repeat
  local file, message, code = io.open("/dev/null")
  held[#held + 1] = file
until not file and message == "/dev/null: Too many open files" and code == 24
assert(#held > 10)
assert(not pcall(io.lines, "/dev/null"))
for _, open in ipairs { socket.connect, socket.bind } do
  local none, message = open("127.0.0.1", port)
  assert(none == nil and message == "Too many open files")
end
print("ok")
