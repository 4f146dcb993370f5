-- Penlight: containers, text, files, templates, data, command lines.
local List, Map, Set, OrderedMap = require "pl.List", require "pl.Map", require "pl.Set", require "pl.OrderedMap"
local tablex, stringx, seq = require "pl.tablex", require "pl.stringx", require "pl.seq"
local pretty, path, dir, file = require "pl.pretty", require "pl.path", require "pl.dir", require "pl.file"
local class, lapp, data, template = require "pl.class", require "pl.lapp", require "pl.data", require "pl.template"
local lexer, sip, types, utils = require "pl.lexer", require "pl.sip", require "pl.types", require "pl.utils"
local array2d, permute, text, xml = require "pl.array2d", require "pl.permute", require "pl.text", require "pl.xml"
local Date, config, stringio, func = require "pl.Date", require "pl.config", require "pl.stringio", require "pl.func"

local list = List{ 5, 3, 9, 1 }
print(list:sorted(), list:map("*", 2), list:filter(function(x) return x > 3 end), list:reduce("+"))
print(list:slice(2, 3), list:reverse(), List.range(1, 5), List("hello"):join("-"))
print(List(Set.values(Set{ 1, 2, 3 } * Set{ 2, 3, 4 })):sort(), #(Set{ 1, 2 } + Set{ 3 }), Set{ 1 } < Set{ 1, 2 })
local ordered = OrderedMap()
ordered:set("z", 1) ordered:set("a", 2) ordered:set("m", 3)
print(ordered, List(ordered:keys()), Map{ x = 1 }:values())
print(pretty.write({ 1, 2, { x = "y" } }, ""), tablex.deepcompare({ 1, { 2 } }, { 1, { 2 } }))
print(pretty.write(tablex.merge({ a = 1, b = 2 }, { b = 3, c = 4 }, true) and { 1, "two", 3.5 }))
print(table.concat(tablex.map(string.upper, { "a", "b" }), ","), tablex.find({ 10, 20, 30 }, 20))
print(stringx.split("a,b,,c", ","), stringx.strip("  x "), stringx.replace("aXbX", "X", "y"), stringx.partition("k=v", "="))
print(stringx.center("mid", 9, "*"), stringx.title("hello world"), stringx.lines("a\nb\n")(), stringx.rfind("abcabc", "b"))
print(seq.sum(seq.range(1, 100)), seq.copy(seq.take(seq.map(function(x) return x * x end, seq.range(1, 10)), 3)))

class.Animal()
function Animal:_init(name) self.name = name end
function Animal:speak() return "?" end
class.Cat(Animal)
function Cat:speak() return self.name .. " says meow" end
function Cat:__tostring() return "Cat(" .. self.name .. ")" end
local tom = Cat("Tom")
print(tom:speak(), tom, tom:is_a(Animal), Cat:class_of(tom), Animal("x"):speak())

print(path.join("a", "b", "c.txt"), path.splitext("x/y.tar.gz"), path.basename("/p/q"), path.dirname("/p/q"), path.normpath("a/./b/../c"))
local folder = path.tmpname()
os.remove(folder)
assert(path.mkdir(folder))
for _, name in ipairs{ "one.txt", "two.txt", "three.lua" } do assert(file.write(path.join(folder, name), name:rep(3))) end
assert(dir.makepath(path.join(folder, "deep/er")))
file.write(path.join(folder, "deep/er/four.txt"), "4")
print(List(dir.getfiles(folder)):map(path.basename):sort(), List(dir.getallfiles(folder, "*.txt")):map(path.basename):sort())
print(path.isdir(folder), path.isfile(folder), path.getsize(path.join(folder, "one.txt")), file.read(path.join(folder, "two.txt")))
for root, dirs, files in dir.walk(folder) do print(path.relpath(root, folder), #dirs, #files) end
assert(dir.rmtree(folder))
print(path.exists(folder))

local args = lapp([[
Tests lapp.
  -v,--verbose        talk
  -n,--number (default 10)  how many
  -o,--output (string)  where to
  <input> (string)
]], { "-v", "-n", "42", "--output=out", "in" })
print(args.verbose, args.number, args.output, args.input)

local rows = data.read(stringio.open("name,age\nann,30\nbob,25\n"), { delim = "," })
print(rows.fieldnames, #rows, rows[2][1])
for name, age in rows:select("name,age where age > 26 sort by name") do print("row", name, age) end
print(template.substitute([[
# for i, v in ipairs(items) do
 * $(i): $(v:upper())
# end
]], { items = { "x", "y" }, ipairs = ipairs }))
print(text.wrap("the quick brown fox jumps over the lazy dog", 20))
print(text.Template("${who} is ${what}"):substitute{ who = "Lua", what = "small" })
for kind, value in lexer.lua("local x = 1.5 -- note\nreturn 'a'", {}) do io.write(kind, ":", tostring(value), " ") end
print()
local found = {}
print(sip.match("$v{name} = $d{n}", "abc = 12", found), found.name, found.n)
print(array2d.reduce_cols("+", { { 1, 2 }, { 3, 4 } }), List(permute.table{ 1, 2, 3 }):len(), types.is_callable(print))
local doc = xml.parse("<a x='1'><b>t</b><b>u</b></a>")
print(doc, doc:get_elements_with_name("b")[2][1], doc.attr.x)
print(Date{ year = 2024, month = 2, day = 29 }:add{ year = 1 }:year(), Date.Format("yyyy-mm-dd"):tostring(Date{ year = 2020, month = 5, day = 17 }))
print(config.read(stringio.open("# c\nport = 80\nhosts = a,b\n[sect]\nx = y\n")).port)
local _1, _2 = func._1, func._2
print(func.I(_1 + _2 * 2)(1, 2), tostring(_1 .. "x"))
print(utils.executeex("echo out; echo err >&2; exit 3"))
print(pcall(utils.assert_arg, 1, 5, "string"))
print(require "pl.compat".lua51, type(require "pl.strict".module))
print(select(2, pcall(function() require "pl.strict" return undefined_name end)))
