-- What programs ordinarily do, a little of each: ci/start-order sees here which functions of sleepy-lua are to lie side by side,
-- and ci/start how much of the program's text stays in memory.
local socket = require("socket")
local thread = require("thread")
local queue = require("queue")

-- Tables, strings, closures, coroutines, methods, errors.
local Account = {}
Account.__index = Account
Account.__add = function(a, b) return setmetatable({ balance = a.balance + b.balance }, Account) end
Account.__tostring = function(a) return ("account of %d"):format(a.balance) end
function Account:deposit(sum) self.balance = self.balance + sum end

local function work(n)
  local list, words = {}, {}
  for i = 1, n do
    list[i] = (i * 7919) % 1009 + i / 3
    words["word " .. i % 37] = (words["word " .. i % 37] or 0) + 1
  end
  table.sort(list)
  table.sort(list, function(a, b) return a > b end)
  local names = {}
  for name, count in pairs(words) do names[#names + 1] = name .. "=" .. count end
  table.sort(names)
  local text = table.concat(names, ", ", 1, #names)
  for name, count in text:gmatch("(%w+ %d+)=(%d+)") do words[name] = tonumber(count) end
  text = text:gsub("%d+", function(digits) return ("%5.2f"):format(digits) end):upper():lower():rep(2, "|")
  assert(text:find("word", 3, true) and text:match("^%a+") and text:byte(1, 3) and text:sub(-5) and text:reverse())
  local account = setmetatable({ balance = 0 }, Account)
  for i = 1, n do account:deposit(i) end
  assert(tostring(account + account) and #text > 0 and text < text .. "x")
  local producer = coroutine.wrap(function() for i = 1, n do coroutine.yield(i, "item") end end)
  local sum = 0
  for i in producer do sum = sum + i // 2 + i % 3 + (i << 1 & 0xff) end
  local ok, message = pcall(function() local nothing; return nothing.field end)
  assert(not ok and message:find("nothing"))
  assert(not pcall(error, { code = 1 }))
  assert(select("#", table.unpack(list, 1, 20)) == 20 and math.floor(sum) and math.max(1, 2.5) and math.random(10))
  table.insert(list, 1, "first")
  table.remove(list, 1)
  for _, item in ipairs(list) do sum = sum + item end
  local escapes = { n = "\n", t = "\t" }
  assert(("a\\nb\\tc"):gsub("\\(.)", escapes) == "a\nb\tc" and ("x = 1"):gsub("(%w+) = (%w+)", "%2 = %1") == "1 = x")
  assert(("%s %q %g %x %5d %-8s|"):format("a", "b", 1 / 3, 255, 42, "c") and tostring(1e15) and tonumber("0x10") == 16)
  local object = { list = {}, name = "name " .. n }
  for word in ("12 true null -1.5e3"):gmatch("[^ ]+") do object.list[#object.list + 1] = tonumber(word) or word end
  object.extra, object.name = object.name, nil
  assert(next(object) and rawget(object, "list") and rawlen(object.list) == 4 and type(object) == "table")
  local shared = setmetatable({}, { __index = function(_, key) return key end, __newindex = rawset, __call = function(_, x) return x end })
  shared.x = shared.y
  assert(shared(1) == 1 and math.type(2 ^ 53) == "float" and 7 // 2 == 3 and 7.5 % 2 == 1.5)
  assert(xpcall(function() error("an error", 0) end, debug.traceback) == false)
  local chunk = assert(load("local a <const>, b = ... ; if a then return a + b, { a, x = b } end"))
  chunk(1, 2)
  setmetatable({}, { __gc = function() sum = 0 end, __mode = "k" })
  goto done
  ::done::
  return os.time() > 0 and os.clock() and utf8.char(228, 8364) and string.pack("<i4z", 5, "five")
end

-- A server that takes lines and answers them, and clients.
local listener = assert(socket.bind("127.0.0.1", 0))
local _, port = listener:getsockname()
local clients, lines = 2, 20
local function serve()
  local watched, left = { listener }, clients
  while left > 0 do
    for _, ready in ipairs((socket.select(watched))) do
      if ready == listener then
        local client = listener:accept()
        client:setoption("tcp-nodelay", true)
        watched[#watched + 1] = client
      else
        local length = ready:receive("*l")
        local text = length and ready:receive(tonumber(length))
        if text then
          work(50)
          ready:send(#text .. "\n")
        else
          ready:close()
          for i, other in ipairs(watched) do if other == ready then table.remove(watched, i) break end end
          left = left - 1
        end
      end
    end
  end
end
local answers = queue.new()
local function ask()
  local client = assert(socket.connect("127.0.0.1", port))
  for i = 1, lines do
    local text = ("x"):rep(i * 100)
    client:send(#text .. "\n" .. text)
    answers:push(client:receive())
    socket.sleep(0.002)
  end
  client:close()
end
local threads = { thread.spawn(serve) }
for _ = 1, clients do threads[#threads + 1] = thread.spawn(ask) end
for _ = 1, clients * lines do answers:pop() end
for _, one in ipairs(threads) do assert(one:join()) end

-- Garbage, and files.
work(300)
local kept = {}
for round = 1, 20 do
  for i = 1, 2000 do kept[i] = { round, name = "kept " .. i } end
  socket.sleep(0.001)
end
collectgarbage()
local file = assert(io.tmpfile())
file:write("a line\n", 12, "\n", ("z"):rep(5000), "\n")
file:seek("set")
for line in file:lines() do assert(#line > 0) end
file:close()
io.stdout:write(""):flush()
assert(require("string") == string and package.loaded.socket == socket and not pcall(require, "no.such.module"))

-- What is resident, of mapped files and of the rest, in KiB.
for line in io.lines("/proc/self/status") do
  local name, kib = line:match("^Rss(%a+):%s+(%d+) kB")
  if name then print(name, kib) end
end
