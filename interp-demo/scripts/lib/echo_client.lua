-- A connection to an echo in a process of its own.

local socket = require("socket")
local spawn = require("spawn")

local echo = {}
local process

-- Starts the echo, and returns the connection to it.
function echo.start()
  process = spawn((arg[0]:match("^(.*/)") or "./") .. "lib/echo.lua")
  local port = tonumber((process.read_line() or ""):match("^port (%d+)$"))
  if not port then
    error("the echo could not start", 0)
  end
  local connection = assert(socket.connect("127.0.0.1", port))
  connection:setoption("tcp-nodelay", true)
  return connection
end

-- Waits for the end of the echo, after its connection was closed.
function echo.finish()
  process.wait()
end

return echo
