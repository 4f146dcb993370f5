-- Shows what came in `...` and in `arg`, where the program itself is the first.
print(...)
local first = 0
while arg[first - 1] do first = first - 1 end
for i = first, #arg do
  io.write(i, "=", i == first and "LUA" or i == 0 and arg[i]:match("[^/]*$") or arg[i], " ")
end
print()
