-- A digest over a stream of chunks: MD5 where there is a module for it, else a sum that is cheap
-- enough for plain Lua. Chained, so that no more than one chunk is held.

local found, md5 = pcall(require, "md5")

local digest = { name = found and "md5" or "checksum" }

-- Returns `add(chunk)` and `result()`.
function digest.new()
  if found then
    local chain = ""
    return function(chunk)
      chain = md5.sum(chain .. md5.sum(chunk))
    end, function()
      return (chain:gsub(".", function(byte)
        return ("%02x"):format(byte:byte())
      end))
    end
  end
  local sum = 0
  return function(chunk)
    for at = 1, #chunk, 64 do
      sum = (sum * 31 + chunk:byte(at)) % 4294967296
    end
  end, function()
    return ("%08x"):format(sum)
  end
end

return digest
