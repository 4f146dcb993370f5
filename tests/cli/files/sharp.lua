#!/usr/bin/lua
print(debug.getinfo(1).currentline)
