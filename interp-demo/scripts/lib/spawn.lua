-- A child process whose output the script reads: by the `process` module where there is one,
-- by `io.popen` elsewhere.

-- The interpreter that runs this script, as it was called.
local function interpreter()
  local index = -1
  while arg[index - 1] do
    index = index - 1
  end
  return arg[index]
end

local function quote(word)
  return "'" .. word:gsub("'", "'\\''") .. "'"
end

local function by_popen(words)
  local quoted = {}
  for i, word in ipairs(words) do
    quoted[i] = quote(word)
  end
  local pipe = assert(io.popen("exec " .. table.concat(quoted, " "), "r"))
  return {
    read_line = function()
      return pipe:read("*l")
    end,
    wait = function()
      return pipe:close()
    end,
  }
end

local function by_process(process, words)
  local arguments = {}
  for i = 2, #words do
    arguments[i - 1] = words[i]
  end
  local child = assert(process.spawn(words[1], { args = arguments, stdio = { stdout = "pipe" } }))
  return {
    read_line = function()
      return child.stdout:read("l")
    end,
    wait = function()
      return child:wait()
    end,
  }
end

-- Runs a Lua script with the interpreter that runs this one.
-- Returns { read_line = function, wait = function }.
return function(script, ...)
  local words = { interpreter(), script, ... }
  local found, process = pcall(require, "process")
  if found then
    return by_process(process, words)
  end
  return by_popen(words)
end
