-- A server that keeps documents: a client sends one as JSON, and gets back what it comes to. The last 500 are kept as
-- tables. Written for LuaSocket; answers "PORT n" on its standard output, and ends when its last client has gone.
--
--   server.lua [MODE [CLIENTS]]     MODE: default, pause110, generational or steps (made by hand before a wait)
local socket = require("socket")

local mode, expected = arg[1] or "default", tonumber(arg[2] or "4")
local KEPT = 500

if mode == "pause110" then
  collectgarbage("incremental", 110)
elseif mode == "generational" then
  collectgarbage("generational")
end

local escapes = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t" }

local function unescape(letter)
  return escapes[letter] or letter
end

local read

local function read_string(text, at)
  local stop = text:find('"', at + 1, true)
  while text:byte(stop - 1) == 92 do stop = text:find('"', stop + 1, true) end
  local word = text:sub(at + 1, stop - 1)
  if word:find("\\", 1, true) then word = word:gsub("\\(.)", unescape) end
  return word, stop + 1
end

local function skip(text, at)
  return text:find("[^ \t\r\n]", at)
end

local function read_array(text, at)
  local items = {}
  at = skip(text, at + 1)
  while text:byte(at) ~= 93 do
    items[#items + 1], at = read(text, at)
    at = skip(text, at)
    if text:byte(at) == 44 then at = skip(text, at + 1) end
  end
  return items, at + 1
end

local function read_object(text, at)
  local fields = {}
  at = skip(text, at + 1)
  while text:byte(at) ~= 125 do
    local name, value
    name, at = read_string(text, at)
    at = skip(text, skip(text, at) + 1)
    value, at = read(text, at)
    fields[name] = value
    at = skip(text, at)
    if text:byte(at) == 44 then at = skip(text, at + 1) end
  end
  return fields, at + 1
end

function read(text, at)
  local letter = text:byte(at)
  if letter == 123 then return read_object(text, at) end
  if letter == 91 then return read_array(text, at) end
  if letter == 34 then return read_string(text, at) end
  local word = text:match("^[%w%.%+%-]+", at)
  at = at + #word
  if word == "true" then return true, at end
  if word == "false" then return false, at end
  if word == "null" then return nil, at end
  return tonumber(word), at
end

-- What a document comes to, and the items of the one that it follows.
local documents, received = {}, 0

local function take(text)
  local document = read(text, 1)
  received = received + 1
  local total, tags = 0, 0
  for _, item in ipairs(document.items) do
    total = total + item.price * item.count
    tags = tags + #item.tags
  end
  local before = documents[(received + KEPT // 2) % KEPT + 1]
  documents[received % KEPT + 1] = document
  return ("%d %d %d %s"):format(document.id, total, tags, before and "after" or "first")
end

local listener = assert(socket.bind("127.0.0.1", 0))
local _, port = listener:getsockname()
print("PORT " .. port)
io.stdout:flush()

local watched, clients = { listener }, 0

local function forget(client)
  client:close()
  for i, other in ipairs(watched) do
    if other == client then table.remove(watched, i) break end
  end
  clients = clients - 1
  expected = expected - 1
end

local is_collecting = false
while expected > 0 do
  -- Steps made by hand, while nobody has anything to say.
  if mode == "steps" then
    is_collecting = true
    while is_collecting and #socket.select(watched, nil, 0) == 0 do
      is_collecting = not collectgarbage("step", 16)
    end
  end
  for _, ready in ipairs((socket.select(watched))) do
    if ready == listener then
      local client = listener:accept()
      client:setoption("tcp-nodelay", true)
      watched[#watched + 1] = client
      clients = clients + 1
    else
      local length = ready:receive("*l")
      local text = length and ready:receive(tonumber(length))
      if text then ready:send(take(text) .. "\n") else forget(ready) end
    end
  end
end
