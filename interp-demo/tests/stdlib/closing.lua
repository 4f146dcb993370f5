-- How `__close` methods that yield or fail run, by whatever way their coroutine ends: each body, with each method, each way.
local function show(...)
  local t = table.pack(...)
  for i = 1, t.n do local v = t[i] if type(v) == 'thread' or type(v) == 'table' or type(v) == 'function' then v = type(v) end t[i] = tostring(v) end
  return table.concat(t, ' ')
end
local n = 0
local function case(name, f) n = n + 1 print(n, name, show(pcall(f))) end
local function closer(f) return setmetatable({}, { __close = f }) end
local Y = coroutine.yield
-- bodies: how the coroutine comes to its __close, times what __close does, times who closes
local acts = {
  { 'nothing', function() end },
  { 'yield', function(_, e) Y('y', e) end },
  { 'yield twice', function(_, e) Y('y1', e) Y('y2', e) end },
  { 'error', function(_, e) error('c', 0) end },
  { 'error table', function(_, e) error({}) end },
  { 'yield then error', function(_, e) Y('y') error('c', 0) end },
  { 'pcall yield', function(_, e) return pcall(Y, 'py', e) end },
  { 'wrap inside', function(_, e) return coroutine.wrap(function() Y(1) end)() end },
  { 'running', function(_, e) Y(coroutine.isyieldable(), select(2, coroutine.running())) end },
}
local bodies = {
  { 'return', function(a) return function() local x <close> = closer(a) return 1, 2 end end },
  { 'end', function(a) return function() do local x <close> = closer(a) end return 3 end end },
  { 'error', function(a) return function() local x <close> = closer(a) error('b', 0) end end },
  { 'error outer', function(a) return function() local x <close> = closer(a) local y <close> = closer(function() end) error('b', 0) end end },
  { 'two', function(a) return function() local x <close> = closer(a) local y <close> = closer(a) error('b', 0) end end },
  { 'pcall', function(a) return function() return pcall(function() local x <close> = closer(a) error('b', 0) end) end end },
  { 'xpcall', function(a) return function() return xpcall(function() local x <close> = closer(a) error('b', 0) end, function(m) return 'h' .. tostring(m) end) end end },
  { 'break', function(a) return function() for i = 1, 2 do local x <close> = closer(a) if i == 1 then goto cont end break ::cont:: end return 4 end end },
  { 'for', function(a) return function() for k in next, { 1 }, nil, closer(a) do if k then break end end return 5 end end },
  { 'suspended', function(a) return function() local x <close> = closer(a) Y('s') return 6 end end },
  { 'suspended two', function(a) return function() local x <close> = closer(a) local y <close> = closer(a) Y('s') return 6 end end },
  { 'suspended pcall', function(a) return function() return pcall(function() local x <close> = closer(a) Y('s') error('late', 0) end) end end },
  { 'suspended nested call', function(a) local function g() local x <close> = closer(a) Y('s') end return function() local x <close> = closer(a) g() return 7 end end },
  { 'tail', function(a) return function() local x <close> = closer(a) return (Y('s')) end end },
}
local ways = {
  { 'resume all', function(f) local co = coroutine.create(f) local out = {} for i = 1, 8 do out[#out + 1] = show(coroutine.resume(co, 'r' .. i)) .. '/' .. coroutine.status(co) if coroutine.status(co) == 'dead' then break end end out[#out + 1] = show(pcall(coroutine.close, co)) return table.concat(out, '; ') end },
  { 'wrap all', function(f) local co = coroutine.wrap(f) local out = {} for i = 1, 8 do local s = show(pcall(co, 'r' .. i)) out[#out + 1] = s if s:find('dead') then break end end return table.concat(out, '; ') end },
  { 'resume close', function(f) local co = coroutine.create(f) local a = show(coroutine.resume(co)) local b = show(pcall(coroutine.close, co)) local c = coroutine.status(co) return a .. '; ' .. b .. '; ' .. c .. '; ' .. show(pcall(coroutine.close, co)) .. '; ' .. show(coroutine.resume(co)) end },
  { 'close fresh', function(f) local co = coroutine.create(f) return show(pcall(coroutine.close, co)) .. ' ' .. coroutine.status(co) end },
  { 'close from inside', function(f) local co = coroutine.create(f) return coroutine.wrap(function() coroutine.resume(co) local a = show(pcall(coroutine.close, co)) Y(a) return 'x' end)() end },
  { 'wrap in wrap', function(f) local out = {} local w = coroutine.wrap(function() local v = coroutine.wrap(f) local t = show(pcall(v)) t = t .. '; ' .. show(pcall(v)) return t end) for i = 1, 6 do local s = show(pcall(w)) out[#out + 1] = s if s:find('dead') then break end end return table.concat(out, '; ') end },
  { 'wrap for', function(f) local out = {} local ok, e = pcall(function() for a in coroutine.wrap(f) do out[#out + 1] = tostring(a) if #out > 6 then break end end end) return table.concat(out, ',') .. ' ' .. show(ok, e) end },
  { 'main', function(f) return show(pcall(f)) end },
}
for _, b in ipairs(bodies) do for _, a in ipairs(acts) do for _, w in ipairs(ways) do
  case(b[1] .. '|' .. a[1] .. '|' .. w[1], function() return w[2](b[2](a[2])) end)
end end end
