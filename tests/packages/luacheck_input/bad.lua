local unused, used = 1, 2
globl = used
local function f(a, b) local a = a return a end
for i = 10, 1 do print(i) end
print(undefined_thing, ...)
do local x; x = 1 end
if used then end
goto done
print "unreachable?"
::done::
local t = { a = 1, a = 2 }
return t
