-- math.*
print(math.pi, math.huge, -math.huge, math.maxinteger, math.mininteger)
print(math.floor(3.7), math.floor(-3.7), math.ceil(3.2), math.ceil(-3.2), math.floor(2^70), math.floor("3.7"), math.ceil(5))
print(math.abs(-5), math.abs(-5.5), math.abs(math.mininteger), math.max(1, 2.5, -1), math.min(3, 1, 2), math.max(1), math.max("a", "b"))
print(math.sqrt(16), math.exp(0), math.log(8, 2), math.log(100, 10), math.log(1), math.log(27, 3), math.sin(0), math.cos(0), math.tan(0))
print(math.asin(1), math.acos(1), math.atan(1), math.atan(1, -1), math.atan(-0.0, -1), math.deg(math.pi), math.rad(180))
print(math.fmod(7, 3), math.fmod(-7, 3), math.fmod(7, -3), math.fmod(7.5, 2), math.fmod(-7.5, 2), math.fmod(math.mininteger, -1), math.fmod(1, 1/0))
print(math.modf(3.7)) print(math.modf(-3.7)) print(math.modf(5)) print(math.modf(1/0)) print(math.modf(-1/0)) print(math.modf(2^53))
print(math.type(1), math.type(1.0), math.type("1"), math.type(nil), math.tointeger(3.0), math.tointeger(3.5), math.tointeger("8"), math.tointeger("x"), math.tointeger({}))
print(math.ult(1, 2), math.ult(-1, 2), math.ult(2, -1), math.ult(0, 0))
print(7 // 2, -7 // 2, 7 // -2, 7.5 // 2, -7.5 // 2, 7 % -3, -7 % 3, 7.5 % -2, 1e308 * 10, 5 // 0.0, -5 // 0.0, 1 % math.huge, -1 % math.huge)
print(1 << 63, 1 << 64, -1 >> 1, 1 << -1, ~0, 5 & 3.0, 5 ~ 1, 2^53 | 0)
print(pcall(function() return 1 // 0 end), pcall(function() return 1 % 0 end), pcall(function() return 1.5 | 0 end), pcall(function() return 2^63 | 0 end))
print(1 == 1.0, math.maxinteger + 0.0 == math.maxinteger, math.maxinteger < math.maxinteger + 0.0, 2^53 == 2^53 + 1, math.mininteger <= -2^63)
print(1e15, 1e16, 123456789012345678, 0.1, 1/3, 100 / 2, 3 | 0, 2^31, 1e100, -1e-100, 5e-324)
print(math.maxinteger + 1 == math.mininteger, math.maxinteger * 2, math.mininteger // -1)
math.randomseed(42)
print(math.random(0), math.random(100), math.random(-5, 5), math.random(), math.random(math.mininteger, math.maxinteger), math.random(3.0))
math.randomseed(42, 7) print(math.random(1000), math.random(1000), math.random(1 << 40))
local a, b = {}, {} math.randomseed(7) for i = 1, 5 do a[i] = math.random(10) end math.randomseed(7) for i = 1, 5 do b[i] = math.random(10) end print(table.concat(a, " ") == table.concat(b, " "), table.concat(a, " "))
for i = 1, 100 do local x = math.random() assert(x >= 0 and x < 1) local n = math.random(3, 9) assert(n >= 3 and n <= 9) end
local nan = 0/0 for _, loop in ipairs {{3, nan, -1}, {3, nan, 1}, {nan, 3, 1}, {nan, 3.0, -1.0}, {1.0, nan, 1.0}, {1, 3, nan}, {nan, nan, nan}} do
  local turns = 0 for _ = loop[1], loop[2], loop[3] do turns = turns + 1 if turns > 5 then break end end print(turns)
end
