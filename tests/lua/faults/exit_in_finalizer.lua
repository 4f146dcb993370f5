-- os.exit in a finalizer: the process ends with that code, and what is open is flushed.
print("ok")
setmetatable({}, { __gc = function() os.exit(7, true) end })
for i = 1, 3 do setmetatable({}, { __gc = function() local _ = { i } end }) end
collectgarbage()
error("not reached")
