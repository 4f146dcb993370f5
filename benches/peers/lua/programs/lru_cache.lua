-- A cache that forgets what was used longest ago: a map beside a doubly linked list.
local operations = tonumber(arg[1]) or 600000
local capacity = 60000

local map, size = {}, 0
local head, tail = {}, {}
head.next, tail.prev = tail, head

local function unlink(node)
  node.prev.next, node.next.prev = node.next, node.prev
end

local function link(node)
  node.next, node.prev = head.next, head
  head.next.prev = node
  head.next = node
end

local hits, state = 0, 42
for i = 1, operations do
  state = state * 16807 % 2147483647
  local key = "key" .. math.floor(state / 8) % 90000
  local node = map[key]
  if node then
    hits = hits + 1
    unlink(node)
    link(node)
  else
    if size == capacity then
      local last = tail.prev
      unlink(last)
      map[last.key] = nil
      size = size - 1
    end
    node = { key = key, value = i }
    map[key] = node
    link(node)
    size = size + 1
  end
end
print(hits, size)
