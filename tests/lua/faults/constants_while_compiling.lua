-- Constants that the compiler has attached to a function that is black already.
local pieces = {}
for i = 1, 400 do pieces[i] = ("t[%d] = 'constant number %d' .. %d.5 .. '%s'"):format(i, i, i, ("long "):rep(12) .. i) end
local source = "local t = {}\n" .. table.concat(pieces, "\n") .. "\nreturn t"
for turn = 1, 10 do
  local at = 0
  local chunk = assert(load(function()
    collectgarbage("step", 1)
    at = at + 997
    local piece = source:sub(at - 996, at)
    return piece ~= "" and piece or nil
  end))
  collectgarbage()
  local t = chunk()
  for i = 1, 400 do assert(t[i] == "constant number " .. i .. i .. ".5" .. ("long "):rep(12) .. i) end
end
print("ok")
