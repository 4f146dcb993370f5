-- What a script found out: as text for people, or as JSON into the file $SLEEPY_REPORT, from which
-- `sleepy-lua compare` takes it. The moment of the report counts as the end of the script.

local socket = require("socket")

local report = {}

local function quantile(sorted, share)
  return sorted[math.max(1, math.ceil(share * #sorted))]
end

local function to_json(value)
  if type(value) == "string" then
    return '"' .. value:gsub('[%c"\\]', function(c)
      return ("\\u%04x"):format(c:byte())
    end) .. '"'
  elseif type(value) ~= "table" then
    return (value % 1 == 0 and "%d" or "%.6f"):format(value)
  end
  local members = {}
  if #value > 0 then
    for i, member in ipairs(value) do
      members[i] = to_json(member)
    end
    return "[" .. table.concat(members, ",") .. "]"
  end
  for key, member in pairs(value) do
    members[#members + 1] = to_json(key) .. ":" .. to_json(member)
  end
  return "{" .. table.concat(members, ",") .. "}"
end

-- `facts` may have:
--   same           names and values that every run must agree on, such as a digest
--   wake_delay_us  how late each event was seen, in microseconds
--   marks          moments that a picture should show: { { name = text, at = socket.gettime() }, … }
--   figures        what was measured, in order: { { name, number, unit }, … }
function report.write(facts)
  local path = os.getenv("SLEEPY_REPORT")
  if path then
    facts.at = socket.gettime()
    local file = assert(io.open(path, "w"))
    file:write(to_json(facts), "\n")
    file:close()
    return
  end
  local names = {}
  for name in pairs(facts.same or {}) do
    names[#names + 1] = name
  end
  table.sort(names)
  for _, name in ipairs(names) do
    print(("%-12s %s"):format(name, tostring(facts.same[name])))
  end
  for _, figure in ipairs(facts.figures or {}) do
    print(("%-28s %.6g %s"):format(figure[1], figure[2], figure[3]))
  end
  local delays = facts.wake_delay_us
  if delays and #delays > 0 then
    table.sort(delays)
    print(("%-12s p50 %.0f, p99 %.0f, p99.9 %.0f, max %.0f us"):format("wake delay",
      quantile(delays, 0.5), quantile(delays, 0.99), quantile(delays, 0.999), delays[#delays]))
  end
end

return report
