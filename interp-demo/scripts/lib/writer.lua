-- The far end of the scripts: an HTTP server for one request, run as a process of its own.
--
--   writer.lua bytes=N [source=stamped|FILE] [wait_ms=LEAST-MOST] [waits_s=LIST] [burst=CHUNKS pause_ms=N]
--              [silence_s=N] [port=N]
--
-- It prints "port N", accepts one connection, answers one GET with a body of N bytes, and ends.
-- When it can't listen, it prints "error MESSAGE" instead.
--
--   source     "stamped": each chunk of 16 KiB begins with the time at which it was sent, in
--              seconds, padded with spaces to 20 bytes; the rest is the same in each run.
--              Else a file to copy, such as /dev/urandom.
--   wait_ms    wait that long before each chunk: random, but the same in each run.
--   waits_s    a list of seconds, "1,1,30": wait that long before the first, the second, the third chunk, and not
--              before any other.
--   burst      after so many chunks be silent for `pause_ms`.
--   silence_s  be silent for so long before the last chunk.

local socket = require("socket")

local CHUNK_BYTES = 16 * 1024
local STAMP_BYTES = 20

local options = {}
for _, word in ipairs(arg) do
  local key, value = word:match("^([%w_]+)=(.*)$")
  if not key then
    io.stderr:write("writer.lua: unknown argument '", word, "'\n")
    os.exit(1)
  end
  options[key] = value
end
local total_bytes = assert(tonumber(options.bytes), "writer.lua: bytes=N is missing")

-- The generator of Park and Miller: every interpreter gets the same sequence from it, one without
-- integers too.
local seed = 14723
local function random(least, most)
  seed = seed * 16807 % 2147483647
  return least + math.floor(seed / 2147483647 * (most - least + 1))
end

-- Blocks of bytes that don't repeat within a block; made before the first chunk is sent.
local function make_blocks(count)
  local blocks = {}
  for i = 1, count do
    local pieces = {}
    for j = 1, (CHUNK_BYTES - STAMP_BYTES) / 4 do
      pieces[j] = string.char(random(0, 255), random(0, 255), random(0, 255), random(0, 255))
    end
    blocks[i] = table.concat(pieces)
  end
  return blocks
end

-- Returns a function that gives the next chunk, ready to be sent, of at most `bytes` bytes.
local function open_source(name)
  if name ~= "stamped" then
    local file = assert(io.open(name, "rb"))
    return function(bytes)
      return file:read(bytes) or error(name .. " has ended", 0)
    end
  end
  local blocks = make_blocks(8)
  local turn = 0
  return function(bytes)
    turn = turn % #blocks + 1
    local chunk = ("%-20.6f"):format(socket.gettime()) .. blocks[turn]
    return bytes < CHUNK_BYTES and chunk:sub(1, bytes) or chunk
  end
end

local function serve(client, next_chunk)
  client:setoption("tcp-nodelay", true)
  repeat
    local line, message = client:receive("*l")
    if not line then
      return nil, message
    end
  until line == ""
  client:send("HTTP/1.0 200 OK\r\nContent-Type: application/octet-stream\r\n" ..
    ("Content-Length: %d\r\n\r\n"):format(total_bytes))

  local wait_least, wait_most = (options.wait_ms or ""):match("^([%d.]+)-([%d.]+)$")
  local waits_s = {}
  for wait_s in (options.waits_s or ""):gmatch("[%d.]+") do
    waits_s[#waits_s + 1] = tonumber(wait_s)
  end
  local burst = tonumber(options.burst)
  local pause_s = (tonumber(options.pause_ms) or 0) / 1000
  local silence_s = tonumber(options.silence_s)
  local sent_bytes, sent_chunks = 0, 0
  while sent_bytes < total_bytes do
    local bytes = math.min(CHUNK_BYTES, total_bytes - sent_bytes)
    if waits_s[sent_chunks + 1] then
      socket.sleep(waits_s[sent_chunks + 1])
    end
    if wait_least then
      socket.sleep(random(tonumber(wait_least), tonumber(wait_most)) / 1000)
    end
    if silence_s and sent_bytes + bytes == total_bytes then
      socket.sleep(silence_s)
    end
    local sent, message = client:send(next_chunk(bytes))
    if not sent then
      return nil, message
    end
    sent_bytes = sent_bytes + bytes
    sent_chunks = sent_chunks + 1
    if burst and sent_chunks % burst == 0 then
      socket.sleep(pause_s)
    end
  end
  return true
end

local port = tonumber(options.port or 0)
if not port or port < 0 or port > 65535 or port % 1 ~= 0 then
  print(("error the port must be a number from 0 to 65535, not '%s'"):format(options.port))
  os.exit(1)
end
local next_chunk = open_source(options.source or "stamped")
local server, message = socket.bind("127.0.0.1", port)
if not server then
  print(("error cannot listen on 127.0.0.1:%d: %s"):format(port, message))
  os.exit(1)
end
local _, bound_port = server:getsockname()
print("port " .. math.floor(bound_port))
io.stdout:flush()

server:settimeout(30)
local client = server:accept()
server:close()
if client then
  serve(client, next_chunk)
  client:close()
end
