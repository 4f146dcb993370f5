#x
print"bom#"