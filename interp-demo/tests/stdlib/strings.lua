-- The other functions of string.
print(("hello"):sub(2, -2), ("hello"):sub(-3), ("hello"):sub(4, 2), ("hello"):sub(0), ("hello"):sub(-100, 100), ("hello"):sub(math.mininteger, math.maxinteger))
print(("abc"):byte(1, -1), ("abc"):byte(10), ("abc"):byte(-1), ("").byte(""), string.char(), string.char(72, 105))
print(("AbC"):lower(), ("AbC"):upper(), ("abc"):reverse(), ("ab"):rep(3), ("ab"):rep(3, "-"), ("ab"):rep(0), ("ab"):rep(-1), ("x"):len(), #"a\0b")
print("10" + 5, "0x10" * 2, "3" // 2, "7" % "4", 2 ^ "3", -"2", "1e1" + 0, 10 .. 20, "5" - 1.5)
print(1 < 2, "a" < "b", "a" < "B", "" < "a", "a\0b" < "a\0c", "Z" < "a", "abc" < "abd")
print(pcall(function() return "x" + 1 end))
print(pcall(function() return setmetatable({}, {__add = function(a, b) return "added" end}) + "x" end))
print(pcall(function() return "x" + setmetatable({}, {__add = function(a, b) return "added" end}) end))
print(string.pack("<i4", 100):byte(1, -1))
print(string.unpack("<i4 >i2 z s1 d", string.pack("<i4 >i2 z s1 d", -2, 300, "zero", "counted", 1.5)))
for _, f in ipairs {"b", "B", "h", "H", "i3", "I5", "l", "j", "i16", "I16", "f", "d", "n", "s", "s2", "z", "c5", "!8 b j", "! b Xd d", ">i4", "=I2", "x i1"} do
  local n = string.find(f, "[szc]") and "abc" or 77
  local packed = f:find("b [jX]") and string.pack(f, 1, 2) or string.pack(f, n)
  print(f, (packed:gsub(".", function(c) return ("%02x"):format(c:byte()) end)), pcall(string.packsize, f))
  print(string.unpack(f, packed))
end
print(string.unpack("<i16", string.pack("<i16", -5)), pcall(string.unpack, "<I16", ("\xff"):rep(16)))
print(load(string.dump(function(a, b) return a * b end))(6, 7))
print(pcall(string.dump, print))
