-- Garbage with finalizers does not pile up: what they cost is work that the collector counts. All run in time, none is forgotten.
local made, finalized, most = 0, 0, 0
local mt = { __gc = function(object) finalized = finalized + 1; object.again = { {} } end }
for i = 1, 300000 do
  setmetatable({ ("x"):rep(40) .. i % 100 }, mt)
  made = made + 1
  most = math.max(most, made - finalized)
end
assert(most < 60000, most)
collectgarbage()
assert(finalized == made, finalized)
print("ok")
