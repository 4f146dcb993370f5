-- An echo: sends back each line of one connection. It prints "port N" when it listens.

local socket = require("socket")

local server = assert(socket.bind("127.0.0.1", 0))
local _, port = server:getsockname()
print("port " .. math.floor(port))
io.stdout:flush()
server:settimeout(30)
local client = server:accept()
server:close()
if client then
  client:setoption("tcp-nodelay", true)
  for line in function() return (client:receive("*l")) end do
    if not client:send(line .. "\n") then
      break
    end
  end
  client:close()
end
