-- Arguments of the scripts: numbers with a default and a clear message.

local arguments = {}

-- Up to here every number can count bytes.
local MOST = 2 ^ 53

-- The argument as a number of at least `least`, or `default` when it was not given.
local function number(text, default, name, least, kind)
  if text == nil then
    return default
  end
  local value = tonumber(text)
  local fits = value and value >= least and value <= MOST
  if not fits or (kind == "integer" and value % 1 ~= 0) then
    io.stderr:write(("%s: %s must be %s of at least %d%s, not '%s'\n"):format(
      arg[0], name, kind == "integer" and "a whole number" or "a number", least,
      value and value > MOST and " and at most 2^53" or "", text))
    os.exit(1)
  end
  return value
end

function arguments.integer(text, default, name, least)
  return math.floor(number(text, default, name, least or 0, "integer"))
end

function arguments.number(text, default, name, least)
  return number(text, default, name, least or 0, "number")
end

return arguments
