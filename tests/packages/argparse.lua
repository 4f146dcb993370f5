-- argparse: options, commands, help, errors, completions.
local argparse = require "argparse"

local function build()
  local parser = argparse("prog", "Does things.", "See more.")
  parser:argument("input", "A file."):args("+")
  parser:option("-o --output", "Where to.", "a.out")
  parser:option("-I --include", "Folders."):count("*")
  parser:option("--level"):choices{ "low", "high" }
  parser:option("-n --number"):convert(tonumber):default "3"
  parser:flag("-v --verbose", "Talks."):count "0-2":target "verbosity"
  parser:mutex(parser:flag "--quiet", parser:flag "--loud")
  return parser
end

local function show(t)
  local names = {}
  for name in pairs(t) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local value = t[name]
    io.write(name, "=", type(value) == "table" and "{" .. table.concat(value, ",") .. "}" or tostring(value), " ")
  end
  print()
end

for _, line in ipairs{ "x", "x y -o out -vv", "-I a -I b x --number 7", "--level=high x", "-vox z", "--loud x -- -y" } do
  local words = {}
  for word in line:gmatch("%S+") do words[#words + 1] = word end
  show(build():parse(words))
end
for _, line in ipairs{ "", "x --nope", "x --level medium", "x -o", "x --quiet --loud", "x -n abc", "x -vvv", "x --levle low", "x --quiet=1" } do
  local words = {}
  for word in line:gmatch("%S+") do words[#words + 1] = word end
  local ok, what = build():pparse(words)
  print(line, ok, ok and what.verbosity or what)
end
print(build():get_help())
print(build():get_usage())

local git = argparse("git"):command_target "command":add_complete()
git:command("add a", "Adds."):argument("paths"):args "*"
local commit = git:command("commit", "Commits.")
commit:option "-m --message"
commit:action(function(args) print("commit with", args.message) end)
show((function(args) args.paths = nil return args end)(git:parse{ "a", "x", "y" }))
show(git:parse{ "commit", "-m", "hello" })
print(git:pparse{ "push" })
print(git:get_bash_complete():len() > 500, git:get_zsh_complete():len() > 500, git:get_fish_complete():len() > 200)
