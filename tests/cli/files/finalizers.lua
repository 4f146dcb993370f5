-- Finalizers that run when the state is closed: in their order, and the collector does not run in them.
print("creating first")
setmetatable({}, {__gc = function() print("first") end})
print("creating second")
setmetatable({}, {__gc = function()
  print("second", collectgarbage())
  setmetatable({}, {__gc = function() print("too late") end})
  if arg[1] then os.exit(tonumber(arg[1]), arg[2] == "close") end
end})
