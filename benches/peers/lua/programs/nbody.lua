-- Floats in the fields of a few records: five bodies that attract one another.
local steps = tonumber(arg[1]) or 400000

local pi = math.pi
local solar_mass, year = 4 * pi * pi, 365.24

local function body(x, y, z, vx, vy, vz, mass)
  return { x = x, y = y, z = z, vx = vx * year, vy = vy * year, vz = vz * year, mass = mass * solar_mass }
end

local bodies = {
  body(0, 0, 0, 0, 0, 0, 1),
  body(4.84143144246472082e+00, -1.16032004402742839e+00, -1.03622044471123109e-01,
    1.66007664274403694e-03, 7.69901118419740425e-03, -6.90460016972063023e-05, 9.54791938424326609e-04),
  body(8.34336671824457987e+00, 4.12479856412430479e+00, -4.03523417114321381e-01,
    -2.76742510726411530e-03, 4.99852801234917238e-03, 2.30417297573763929e-05, 2.85885980666130812e-04),
  body(1.28943695621391310e+01, -1.51111514016986312e+01, -2.23307578892655734e-01,
    2.96460137564761618e-03, 2.37847173959480950e-03, -2.96589568540237556e-05, 4.36624404335156298e-05),
  body(1.53796971148509165e+01, -2.59193146099879641e+01, 1.79258772950371181e-01,
    2.68067772490389322e-03, 1.62824170038242295e-03, -9.51592254519715870e-05, 5.15138902046611451e-05),
}

local function advance(dt)
  local count = #bodies
  for i = 1, count do
    local a = bodies[i]
    local ax, ay, az, amass = a.x, a.y, a.z, a.mass
    local avx, avy, avz = a.vx, a.vy, a.vz
    for j = i + 1, count do
      local b = bodies[j]
      local dx, dy, dz = ax - b.x, ay - b.y, az - b.z
      local square = dx * dx + dy * dy + dz * dz
      local pull = dt / (square * square ^ 0.5)
      local by_b, by_a = b.mass * pull, amass * pull
      avx, avy, avz = avx - dx * by_b, avy - dy * by_b, avz - dz * by_b
      b.vx, b.vy, b.vz = b.vx + dx * by_a, b.vy + dy * by_a, b.vz + dz * by_a
    end
    a.vx, a.vy, a.vz = avx, avy, avz
    a.x, a.y, a.z = ax + dt * avx, ay + dt * avy, az + dt * avz
  end
end

local function energy()
  local sum = 0
  for i, a in ipairs(bodies) do
    sum = sum + 0.5 * a.mass * (a.vx * a.vx + a.vy * a.vy + a.vz * a.vz)
    for j = i + 1, #bodies do
      local b = bodies[j]
      local dx, dy, dz = a.x - b.x, a.y - b.y, a.z - b.z
      sum = sum - a.mass * b.mass / (dx * dx + dy * dy + dz * dz) ^ 0.5
    end
  end
  return sum
end

for _ = 1, steps do advance(0.01) end
print(string.format("%.9f", energy()))
