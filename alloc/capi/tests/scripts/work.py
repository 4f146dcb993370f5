"""Objects, threads, child processes and compression: what a Python program does to an allocator."""
import collections, ctypes, hashlib, json, queue, random, re, subprocess, sys, threading, zlib

random.seed(7)

records = [{"id": i, "name": f"name {i}", "tags": [str(j) * (j + 1) for j in range(i % 7)]} for i in range(20000)]
text = json.dumps(records)
assert json.loads(text) == records
print("json", len(text), hashlib.md5(text.encode()).hexdigest())

numbers = [random.random() for _ in range(500_000)]
numbers.sort()
print("sorted", numbers[0], numbers[-1])
table = collections.defaultdict(list)
for i, number in enumerate(numbers):
    table[f"{int(number * 5000)}"].append(i)
print("table", len(table), sum(len(row) for row in table.values()))
for key in list(table)[::2]:
    del table[key]
print("big", 3 ** 20000 % 1_000_000_007, len(re.findall(r"name \d+7", text)))

packed = zlib.compress(text.encode(), 6)
assert zlib.decompress(packed).decode() == text
print("packed", hashlib.md5(packed).hexdigest())

work, done = queue.Queue(8), queue.Queue()


def digest():
    while (block := work.get()) is not None:
        done.put(hashlib.sha1(block * 3).hexdigest())


for _ in range(5):
    threads = [threading.Thread(target=digest) for _ in range(6)]
    for thread in threads:
        thread.start()
    for i in range(200):
        work.put(bytes([i % 256]) * (i * 97))
    for _ in threads:
        work.put(None)
    for thread in threads:
        thread.join()
print("threads", hashlib.md5("".join(sorted(done.get() for _ in range(1000))).encode()).hexdigest())

for i in range(5):
    child = subprocess.run([sys.executable, "-c", "import sys; print(sys.stdin.read().upper())"], input=f"child {i}", capture_output=True, text=True)
    print("child", child.returncode, child.stdout.strip())
print("shell", subprocess.check_output("echo one | tr a-z A-Z; (exit 3); echo $?", shell=True, text=True).split())

buffers = [ctypes.create_string_buffer(size) for size in (0x10, 0x1000, 0x100000, 0x2000000)]
print("buffers", [len(buffer) for buffer in buffers])
grown = bytearray()
for i in range(300_000):
    grown += b"%d," % i
print("grown", len(grown), zlib.crc32(grown))
