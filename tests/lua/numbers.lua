-- Integers and floats: forms, conversions, operations at their limits, loops.

local max, min, huge = math.maxinteger, math.mininteger, math.huge

local function check(value, text) assert(tostring(value) == text, tostring(value) .. " is not " .. text) end

check(1, "1"); check(1.0, "1.0"); check(-0.0, "-0.0"); check(1e15, "1e+15"); check(1e100, "1e+100")
check(2^53, "9.007199254741e+15"); check(0.1, "0.1"); check(1/3, "0.33333333333333"); check(huge, "inf")
check(-huge, "-inf"); check(max, "9223372036854775807"); check(min, "-9223372036854775808"); check(100 // 1e-300, "1e+302")
check(0x7fffffffffffffff + 1, "-9223372036854775808"); check(0xffffffffffffffff, "-1"); check(0x1p4, "16.0")
check(3 // 2, "1"); check(-3 // 2, "-2"); check(3 // -2.0, "-2.0"); check(3 % -2, "-1"); check(-3 % 2.0, "1.0")
check(5.5 % -2, "-0.5"); check(-5 % huge, "inf"); check(5 % -huge, "-inf"); check(7 / 2, "3.5"); check(2 ^ 2, "4.0")
check(min // -1, "-9223372036854775808"); check(min % -1, "0"); check(1 << 63, "-9223372036854775808")
check(1 << 64, "0"); check(-1 >> 63, "1"); check(1 << -1, "0"); check(2 >> -1, "4"); check(~0, "-1")
check(5 & 3.0, "1"); check("10" + 5, "15"); check("0x10" * 2, "32"); check("3.0" + 1, "4.0"); check(10 .. 20, "1020")
check("10" // "3", "3")

assert(1 == 1.0 and math.type(1) == "integer" and math.type(1.0) == "float" and not math.type("1"))
assert(max + 1.0 == 2^63 and max < 2^63 and min <= -2^63 and not (max + 0.0 == max))
assert(max // 1 | 0 == max)
assert(2^53 == 2^53 + 1 and (1 << 53) ~= (1 << 53) + 1 and (1 << 53) + 1 > 2^53)
assert(0/0 ~= 0/0 and not (0/0 < 1) and not (0/0 >= 1))
local t = {[1] = "int", [2^53] = "float"}
assert(t[1.0] == "int" and t[1 << 53] == "float" and next({[3.0] = 1}) == 3 and math.type(next({[3.0] = 1})) == "integer")

for text, value in pairs {
  ["10"] = 10, ["  10  "] = 10, ["-10"] = -10, ["1e1"] = 10.0, ["0x1F"] = 31, ["0x.8"] = 0.5, ["0xA.8p1"] = 21.0, [".5"] = 0.5,
  ["5."] = 5.0, ["9223372036854775807"] = max, ["9223372036854775808"] = 2^63, ["1E+2"] = 100.0, ["\t1\n"] = 1,
} do
  assert(tonumber(text) == value and math.type(tonumber(text)) == math.type(value), text)
end
for _, text in ipairs {"", " ", "1 2", "0x", "1e", "inf", "nan", "- 1", "1_000", "0b1", "1\0", "e1", "0x1.p", "--1"} do
  assert(tonumber(text) == nil, text)
end
assert(tonumber("zz", 36) == 35 * 36 + 35 and tonumber("-ff", 16) == -255 and tonumber("8", 8) == nil)
assert(math.tointeger(3.0) == 3 and math.tointeger(3.5) == nil and math.tointeger("8") == nil or math.tointeger("8") == 8)

-- loops
local function loop(from, to, step)
  local out = {}
  for i = from, to, step or 1 do out[#out + 1] = tostring(i); if #out > 5 then break end end
  return table.concat(out, " ")
end
assert(loop(1, 3) == "1 2 3" and loop(3, 1, -1) == "3 2 1" and loop(1, 0) == "" and loop(1.0, 3) == "1.0 2.0 3.0")
assert(loop(1, 3.7) == "1 2 3" and loop(3, 1.5, -1) == "3 2" and loop(1, 2, 0.5) == "1.0 1.5 2.0")
assert(loop(max - 1, max) == max - 1 .. " " .. max and loop(min + 1, min, -1) == min + 1 .. " " .. min)
assert(loop(max, max + 1.0) == tostring(max) and loop(1, huge) == "1 2 3 4 5 6" and loop(1, -huge) == "")
assert(loop(min, max, max) == table.concat({min, -1, max - 1}, " ") and loop(1, 0/0) == "")
assert(loop(-1, -huge, -1) == "-1 -2 -3 -4 -5 -6" and loop(0, 1, max) == "0")
for i = 1, 3 do local j = i; i = 10; assert(j <= 3) end

-- comparisons of integers and floats at the limits
local values = {-huge, -2^63, min, min + 1, -1.5, -1, -0.5, 0, 0.5, 1, 2^53, (1 << 53) + 1, max - 1, max, 2^63, huge}
for i = 1, #values do
  for j = 1, #values do
    local a, b = values[i], values[j]
    if a ~= b then assert((a < b) == (i < j) and (a <= b) == (i < j) and (a > b) == (i > j), a .. " " .. b) end
  end
end
assert(math.ult(1, -1) and not math.ult(-1, 1) and 5 // 0.0 == huge and -5 // 0.0 == -huge and 0/0 ~= 0 // 0.0)

print "ok"
