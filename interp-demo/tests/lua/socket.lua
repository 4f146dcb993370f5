-- What programs written for LuaSocket rely on. Runs under a stock lua5.4 with LuaSocket as well.

local socket = require("socket")

local function near(what, least, most)
  assert(what >= least and what <= most, what)
end

local function pair()
  local server = assert(socket.bind("127.0.0.1", 0))
  local ip, port = server:getsockname()
  assert(ip == "127.0.0.1" and math.type(tonumber(port)) == "integer")
  local client = assert(socket.connect("127.0.0.1", port))
  local other = assert(server:accept())
  server:close()
  return client, other
end

local function refused_port()
  local server = assert(socket.bind("127.0.0.1", 0))
  local _, port = server:getsockname()
  server:close()
  return port
end

local tests = {}

function tests.lines()
  local a, b = pair()
  assert(a:send("one\r\ntwo\nth\rree\r\n\r\nlast") == 23)
  assert(b:receive("*l") == "one")
  assert(b:receive() == "two")
  assert(b:receive("*l") == "three")
  assert(b:receive("*l") == "")
  a:close()
  local line, why, part = b:receive("*l")
  assert(line == nil and why == "closed" and part == "last")
  line, why, part = b:receive("*l")
  assert(line == nil and why == "closed" and part == "")
  b:close()
end

function tests.numbers()
  local a, b = pair()
  a:send("0123456789")
  assert(b:receive(3) == "012")
  assert(b:receive(5, "01234") == "01234")
  assert(b:receive(5, "abc") == "abc34")
  assert(b:receive(2.0) == "56")
  b:settimeout(0)
  local data, why, part = b:receive(10)
  assert(data == nil and why == "timeout" and part == "789")
  data, why, part = b:receive(10, "pre")
  assert(data == nil and why == "timeout" and part == "pre")
  a:close()
  b:close()
end

function tests.all()
  local a, b = pair()
  a:send("first ")
  a:send("second")
  a:shutdown("send")
  assert(b:receive("*a") == "first second")
  -- The other direction of a half-closed connection still works.
  assert(b:send("answer\n") == 7)
  assert(a:receive() == "answer")
  local data, why, part = b:receive("*a")
  assert(data == nil and why == "closed" and part == "")
  a:close()
  b:close()
end

function tests.large()
  local a, b = pair()
  local block = ("x"):rep(300000)
  a:settimeout(0)
  local sent, received, pieces = 0, 0, {}
  b:settimeout(0)
  while received < #block do
    if sent < #block then
      local last, why, so_far = a:send(block, sent + 1)
      sent = last or so_far
      assert(last or why == "timeout")
    end
    local data, _, part = b:receive(70000)
    pieces[#pieces + 1] = data or part
    received = received + #pieces[#pieces]
  end
  assert(table.concat(pieces) == block)
  a:close()
  b:close()
end

function tests.send_ranges()
  local a, b = pair()
  assert(a:send("abcdef", 2, 4) == 4)
  assert(a:send("abcdef", -2) == 6)
  assert(a:send("abcdef", 1, -4) == 3)
  assert(a:send("abcdef", 5, 2) == 4)
  a:close()
  assert(b:receive("*a") == "bcdefabc")
  b:close()
end

function tests.timeouts()
  local a, b = pair()
  b:settimeout(0.05)
  local begun = socket.gettime()
  local data, why, part = b:receive(5)
  assert(data == nil and why == "timeout" and part == "")
  near(socket.gettime() - begun, 0.045, 2)
  a:send("ab")
  data, why, part = b:receive(5)
  assert(data == nil and why == "timeout" and part == "ab")
  b:settimeout(0.05, "t")
  data, why = b:receive("*l")
  assert(data == nil and why == "timeout")
  b:settimeout(nil)
  b:settimeout(-1, "t")
  a:send("ok\n")
  assert(b:receive() == "ok")
  local server = socket.bind("127.0.0.1", 0)
  server:settimeout(0.02)
  data, why = server:accept()
  assert(data == nil and why == "timeout")
  server:close()
  a:close()
  b:close()
end

function tests.failures()
  local client, why = socket.connect("127.0.0.1", refused_port())
  assert(client == nil and why == "connection refused", why)
  local server = socket.bind("127.0.0.1", 0)
  local _, port = server:getsockname()
  local second
  second, why = socket.bind("127.0.0.1", port)
  assert(second == nil and why == "address already in use", why)
  server:close()
  local a, b = pair()
  b:close()
  local sent
  for _ = 1, 100 do
    sent, why = a:send("x")
    if not sent then
      break
    end
    socket.sleep(0.002)
  end
  assert(sent == nil and why == "closed", why)
  assert(a:close() == 1)
  sent, why = a:send("x")
  assert(sent == nil and why == "closed", why)
  assert(not pcall(b.receive, b, "*x"))
  assert(not pcall(b.receive, {}))
  assert(not pcall(socket.connect, "127.0.0.1"))
  assert(not pcall(socket.sleep))
end

function tests.master()
  local master = assert(socket.tcp())
  assert(tostring(master):find("^tcp{master}: "))
  assert(master:setoption("reuseaddr", true) or true)
  assert(master:bind("127.0.0.1", 0) == 1)
  assert(master:listen(5) == 1)
  assert(tostring(master):find("^tcp{server}: "))
  local _, port = master:getsockname()
  local client = socket.tcp()
  client:settimeout(5)
  assert(client:connect("127.0.0.1", port) == 1)
  assert(tostring(client):find("^tcp{client}: "))
  local other = master:accept()
  local ip, peer_port = client:getpeername()
  assert(ip == "127.0.0.1" and tonumber(peer_port) == tonumber(port))
  local _, client_port = client:getsockname()
  local _, other_port = other:getpeername()
  assert(tonumber(client_port) == tonumber(other_port))
  assert(client:setoption("tcp-nodelay", true) == 1)
  assert(client:setoption("keepalive", true) == 1)
  assert(client:getoption("tcp-nodelay") == true)
  assert(client:setoption("linger", { on = true, timeout = 0 }) == 1)
  assert(not pcall(client.setoption, client, "no-such-option", true))
  assert(client:getfd() >= 0)
  client:close()
  assert(client:getfd() == -1)
  other:close()
  master:close()
end

function tests.localhost()
  local server = assert(socket.bind("localhost", 0))
  local _, port = server:getsockname()
  local client = assert(socket.connect("localhost", port))
  client:close()
  server:close()
  local none, why = socket.connect("no.such.host.invalid", 80)
  assert(none == nil and type(why) == "string")
end

function tests.stats()
  local a, b = pair()
  a:send("12345")
  b:receive(5)
  local received, sent, age = a:getstats()
  assert(received == 0 and sent == 5 and age >= 0)
  received, sent = b:getstats()
  assert(received == 5 and sent == 0)
  a:close()
  b:close()
end

function tests.select()
  local a, b = pair()
  local readable, writable, why = socket.select({ b }, nil, 0.02)
  assert(#readable == 0 and #writable == 0 and why == "timeout")
  readable, writable, why = socket.select({ b }, { a }, 1)
  assert(#readable == 0 and writable[1] == a and writable[a] == 1 and why == nil)
  a:send("two\nlines\n")
  readable = socket.select({ b }, {}, 1)
  assert(readable[1] == b and readable[b] == 1)
  assert(b:receive() == "two")
  -- What is buffered counts as readable although the system has nothing.
  assert(b:dirty())
  readable, writable, why = socket.select({ b, a }, nil)
  assert(readable[1] == b and #readable == 1 and why == nil)
  assert(b:receive() == "lines" and not b:dirty())
  local begun = socket.gettime()
  socket.select(nil, nil, 0.03)
  near(socket.gettime() - begun, 0.025, 2)
  a:close()
  readable = socket.select({ b }, nil, 1)
  assert(readable[1] == b)
  b:close()
end

function tests.sleep()
  local begun = socket.gettime()
  socket.sleep(0.02)
  near(socket.gettime() - begun, 0.019, 2)
  socket.sleep(0)
  socket.sleep(-1)
  near(socket.gettime(), os.time() - 2, os.time() + 2)
end

function tests.udp()
  local receiver = socket.udp()
  assert(receiver:setsockname("127.0.0.1", 0))
  local _, port = receiver:getsockname()
  local sender = socket.udp()
  assert(sender:sendto("hello", "127.0.0.1", port) == 1 or true)
  local data, ip, from = receiver:receivefrom()
  assert(data == "hello" and ip == "127.0.0.1")
  assert(sender:setpeername("127.0.0.1", port))
  assert(sender:send("again"))
  assert(receiver:receive() == "again")
  local _, sender_port = sender:getsockname()
  assert(tonumber(from) == tonumber(sender_port))
  receiver:settimeout(0.01)
  local none, why = receiver:receive()
  assert(none == nil and why == "timeout")
  assert(sender:setpeername("*"))
  sender:close()
  receiver:close()
end

function tests.protect()
  local closed
  local try = socket.newtry(function()
    closed = true
  end)
  local open = socket.protect(function(ok)
    return try(ok, "why"), "more"
  end)
  local first, second = open(5)
  assert(first == 5 and second == "more" and not closed)
  first, second = open(false)
  assert(first == nil and second == "why" and closed)
  local broken = socket.protect(function()
    error("a real error", 0)
  end)
  local ok, message = pcall(broken)
  assert(not ok and message == "a real error")
  assert(select("#", socket.skip(2, 1, 2, 3, 4)) == 2)
  assert(socket.skip(1, "a", "b") == "b")
end

function tests.dns()
  assert(type(socket.dns.gethostname()) == "string")
  assert(socket.dns.toip("127.0.0.1") == "127.0.0.1")
  local list = assert(socket.dns.getaddrinfo("localhost"))
  assert(list[1].addr and list[1].family)
end

function tests.ports_that_are_none()
  for _, port in ipairs { -1, "abc", "80x", 1.5 } do
    for _, open in ipairs { socket.connect, socket.bind } do
      local none, message = open("127.0.0.1", port)
      assert(none == nil and message == "service not supported for socket type", message)
    end
    local none, message = socket.udp():setsockname("127.0.0.1", port)
    assert(none == nil and message == "service not supported for socket type", message)
  end
  for _, open in ipairs { socket.connect, socket.bind } do
    local ok, message = pcall(open, "127.0.0.1", {})
    assert(not ok and message:find("#2 .*string expected, got table"), message)
  end
end

function tests.types_of_ports()
  local a, b = pair()
  local address, port, family = a:getsockname()
  assert(address == "127.0.0.1" and type(port) == "string" and family == "inet")
  address, port, family = b:getpeername()
  assert(address == "127.0.0.1" and math.type(port) == "integer" and family == "inet")
end

function tests.methods_of_other_roles()
  local server, client, master = assert(socket.bind("127.0.0.1", 0)), pair(), socket.tcp()
  for _, wrong in ipairs {
    { server, "send", "x", "tcp{client}" }, { server, "receive", "*l", "tcp{client}" },
    { server, "shutdown", "both", "tcp{client}" }, { client, "accept", nil, "tcp{server}" },
    { client, "listen", 1, "tcp{master}" }, { client, "bind", "*", "tcp{master}" },
    { master, "send", "x", "tcp{client}" }, { master, "accept", nil, "tcp{server}" },
  } do
    local object, name, argument, expected = table.unpack(wrong, 1, 4)
    local ok, message = pcall(function()
      return (object[name](object, argument))
    end)
    assert(not ok and message:find(expected .. " expected", 1, true), message)
  end
  local connected = socket.udp()
  assert(connected:setpeername("127.0.0.1", 9))
  for _, wrong in ipairs {
    { socket.udp(), "send", { "x" }, "udp{connected}" }, { socket.udp(), "getpeername", {}, "udp{connected}" },
    { connected, "sendto", { "x", "127.0.0.1", 9 }, "udp{unconnected}" },
    { connected, "receivefrom", {}, "udp{unconnected}" },
    { connected, "setsockname", { "*", 0 }, "udp{unconnected}" },
  } do
    local object, name, arguments, expected = table.unpack(wrong)
    local ok, message = pcall(function()
      return (object[name](object, table.unpack(arguments)))
    end)
    assert(not ok and message:find(expected .. " expected", 1, true), message)
  end
  assert(connected:setpeername("*") and tostring(connected):find("^udp{unconnected}"))
  client:close()
  local none, message = client:send("x")
  assert(none == nil and message == "closed")
end

function tests.connecting_without_waiting()
  local server = assert(socket.bind("127.0.0.1", 0))
  local client = socket.tcp()
  client:settimeout(0)
  local done, message = client:connect("127.0.0.1", (select(2, server:getsockname())))
  assert(done or message == "timeout", message)
  local _, ready = socket.select(nil, { client }, 5)
  assert(ready[1] == client)
  done, message = client:connect("127.0.0.1", (select(2, server:getsockname())))
  assert(done or message == "already connected", message)
  assert(client:send("x") == 1)
  assert(server:accept():receive(1) == "x")
end

function tests.select_of_no_sockets()
  for _, object in ipairs { 5, true } do
    local ok, message = pcall(socket.select, { object }, nil, 0)
    assert(not ok and message:find("attempt to index a " .. type(object) .. " value", 1, true))
  end
  assert(select(3, socket.select({ {}, "x", io.stdout }, nil, 0)) == "timeout")
end

function tests.collected()
  for _ = 1, 200 do
    local a = pair()
    a:send("dropped")
  end
  collectgarbage()
  collectgarbage()
end

local names = {}
for name in pairs(tests) do
  names[#names + 1] = name
end
table.sort(names)
for _, name in ipairs(names) do
  local ok, message = xpcall(tests[name], debug.traceback)
  if not ok then
    io.stderr:write("socket.lua: ", name, ": ", message, "\n")
    os.exit(1)
  end
end
print("ok")
