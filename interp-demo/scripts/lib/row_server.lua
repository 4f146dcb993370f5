-- A database that has one table: the far end of pg_rows.lua, run as a process of its own.
--
--   row_server.lua [query_ms=N]
--
-- It prints "port N", accepts one connection, and answers each line "SELECT … LIMIT N" after `query_ms` with a line that
-- tells the length of the answer in bytes, and N rows of text with tabs between the columns.

local socket = require("socket")

local query_s = 0
for _, word in ipairs(arg) do
  local ms = word:match("^query_ms=([%d.]+)$")
  if not ms then
    io.stderr:write("row_server.lua: unknown argument '", word, "'\n")
    os.exit(1)
  end
  query_s = tonumber(ms) / 1000
end

-- Answers are made once: what the server does is not what is measured.
local answers = {}
local function answer(count)
  if not answers[count] then
    local lines = {}
    for i = 1, count do
      lines[i] = ("%d\titem number %d\t%.2f\n"):format(i, i * 7919 % 100003, i * 0.25)
    end
    local text = table.concat(lines)
    answers[count] = #text .. "\n" .. text
  end
  return answers[count]
end

local server, message = socket.bind("127.0.0.1", 0)
if not server then
  print("error " .. message)
  os.exit(1)
end
local _, port = server:getsockname()
print("port " .. math.floor(port))
io.stdout:flush()

server:settimeout(30)
local client = server:accept()
server:close()
if client then
  client:setoption("tcp-nodelay", true)
  for line in function() return (client:receive("*l")) end do
    local count = tonumber(line:match("LIMIT (%d+)$"))
    if not count then
      break
    end
    local text = answer(count)
    socket.sleep(query_s)
    if not client:send(text) then
      break
    end
  end
  client:close()
end
