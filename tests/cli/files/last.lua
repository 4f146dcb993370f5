-- What happens at the end, in its order.
local closed <close> = setmetatable({}, {__close = function(_, e) print("close", e) end})
first = setmetatable({}, {__gc = function() print("gc first") end})
second = setmetatable({}, {__gc = function() print("gc second") end})
io.write("end ", arg[1] or "plain", "\n")
if arg[1] == "exit" then os.exit(true) end
if arg[1] == "close" then os.exit(7, true) end
if arg[1] == "error" then error("at the end") end
