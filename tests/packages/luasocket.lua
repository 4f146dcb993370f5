-- LuaSocket's own Lua files on the built-in socket.core and mime.core: ltn12, mime, url, headers, http, smtp, ftp.
local use_file = ...
if use_file then package.preload.socket = nil end
local socket = require "socket"
local ltn12, mime, url = require "ltn12", require "mime", require "socket.url"
local http, smtp, ftp, headers = require "socket.http", require "socket.smtp", require "socket.ftp", require "socket.headers"
assert(require "socket.core" == socket)

-- mime and ltn12
local function through(filter, text, size)
  local out = {}
  local source = ltn12.source.chain(ltn12.source.string(text), filter)
  assert(ltn12.pump.all(source, (ltn12.sink.table(out))))
  return table.concat(out)
end
local text = ("Grüße = tab\t end \r\nline two \r\n.dot\n"):rep(5)
for _, kind in ipairs{ "base64", "quoted-printable" } do
  local encoded = through(ltn12.filter.chain(mime.encode(kind), mime.wrap(kind)), text)
  print(encoded)
  print(through(mime.decode(kind), encoded) == text)
end
print(mime.b64("abc"), mime.b64("abcd"), mime.b64("ab", "cd"), mime.b64(""), mime.b64(nil), mime.b64("ab", ""))
print(mime.unb64("YWJj"), mime.unb64("YW", "Jj"), mime.unb64("YWI="), mime.unb64("!!"), mime.unb64(""), mime.unb64("YWJ"))
print(mime.qp("a=b \r\n"), mime.qp("é", "x"), mime.qp("a ", nil), mime.qp("a\r", "\nb", "|"), mime.qp("a", nil, "|"))
print(mime.unqp("a=3Db=\r\nc"), mime.unqp("=3", "D"), mime.unqp("=XY\1"), mime.unqp("x\ny\r\n", nil))
print(mime.wrp(3, "abcdef", 3), mime.wrp(1, nil, 3), mime.wrp(3, nil, 3), mime.wrp(2, "a\nb"), mime.wrp(76, ("x"):rep(80)))
print(mime.qpwrp(4, "a=3Db", 6), mime.qpwrp(1, nil), mime.qpwrp(76, nil), mime.qpwrp(2, "abcdef", 4))
print(mime.eol(0, "a\r\nb\nc\rd\n\r\n", "|"), mime.eol(13, "\nx", "|"), mime.eol(0, nil), mime.eol(0, "\r", "|"))
print(mime.dot(2, ".a\r\n.b\r\n..c"), mime.dot(0, ".x"), mime.dot(2, nil), mime.dot(1, "\n."))
for _, call in ipairs{ function() mime.b64({}) end, function() mime.wrp() end, function() mime.eol("x") end, function() mime.qp("a", "b", {}) end } do
  print(pcall(call))
end
print(through(mime.normalize("|"), "a\r\nb\nc\r"), through(mime.stuff(), "..\r\n.\r\n"))
print(pcall(mime.encode, "rot13"))

-- url and headers
local parsed = url.parse("http://user:pw@www.example.com:8080/a/b;p?q=1&r=2#frag")
for _, name in ipairs{ "scheme", "user", "password", "host", "port", "path", "params", "query", "fragment", "authority" } do io.write(tostring(parsed[name]), " ") end
print(url.build(parsed), url.escape("a b/ü"), url.unescape("a%20b"), url.absolute("http://a/b/c/d", "../e"))
print(headers.canonic["content-type"], #url.parse_path("/a/b/c"), url.build_path{ "x y", is_absolute = 1 })

-- sources and sinks on a pair of sockets
local server = assert(socket.bind("127.0.0.1", 0))
local _, port = server:getsockname()
local function pair()
  local client = assert(socket.connect("127.0.0.1", port))
  return client, assert(server:accept())
end
local a, b = pair()
assert(ltn12.pump.all(ltn12.source.string(("x"):rep(5000)), socket.sink("close-when-done", a)))
local got = {}
assert(ltn12.pump.all(socket.source("until-closed", b), (ltn12.sink.table(got))))
print(#table.concat(got), (select(2, a:send("x"))))
a, b = pair()
assert(socket.sink("keep-open", a)("hello world"))
got = {}
assert(ltn12.pump.all(socket.source("by-length", b, 5), (ltn12.sink.table(got))))
print(table.concat(got), b:receive(6), type(socket.source(b).getfd()), socket.sink(a).dirty(), b:getfamily())
print(pcall(socket.choose{ a = 1 }, "zzz"))
a:close() b:close()

-- http, smtp and ftp against servers in coroutines: `create` gives them sockets that wait by yielding.
local function run(serve, client)
  local threads = { coroutine.create(serve), coroutine.create(client) }
  local result
  local limit = socket.gettime() + 20
  while threads[1] or threads[2] do
    for i = 1, 2 do
      if threads[i] then
        local ok, what = coroutine.resume(threads[i])
        if not ok then error(debug.traceback(threads[i], what), 0) end
        if coroutine.status(threads[i]) == "dead" then
          threads[i] = nil
          if i == 2 then result = what end
        end
      end
    end
    assert(socket.gettime() < limit, "a conversation takes too long")
    if threads[1] or threads[2] then socket.sleep(0.001) end
  end
  return result
end
local function patient(sock)
  sock:settimeout(0)
  local object = {}
  function object:send(data, i, j)
    i = i or 1
    while true do
      local sent, why, last = sock:send(data, i, j)
      if sent then return sent end
      if why ~= "timeout" then return nil, why, last end
      i = last + 1
      coroutine.yield()
    end
  end
  function object:receive(pattern, prefix)
    while true do
      local data, why, part = sock:receive(pattern, prefix)
      if data or why ~= "timeout" then return data, why, part end
      if (pattern or "*l") ~= "*a" or #part > 0 then prefix = part end
      coroutine.yield()
    end
  end
  function object:connect(host, to)
    local ok, why = sock:connect(host, to)
    while not ok and (why == "timeout" or why == "Operation already in progress") do
      coroutine.yield()
      ok, why = sock:connect(host, to)
    end
    if ok or why == "already connected" then return 1 end
    return nil, why
  end
  function object:settimeout() return 1 end
  function object:close() return sock:close() end
  function object:getfd() return sock:getfd() end
  function object:dirty() return sock:dirty() end
  function object:getsockname() return sock:getsockname() end
  function object:getpeername() return sock:getpeername() end
  function object:accept()
    while true do
      local client, why = sock:accept()
      if client then return patient(client) end
      assert(why == "timeout", why)
      coroutine.yield()
    end
  end
  return object
end
local create = function() return patient(assert(socket.tcp4())) end
server:settimeout(0)
local patient_server = patient(server)

local function serve_http(answer)
  return function()
    local client = patient_server:accept()
    local request, fields = client:receive(), {}
    while true do
      local line = client:receive()
      if line == "" then break end
      local name, value = line:match("^(.-): (.*)$")
      fields[name:lower()] = value
    end
    local body = fields["content-length"] and client:receive(tonumber(fields["content-length"])) or ""
    client:send(answer(request, fields, body))
    client:close()
  end
end
print(run(serve_http(function(request) return "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Y: z\r\n\r\nhello" end), function()
  local body, code, fields, status = http.request{ url = "http://127.0.0.1:" .. port .. "/x?y=1", create = create, sink = nil }
  return tostring(body) .. code .. fields["x-y"] .. status
end))
print(run(serve_http(function(request, fields, body)
  return "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nPOST\r\n" .. ("%x"):format(#body) .. "\r\n" .. body .. "\r\n0\r\n\r\n"
end), function()
  local out = {}
  local ok, code = http.request{
    url = "http://me:secret@127.0.0.1:" .. port .. "/", method = "POST", create = create, headers = { ["content-length"] = 4 },
    source = ltn12.source.string("data"), sink = ltn12.sink.table(out),
  }
  return table.concat(out) .. code
end))
print(run(serve_http(function(_, fields) return "HTTP/1.0 401 No\r\n\r\n" .. tostring(fields.authorization) end), function()
  local out = {}
  local _, code = http.request{ url = "http://me:secret@127.0.0.1:" .. port .. "/", create = create, sink = ltn12.sink.table(out) }
  return table.concat(out) .. code
end))
print(http.request("http://127.0.0.1:1/"))

local mail = {}
print(run(function()
  local client = patient_server:accept()
  client:send("220 hi\r\n")
  while true do
    local line = client:receive()
    if line:find("^EHLO") then client:send("250-host\r\n250 PLAIN\r\n")
    elseif line == "DATA" then
      client:send("354 go\r\n")
      repeat
        line = client:receive()
        mail[#mail + 1] = line
      until line == "."
      client:send("250 taken\r\n")
    elseif line == "QUIT" then
      client:send("221 bye\r\n")
      return client:close()
    else client:send("250 ok " .. line .. "\r\n") end
  end
end, function()
  return (smtp.send{
    from = "<a@b.c>", rcpt = { "<d@e.f>", "<g@h.i>" }, server = "127.0.0.1", port = tonumber(port), create = create, domain = "here",
    source = smtp.message{
      headers = { subject = "test", date = "Thu, 1 Jan 1970 00:00:00 +0000" },
      body = { { body = "one\r\n.two\r\n" }, { headers = { ["content-type"] = "text/plain" }, body = mime.eol(0, "a\nb") } },
    },
  })
end))
table.sort(mail)
for _, line in ipairs(mail) do
  if not line:find("X-Mailer", 1, true) and not line:find("boundary", 1, true) and not line:find("^%-%-") then print(line) end
end

print(run(function()
  local control = patient_server:accept()
  local data = assert(socket.bind("127.0.0.1", 0))
  local _, at = data:getsockname()
  local waiting = patient(data)
  local listening = waiting
  control:send("220 ready\r\n")
  while true do
    local line = control:receive()
    if not line then return control:close() end
    local command = line:match("^%a+"):lower()
    if command == "pasv" then
      control:send(("227 Entering (127,0,0,1,%d,%d)\r\n"):format(at // 256, at % 256))
    elseif command == "retr" then
      local there = listening:accept()
      control:send("150 coming\r\n")
      there:send("the file " .. line)
      there:close()
      control:send("226 done\r\n")
    elseif command == "quit" then
      control:send("221 bye\r\n")
      data:close()
      return control:close()
    else control:send((command == "user" and "331" or "200") .. " ok\r\n") end
  end
end, function()
  local out = {}
  local ok, why = ftp.get{ host = "127.0.0.1", port = tonumber(port), user = "u", password = "p", path = "x.txt", type = "i", sink = ltn12.sink.table(out), create = create }
  return ok and table.concat(out) or why
end))

-- the rest of the manual
print(socket.dns.toip("127.0.0.1"), socket.dns.getaddrinfo("127.0.0.1")[1].addr, socket.dns.getnameinfo("127.0.0.1", 9) ~= nil)
print(type(socket.dns.gethostname()), socket.dns.toip("no.such.host.invalid") == nil, pcall(socket.dns.getnameinfo))
print(socket._VERSION, socket.BLOCKSIZE, type(socket._SETSIZE), socket._DATAGRAMSIZE, select("#", socket.skip(1, "a", "b")))
local udp = assert(socket.udp4())
assert(udp:setsockname("127.0.0.1", 0))
for _, option in ipairs{ "broadcast", "reuseaddr", "ip-multicast-loop" } do print(option, udp:setoption(option, true) == 1, udp:getoption(option)) end
print(udp:setoption("ip-multicast-ttl", 3) == 1, pcall(udp.setoption, udp, "nothing", 1))
print(udp:dirty(), udp:getfamily(), udp:setpeername("127.0.0.1", port) == 1, pcall(udp.sendto, udp, "x", "127.0.0.1", 1))
local tcp = socket.tcp4()
print(tcp:setoption("keepalive", true) == 1, tcp:getoption("keepalive"), tcp:setoption("linger", { on = true, timeout = 3 }) == 1, tcp:getoption("linger").timeout == 3)
print(tcp:getoption("tcp-nodelay"), tcp:setoption("tcp-nodelay", true) == 1, tcp:getoption("tcp-nodelay"), tcp:getoption("error"))
print(tcp:connect("127.0.0.1", "no such service"))
local other = socket.tcp4()
print(#tostring(tcp) > 10, tcp:getfd() >= 0, tcp:close() == 1, tcp:getfd() == -1)
local set = socket.protect(function(x) socket.try(x, "why") return x end)
print(set(1), set(nil), pcall(socket.protect(function() error("real") end)))
local finalized
print(socket.protect(function() socket.newtry(function() finalized = true end)(nil, "failed") end)(), finalized)
