-- luaunit: a suite with passes, failures, errors and skips, in each of its output formats.
-- No times, which differ from run to run.
os.date = function() return "now" end
os.clock = function() return 0 end
local lu = require "luaunit"

TestNumbers = {}
function TestNumbers:setUp() self.n = 2 end
function TestNumbers:test1_add() lu.assertEquals(1 + self.n, 3) end
function TestNumbers:test2_wrong() lu.assertEquals({ 1, 2, { 3, x = 4 } }, { 1, 2, { 3, x = 5 } }) end
function TestNumbers:test3_close() lu.assertAlmostEquals(0.1 + 0.2, 0.3, 1e-12) end
function TestNumbers:test4_error() error("out of order") end
function TestNumbers:test5_index() local t = nil return t.x end
function TestNumbers:test6_skip() lu.skip("not today") end
function TestNumbers:test7_raises()
  lu.assertErrorMsgContains("bad argument #1 to 'rep'", string.rep)
  lu.assertError(function() return {} + 1 end)
  lu.assertErrorMsgMatches(".*attempt to compare.*", function() return {} < {} end)
end

TestTexts = {}
function TestTexts.test1_contains() lu.assertStrContains("hello world", "lo w") end
function TestTexts.test2_matches() lu.assertStrMatches("abc123", "%a+%d+") end
function TestTexts.test3_long() lu.assertEquals(("x"):rep(20) .. "a", ("x"):rep(20) .. "b") end
function TestTexts.test4_items() lu.assertItemsEquals({ 1, 2, 3 }, { 3, 1, 2 }) end
function TestTexts.test5_nil() lu.assertNil(false) end
function TestTexts.test6_success() lu.success() end
function TestTexts.test7_fail() lu.fail("on purpose") end

local function run(...)
  local runner = lu.LuaUnit.new()
  local code = runner:runSuite(...)
  print("code", code, runner.result.selectedCount, runner.result.passedCount, runner.result.failureCount, runner.result.errorCount, runner.result.skippedCount)
end
run("-o", "tap", "-v")
run("-o", "nil")
run("-o", "text", "-p", "Texts", "-x", "long")
run("-o", "tap", "TestNumbers.test1_add", "TestTexts")
print(lu.prettystr{ 1, { a = "b" }, "c" }, lu.prettystr("a\nb"), lu.prettystr({}, true):match("^table: 0x%x+$") ~= nil)
