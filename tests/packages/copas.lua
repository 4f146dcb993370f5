-- copas: a server and its clients in one process, on coroutines.
local copas = require "copas"
local socket = require "socket"
local server = assert(socket.bind("127.0.0.1", 0))
local _, port = server:getsockname()
local served, answers = 0, {}
copas.addserver(server, function(skt)
  skt = copas.wrap(skt)
  while true do
    local line = skt:receive()
    if not line then break end
    served = served + 1
    skt:send(line:upper() .. "\n")
  end
end)
for i = 1, 10 do
  copas.addthread(function()
    local sock = socket.tcp()
    assert(copas.connect(sock, "127.0.0.1", tonumber(port)))
    local skt = copas.wrap(sock)
    for j = 1, 5 do
      skt:send("client " .. i .. " line " .. j .. "\n")
      local answer = skt:receive()
      answers[#answers + 1] = answer
    end
    skt.socket:close()
  end)
end
-- A web server, and LuaSocket's http in a thread of copas.
local web = assert(socket.bind("127.0.0.1", 0))
local _, web_port = web:getsockname()
copas.addserver(web, function(skt)
  skt = copas.wrap(skt)
  local request = skt:receive()
  repeat local line = skt:receive() until line == "" or not line
  local body = "you asked: " .. request
  skt:send("HTTP/1.0 200 OK\r\nContent-Length: " .. #body .. "\r\n\r\n" .. body)
  skt.socket:close()
end)
local pages = {}
package.loaded["socket.http"] = nil
local http = require "socket.http"
for i = 1, 4 do
  copas.addthread(function()
    local out = {}
    local ok, code = http.request{
      url = "http://127.0.0.1:" .. web_port .. "/" .. i, sink = require "ltn12".sink.table(out),
      create = function()
        local sock = socket.tcp()
        local skt = copas.wrap(sock)
        return setmetatable({ connect = function(_, host, to) return copas.connect(sock, host, to) end, close = function() return sock:close() end }, {
          __index = function(_, name) return function(_, ...) return skt[name](skt, ...) end end,
        })
      end,
    }
    pages[#pages + 1] = table.concat(out) .. " " .. tostring(code)
  end)
end
local limit = socket.gettime() + 30
while (#answers < 50 or #pages < 4) and socket.gettime() < limit do copas.step(0.1) end
table.sort(answers)
table.sort(pages)
print(served, #answers, answers[1], answers[50])
for _, page in ipairs(pages) do print(page) end
