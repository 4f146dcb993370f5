# Objects, threads, fibers and child processes: what a Ruby program does to an allocator.
require "json"
require "digest"
require "set"
require "stringio"
require "zlib"

# Loaded now: several threads that load it at once trip over each other.
Digest::SHA1

records = (0...20_000).map { |i| { "id" => i, "name" => "name #{i}", "tags" => (0...i % 7).map { |j| j.to_s * (j + 1) } } }
text = JSON.generate(records)
raise "json" unless JSON.parse(text) == records
puts "json #{text.size} #{Digest::MD5.hexdigest(text)}"

random = Random.new(7)
numbers = Array.new(300_000) { random.rand }
numbers.sort!
puts "sorted #{numbers.first} #{numbers.last}"
table = Hash.new { |hash, key| hash[key] = [] }
numbers.each_with_index { |number, i| table[(number * 5000).to_i.to_s] << i }
puts "table #{table.size} #{table.sum { |_, row| row.size }}"
table.delete_if { |key, _| key.to_i.even? }
puts "big #{(3**20_000).to_s.size} #{text.scan(/name \d+7/).size} #{Set.new(numbers.map { |n| (n * 1000).to_i }).size}"
puts "packed #{Digest::MD5.hexdigest(Zlib::Deflate.deflate(text))}"

results = Queue.new
3.times do
  work = SizedQueue.new(8)
  threads = Array.new(6) do
    Thread.new do
      while (block = work.pop) != :done
        results << Digest::SHA1.hexdigest(block * 3)
      end
    end
  end
  200.times { |i| work << (i % 256).chr * (i * 97) }
  threads.each { work << :done }
  threads.each(&:join)
end
puts "threads #{Digest::MD5.hexdigest(Array.new(600) { results.pop }.sort.join)}"

fibers = Array.new(300) { |i| Fiber.new { 5.times { |j| Fiber.yield "fiber #{i} #{j}" * 10 } } }
puts "fibers #{Digest::MD5.hexdigest(Array.new(5) { fibers.map(&:resume).join }.join)}"

5.times do |i|
  reader, writer = IO.pipe
  pid = fork do
    reader.close
    writer.write Digest::MD5.hexdigest(JSON.generate(records.first(1000 * (i + 1))))
    writer.close
    exit! 0
  end
  writer.close
  puts "child #{reader.read} #{Process.wait2(pid).last.exitstatus}"
end
puts "shell #{`echo one | tr a-z A-Z`.strip}"

GC.start
grown = +""
200_000.times { |i| grown << i.to_s << "," }
puts "grown #{grown.size} #{Zlib.crc32(grown)}"
