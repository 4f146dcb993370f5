-- An open upvalue that only a closure names, of a coroutine that is suspended, or dead.
local function make()
  local co, closure
  co = coroutine.create(function()
    local value = { "open" }
    closure = function(new) if new then value = new end return value end
    coroutine.yield()
    return value
  end)
  coroutine.resume(co)
  return co, closure
end
for turn = 1, 100 do
  local co, closure = make()
  collectgarbage("step", turn)
  closure({ "changed", { turn } })
  collectgarbage()
  assert(closure()[2][1] == turn)
  if turn % 3 == 0 then
    co = nil                        -- the upvalue outlives its coroutine
    collectgarbage()
    assert(closure()[2][1] == turn)
    closure({ 7 })
    collectgarbage()
    assert(closure()[1] == 7)
  elseif turn % 3 == 1 then
    local _, value = coroutine.resume(co)
    assert(value == closure())
  else
    assert(coroutine.close(co) and closure()[2][1] == turn)
  end
end
print("ok")
