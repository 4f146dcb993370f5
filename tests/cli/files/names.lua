local function named() error("oops") end
function global() named() end
local t = {method = function(self) global() end}
local co = coroutine.wrap(function() t:method() end)
co()
