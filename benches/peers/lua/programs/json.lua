-- A document written as JSON and read again.
local rounds = tonumber(arg[1]) or 90

local escapes = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n" }

local function encode(value, out)
  local kind = type(value)
  if kind == "table" then
    if #value > 0 then
      out[#out + 1] = "["
      for i = 1, #value do
        if i > 1 then out[#out + 1] = "," end
        encode(value[i], out)
      end
      out[#out + 1] = "]"
    else
      local keys = {}
      for key in pairs(value) do keys[#keys + 1] = key end
      table.sort(keys)
      out[#out + 1] = "{"
      for i, key in ipairs(keys) do
        if i > 1 then out[#out + 1] = "," end
        out[#out + 1] = '"' .. key .. '":'
        encode(value[key], out)
      end
      out[#out + 1] = "}"
    end
  elseif kind == "string" then
    out[#out + 1] = '"' .. value:gsub('["\\\n]', escapes) .. '"'
  else
    out[#out + 1] = tostring(value)
  end
end

local decode

local function skip(text, at)
  return text:find("%S", at)
end

local function decode_string(text, at)
  local start, parts = at + 1, {}
  while true do
    local stop = text:find('["\\]', start)
    parts[#parts + 1] = text:sub(start, stop - 1)
    if text:byte(stop) == 34 then return table.concat(parts), stop + 1 end
    local char = text:sub(stop + 1, stop + 1)
    parts[#parts + 1] = char == "n" and "\n" or char
    start = stop + 2
  end
end

function decode(text, at)
  at = skip(text, at)
  local char = text:sub(at, at)
  if char == "{" then
    local object = {}
    at = skip(text, at + 1)
    while text:sub(at, at) ~= "}" do
      local key
      key, at = decode_string(text, at)
      at = skip(text, at) + 1
      object[key], at = decode(text, at)
      at = skip(text, at)
      if text:sub(at, at) == "," then at = skip(text, at + 1) end
    end
    return object, at + 1
  elseif char == "[" then
    local array = {}
    at = skip(text, at + 1)
    while text:sub(at, at) ~= "]" do
      array[#array + 1], at = decode(text, at)
      at = skip(text, at)
      if text:sub(at, at) == "," then at = skip(text, at + 1) end
    end
    return array, at + 1
  elseif char == '"' then
    return decode_string(text, at)
  end
  local word = text:match("^[%w%.%-+]+", at)
  local value = tonumber(word)
  if value == nil then value = word == "true" end
  return value, at + #word
end

local document = {}
for i = 1, 300 do
  document[i] = {
    id = i, name = "name " .. i, tags = { "a", "b\n", 'c"' .. i }, nested = { flag = i % 2 == 0, score = i / 4 + 0.125 },
  }
end

local size = 0
for _ = 1, rounds do
  local out = {}
  encode(document, out)
  local text = table.concat(out)
  document = decode(text, 1)
  size = size + #text
end
print(size, #document, document[300].name)
