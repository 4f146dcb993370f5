data = {}
300_000.times { |i| data["key #{i}"] = "v#{i}" * 40 }
keep = (0...300_000).step(300).map { |i| data["key #{i}"] }
data = nil
2.times { GC.start }
puts "ready #{keep.size}"
$stdout.flush
sleep
