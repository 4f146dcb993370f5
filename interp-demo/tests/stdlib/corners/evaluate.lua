-- Evaluates each line of a text as a list of expressions (or as a statement, if it is none), and prints the line and what came
-- of it. Lines that begin with `--` are left out. Names set by one line are seen by those after it.

local function shown(value)
  local kind = math.type(value)
  if kind == "float" then return string.format("%.17g:f", value):gsub("^%-?nan", "nan"):gsub("^(%-?%d+:f)$", "%1") end
  if type(value) == "string" then return string.format("%q", value):gsub("\\\n", "\\n"):gsub("\r", "\\r") end
  if kind then return tostring(value) end
  if type(value) == "table" then
    local parts = {}
    for i = 1, math.min(rawlen(value), 30) do parts[i] = tostring((shown(rawget(value, i)))) end
    local names = {}
    for key in next, value do
      if type(key) == "string" then names[#names + 1] = key end
    end
    table.sort(names)
    for _, name in ipairs(names) do parts[#parts + 1] = name .. "=" .. (shown(rawget(value, name))) end
    return "{" .. table.concat(parts, ", ") .. "}"
  end
  if value == nil or type(value) == "boolean" then return tostring(value) end
  return type(value)
end

local function print_results(ok, ...)
  local parts = {}
  for i = 1, select("#", ...) do parts[i] = (shown((select(i, ...)))) end
  io.write(ok and "   " or " ! ", table.concat(parts, "  "), "\n")
end

return function(text)
  for line in text:gmatch("[^\n]+") do
    if not line:find("^%s*%-%-") and line:find("%S") then
      io.write(line, "\n")
      local chunk, why = load("return " .. line, "=e")
      if not chunk then chunk, why = load(line, "=e") end
      if chunk then print_results(pcall(chunk)) else print_results(false, why) end
    end
  end
end
