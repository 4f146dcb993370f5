# x
error("e")
