-- collectgarbage in a finalizer: it does not go into another collection, and nothing is finalized twice.
local runs, inner = 0, {}
for i = 1, 50 do
  setmetatable({ i }, { __gc = function(object)
    runs = runs + 1
    assert(not inner[object[1]])
    inner[object[1]] = true
    collectgarbage()
    collectgarbage("step", 1)
    setmetatable({}, { __gc = function() runs = runs + 1 end })
    for _ = 1, 20 do local _ = { {} } end
  end })
end
for _ = 1, 5 do collectgarbage() end
assert(runs == 100, runs)
print("ok")
