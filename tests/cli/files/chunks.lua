x = 10
for i = 1, 3 do
  x = x + i
end
return x, "a value that nobody sees"
