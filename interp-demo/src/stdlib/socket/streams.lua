-- The part of `socket` that is written in Lua: sources and sinks as the manual of LTN12 has them. Called with the library.

local socket = ...
local error, min, setmetatable, tostring, type = error, math.min, setmetatable, tostring, type

-- A function that makes what the first argument names in `makers`, or, where that is no string, what "default" names.
function socket.choose(makers)
  return function(name, a, b)
    if type(name) ~= "string" then
      name, a, b = "default", name, a
    end
    local make = makers[name]
    if not make then
      error("unknown key (" .. tostring(name) .. ")", 3)
    end
    return make(a, b)
  end
end

-- A callable that can be waited for as its socket can.
local function stream(sock, step)
  local object = {
    getfd = function() return sock:getfd() end,
    dirty = function() return sock:dirty() end,
  }
  return setmetatable(object, { __call = step })
end

local function sends_and(sock, finish)
  return stream(sock, function(_, chunk)
    if chunk then
      return sock:send(chunk)
    end
    if finish then
      finish(sock)
    end
    return 1
  end)
end

local sinks = {
  ["close-when-done"] = function(sock) return sends_and(sock, sock.close) end,
  ["keep-open"] = function(sock) return sends_and(sock, nil) end,
}
sinks.default = sinks["keep-open"]

local sources = {}

sources["by-length"] = function(sock, left)
  return stream(sock, function()
    if left <= 0 then
      return nil
    end
    local chunk, why = sock:receive(min(left, socket.BLOCKSIZE))
    if why then
      return nil, why
    end
    left = left - #chunk
    return chunk
  end)
end

sources["until-closed"] = function(sock)
  local is_over = false
  return stream(sock, function()
    if is_over then
      return nil
    end
    local chunk, why, rest = sock:receive(socket.BLOCKSIZE)
    if not why then
      return chunk
    elseif why ~= "closed" then
      return nil, why
    end
    is_over = true
    sock:close()
    return rest
  end)
end
sources.default = sources["until-closed"]

socket.BLOCKSIZE = 2048
socket.sinkt, socket.sourcet = sinks, sources
socket.sink, socket.source = socket.choose(sinks), socket.choose(sources)
return socket
