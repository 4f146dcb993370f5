-- string.format, over a grid of directives and values.
local ints = {0, 1, -1, 42, -12345, math.maxinteger, math.mininteger}
for _, flags in ipairs {"", "-", "0", "+", " ", "-+", "+0", "- "} do
  for _, size in ipairs {"", "5", "12", ".0", ".3", "8.3"} do
    local line = {}
    for _, n in ipairs(ints) do line[#line + 1] = string.format("[%" .. flags .. size .. "d]", n) end
    print(flags, size, table.concat(line))
  end
end
for _, flags in ipairs {"", "-", "0", "#", "#0", "-#"} do
  for _, size in ipairs {"", "5", "12", ".0", ".3", "8.3"} do
    local line = {}
    for _, c in ipairs {"x", "X", "o"} do
      for _, n in ipairs(ints) do line[#line + 1] = string.format("[%" .. flags .. size .. c .. "]", n) end
    end
    print(flags, size, table.concat(line))
  end
end
local floats = {0.0, -0.0, 1.0, -1.5, 0.1, 123456789.125, 1e-7, 1e300, 5e-324, 2.5, 0.5, 1e15, 99999.95, 1/0, -1/0}
for _, c in ipairs {"f", "e", "E", "g", "G", "a", "A"} do
  for _, flags in ipairs {"", "-", "0", "+", "#", " 0"} do
    for _, size in ipairs {"", "14", ".0", ".1", ".3", "20.10", ".20"} do
      local line = {}
      for _, x in ipairs(floats) do line[#line + 1] = string.format("[%" .. flags .. size .. c .. "]", x) end
      print(c, flags, size, table.concat(line))
    end
  end
end
print(string.format("%.99f", 1/3), #string.format("%99.99f", -1e308))
for _, s in ipairs {"", "x", "hello world", ("long"):rep(30)} do
  print(string.format("[%s][%5s][%-5s][%.3s][%8.2s][%-8.2s]", s, s, s, s, s, s))
end
print(string.format("%q", "a\nb\0c\0001\r\t\"\\\200\127"), string.format("%q %q %q", 1, 1.5, math.mininteger))
print(string.format("%q", 1/0), string.format("%q", -1/0), string.format("%q", 0/0), string.format("%q", true), string.format("%q", nil))
print(string.format("%c%c%%%s%i%u", 76, 117, nil, 3.0, "7"))
print(string.format("%s|%10s|%s", setmetatable({}, {__tostring = function() return "T" end}), true, setmetatable({}, {__tostring = function() return "U" end})))
print(string.format("%p", 1), string.format("%10p|%-10p|", nil, true), string.format("%p", print) == tostring(print):match("0x%x+"))
print(pcall(string.format, "%q", print))
print(pcall(string.format, "%01.3c", "no number")) print(pcall(string.format, "%0123a", {})) print(pcall(string.format, "%0123f", {}))
