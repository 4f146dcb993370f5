-- Prototypes and long strings are made while parsing, and collections run meanwhile.
local function nested(depth)
  if depth == 0 then return "return [[" .. ("x"):rep(500) .. "]], 'short'" end
  return "return (function(...) local a" .. depth .. " = ... ; " .. nested(depth - 1) .. " end)(1)"
end
for depth = 1, 40, 3 do
  local source, at = nested(depth), 0
  local chunk = assert(load(function()
    collectgarbage(at % 3 == 0 and "collect" or "step")
    at = at + 101
    local piece = source:sub(at - 100, at)
    return piece ~= "" and piece or nil
  end))
  collectgarbage()
  local long, short = chunk()
  assert(long == ("x"):rep(500) and short == "short")
  -- An error in the middle leaves nothing behind that a collection stumbles over.
  assert(not load(source .. " =="))
  collectgarbage()
end
print("ok")
