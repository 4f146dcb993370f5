-- What PUC Lua does where one could think of something else: found by comparing programs that were made at random.

-- A message handler sees the error of a `__close` method, too, in a block that is left because of an error.
local seen = {}
local ok, message = xpcall(function()
  local x <close> = setmetatable({}, { __close = function() error("second", 0) end })
  error("first", 0)
end, function(m) seen[#seen + 1] = m return "handled " .. m end)
assert(not ok and message == "handled second" and table.concat(seen, " ") == "first second", message)
coroutine.wrap(function()
  local _, inner = xpcall(function()
    local x <close> = setmetatable({}, { __close = function(_, e) error("after " .. e, 0) end })
    error("first", 0)
  end, function(m) return "<" .. m .. ">" end)
  assert(inner == "<after <first>>", inner)
end)()

-- A failing handler is called for its own failures until there is no room for more.
assert(select(2, xpcall(error, function(m) error(m) end, "x")) == "error in error handling")

-- In a traceback it is named after what the failed instruction would call.
local trace = select(2, xpcall(function() return {} + 1 end, function(m) return debug.traceback(m) end))
assert(trace:find("in metamethod 'add'", 1, true), trace)
local close
pcall(function()
  local x <close> = setmetatable({}, { __close = function() close = debug.traceback() end })
  error("x")
end)
assert(not close:find("metamethod 'close'", 1, true), close)
do
  local x <close> = setmetatable({}, { __close = function() close = debug.traceback() end })
end
assert(close:find("metamethod 'close'", 1, true), close)

-- What a long traceback leaves out.
local function deep(n) if n == 0 then return debug.traceback("x") end return (deep(n - 1)) end
local lines = {}
for n = 18, 21 do
  local text = deep(n)
  lines[#lines + 1] = text:match("skipping (%d+) levels") or "none"
  assert(select(2, text:gsub("\n", "")) <= 23)
end
assert(table.concat(lines, " "):find("^none .*1 2$"), table.concat(lines, " "))

-- Arguments.
assert(table.remove({ 1, 2 }, nil) == 2)
assert(select(2, pcall(string.pack, "i4 i4", 1)):find("#3 to 'string.pack' (number expected, got nil)", 1, true) or
  select(2, pcall(string.pack, "i4 i4", 1)):find("(number expected, got nil)", 1, true))
assert(select(2, pcall(math.fmod, {}, {})):find("#2", 1, true))

print("ok")
