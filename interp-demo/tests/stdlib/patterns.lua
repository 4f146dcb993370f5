-- find, match, gmatch, gsub.
local subjects = {"", "hello world", "  trim me  ", "key = value", "f(a(b)c)d", "THE (quick) fox", "a.b-c*d", "x1y22z333", "äöü", "line1\nline2\n", "a\0b\0c", "[[x]]", "%d%%"}
local patterns = {"", ".", "%a+", "%d+", "^%s*(.-)%s*$", "(%w+)%s*=%s*(%w+)", "%b()", "%f[%a]%a+", "[%a_][%w_]*", "()", "(.)(.)", "l+", "l-o", "o?w", "[^%s]+", "%S+$", "^h", "[a-f]", "%.", "(%a)%1",
  "%z", "[]]", "[^]]", "[%]%-]", "\n", "$", "^", "^$", ".-", "(()(.))", "%u%l*", "%c", "%p+", "%x+", "[\0]", "%%"}
for _, p in ipairs(patterns) do
  for _, s in ipairs(subjects) do
    local parts = {}
    for _, v in ipairs {pcall(string.find, s, p)} do parts[#parts + 1] = tostring(v) end
    parts[#parts + 1] = "|"
    for _, v in ipairs {pcall(string.match, s, p)} do parts[#parts + 1] = tostring(v) end
    parts[#parts + 1] = "|"
    for _, v in ipairs {pcall(string.gsub, s, p, "<%0>")} do parts[#parts + 1] = tostring(v) end
    parts[#parts + 1] = "|"
    local n = 0
    for a, b in s:gmatch(p) do
      n = n + 1
      parts[#parts + 1] = tostring(a) .. "," .. tostring(b)
      if n > 30 then break end
    end
    print((("%q"):format(p)), (table.concat(parts, " "):gsub("[\0\n]", "?")))
  end
end
for _, p in ipairs {"%", "[", "[a", "(", "%1", "%b", "%bx", "%f", "[%", "(()", "a)", "[^", "[]", "%f(", "(%1)", ("(x)"):rep(33), ("()"):rep(33)} do
  print(p:sub(1, 20), pcall(string.match, "xyz", p))
  print(p:sub(1, 20), pcall(string.gsub, "xyz", p, "%1"))
end
print(("abc"):gsub("%w", "%0%0"), ("abc"):gsub("%w", "%%"), pcall(string.gsub, "abc", "%w", "%2"), pcall(string.gsub, "abc", "%w", "%"))
print(("hello world"):gsub("o", {o = "0"}), ("hello"):gsub("l", {l = false}), ("hello"):gsub("(l)(.)", function(a, b) return b .. a end))
print(("abc"):gsub("b", function() end), ("abc"):gsub("b", function() return false end), pcall(string.gsub, "abc", "b", function() return {} end))
print(("abc"):gsub("%w", setmetatable({}, {__index = function(_, k) return k:upper() end})))
print(("abcabc"):gsub("b", "x", 1), ("abc"):gsub("", "-"), ("abc"):gsub("b", "x", 0), ("abc"):gsub("b", "x", -1))
print(("abc"):find("b", 1, true), ("a.c"):find(".", 1, true), ("abc"):find("", 10), ("abc"):find("", 4), ("abc"):find("c", -1), ("abc"):find("a", -10))
for k, v in ("a=1, b=2"):gmatch("(%w+)=(%w+)") do io.write(k, v, ";") end
for w in ("abc def"):gmatch("%a+", 3) do io.write(w, ";") end
print()
print(pcall(string.rep("x", 300000).find, string.rep("x", 300000), string.rep(".?", 300000)))
print(("x"):rep(50):match(("x?"):rep(50) .. ("x"):rep(3)) ~= nil)
