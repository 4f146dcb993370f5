-- A program that asks a database: each request waits for the server and then gets 10,000 rows, which it makes objects of. The
-- time in which the server works is time in which the rows of the last request can be collected.
--
--   pg_rows.lua [requests] [query_ms] [live records]      default 300 requests, 4 ms at the server, 50,000 records

local here = arg[0]:match("^(.*/)") or "./"
package.path = here .. "lib/?.lua;" .. package.path

local socket = require("socket")
local arguments = require("arguments")
local report = require("report")
local spawn = require("spawn")

local requests = arguments.integer(arg[1], 300, "requests", 1)
local query_ms = arguments.number(arg[2], 4, "query_ms")
local live_count = arguments.integer(arg[3], 50000, "live records")

-- What else an application holds.
local live = {}
for i = 1, live_count do
  live[i] = { id = i, name = "live record number " .. i }
end

local server = spawn(here .. "lib/row_server.lua", "query_ms=" .. query_ms)
local port = tonumber((server.read_line() or ""):match("^port (%d+)$"))
if not port then
  error("the server could not start", 0)
end
local connection = assert(socket.connect("127.0.0.1", port))
connection:setoption("tcp-nodelay", true)

local function query(count)
  assert(connection:send(("SELECT * FROM items LIMIT %d\n"):format(count)))
  local length = tonumber(connection:receive("*l"))
  local text = assert(connection:receive(length))
  local rows = {}
  for id, name, price in text:gmatch("([^\t\n]*)\t([^\t\n]*)\t([^\t\n]*)\n") do
    rows[#rows + 1] = { id = id, name = name, price = price }
  end
  return rows
end

local ROWS = 10000
query(ROWS)
local rows_seen = 0
local request_ms = {}
local begun, begun_cpu = socket.gettime(), os.clock()
for i = 1, requests do
  local request_begun = socket.gettime()
  local rows = query(ROWS)
  rows_seen = rows_seen + #rows
  assert(rows[#rows].id == tostring(ROWS), "the last row is another's")
  request_ms[i] = (socket.gettime() - request_begun) * 1e3
end
local wall_s, cpu_s = socket.gettime() - begun, os.clock() - begun_cpu
connection:send("quit\n")
connection:close()
server.wait()
table.sort(request_ms)
report.write({
  same = { rows = rows_seen, live = #live },
  figures = {
    { "requests a second", requests / wall_s, "" },
    { "CPU time a request", cpu_s / requests * 1e3, "ms" },
    { "request p50", request_ms[math.ceil(#request_ms * 0.5)], "ms" },
    { "request p99", request_ms[math.ceil(#request_ms * 0.99)], "ms" },
  },
  requests_a_second = requests / wall_s,
})
