-- Just enough of an HTTP client: one GET, whose body is read in pieces.

local socket = require("socket")

local http = {}

-- Sends the request and reads the head of the answer.
-- Returns the connection and the length of the body in bytes.
function http.get(host, port, path)
  local connection, message = socket.connect(host, port)
  if not connection then
    error(("cannot connect to %s:%d: %s"):format(host, port, message), 0)
  end
  local sent, send_message = connection:send(
    ("GET %s HTTP/1.0\r\nHost: %s:%d\r\nAccept: */*\r\n\r\n"):format(path, host, port))
  if not sent then
    error("cannot send the request: " .. send_message, 0)
  end

  local function line()
    local text, why = connection:receive("*l")
    if not text then
      error("the answer's head ended early: " .. why, 0)
    end
    return text
  end
  local status_line = line()
  local status = status_line:match("^HTTP/1%.[01] (%d%d%d)")
  if status ~= "200" then
    error("the server answered: " .. status_line, 0)
  end
  local headers = {}
  for text in line do
    if text == "" then
      break
    end
    local name, value = text:match("^([^:%s]+):%s*(.-)%s*$")
    if not name then
      error("not a header line: " .. text, 0)
    end
    headers[name:lower()] = value
  end
  local length = tonumber(headers["content-length"])
  if not length then
    error("the answer has no Content-Length", 0)
  end
  return connection, length
end

-- Iterates over the body in pieces of `piece_bytes` (the last may be shorter).
function http.pieces(connection, length, piece_bytes)
  local read_bytes = 0
  return function()
    if read_bytes == length then
      return nil
    end
    local piece, why, partial = connection:receive(math.min(piece_bytes, length - read_bytes))
    if not piece then
      error(("the writer broke off after %d of %d bytes: %s"):format(
        read_bytes + #(partial or ""), length, why), 0)
    end
    read_bytes = read_bytes + #piece
    return piece
  end
end

return http
