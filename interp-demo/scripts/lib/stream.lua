-- A stream of chunks from a writer of our own over a real socket, as the scripts read it.

local socket = require("socket")
local http = require("http")
local spawn = require("spawn")

local unpack = table.unpack or unpack

local stream = { CHUNK_BYTES = 16 * 1024, STAMP_BYTES = 20 }

local writer_script = (arg[0]:match("^(.*/)") or "./") .. "lib/writer.lua"

-- Starts the writer with `options` ("bytes=1024", …; see writer.lua), reads all that it sends, and
-- calls `use(chunk, delay_us, index)` for each chunk as it arrives. `delay_us` is the time from the
-- writer's stamp to the chunk's arrival here, nil for a chunk without a stamp.
-- The port is a free one, or $SLEEPY_PORT. Returns the number of bytes read.
function stream.read(options, use)
  local words = { unpack(options) }
  local port = os.getenv("SLEEPY_PORT")
  if port then
    words[#words + 1] = "port=" .. port
  end
  local writer = spawn(writer_script, unpack(words))
  local greeting = writer.read_line() or "nothing"
  local bound_port = tonumber(greeting:match("^port (%d+)$"))
  if not bound_port then
    writer.wait()
    error("the writer could not start: " .. greeting:gsub("^error ", ""), 0)
  end

  local connection, length = http.get("127.0.0.1", bound_port, "/")
  local index = 0
  for chunk in http.pieces(connection, length, stream.CHUNK_BYTES) do
    local arrived = socket.gettime()
    local sent = tonumber(chunk:match("^%d+%.%d%d%d%d%d%d *", 1))
    index = index + 1
    use(chunk, sent and (arrived - sent) * 1e6, index)
  end
  connection:close()
  writer.wait()
  return length
end

return stream
