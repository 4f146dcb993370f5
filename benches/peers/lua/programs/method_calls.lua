-- Methods found through one and two classes, and fields of self.
local rounds = tonumber(arg[1]) or 3000000

local Account = {}
Account.__index = Account
function Account.new(balance) return setmetatable({ balance = balance, count = 0 }, Account) end
function Account:deposit(amount) self.balance = self.balance + amount self.count = self.count + 1 end
function Account:get() return self.balance end

local Savings = setmetatable({}, { __index = Account })
Savings.__index = Savings
function Savings.new(balance, rate)
  local this = setmetatable(Account.new(balance), Savings)
  this.rate = rate
  return this
end
function Savings:interest() return self:get() * self.rate end

local plain, savings = Account.new(0), Savings.new(100, 2)
local sum = 0
for i = 1, rounds do
  plain:deposit(i)
  savings:deposit(1)
  sum = sum + savings:interest() + plain:get() % 3
end
print(sum, plain.count, savings.count)
