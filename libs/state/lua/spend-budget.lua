-- KEYS: marker, ledger stream. ARGV: now, ttl of a charge, spending as JSON: each `[reservation key or '', charge key
-- or '', event id or '', cost or -1, accounts, estimate of a call without a price or -1]`, with an account being
-- `[account key, holds key, budget, scope, period, ttl, what a call without a price counts]`. Returns one letter each: settled, charged, repeated, unknown; nil if unseeded.
--- @include "accounts"
local marker, ledger = KEYS[1], KEYS[2]
local now, chargeTtl, spendings = ARGV[1], ARGV[2], ARGV[3]
if redis.call('EXISTS', marker) == 0 then return false end

-- What one account is charged; `reserved` is the estimate of the call, 0 without a reservation.
local function costFor(account, cost, guess, reserved)
  if guess < 0 then return cost < 0 and reserved or cost end
  if account[7] == 'allow' or guess == 0 then return reserved end
  return guess
end

local function book(account, id, estimate, price, guess)
  local cost = costFor(account, price, guess, estimate)
  add(account[1], 'spent', whole(cost))
  if guess >= 0 then
    redis.call('HINCRBY', account[1], 'unpriced', 1)
    add(account[1], 'guessed', whole(cost))
  end
  keep(account[1], account[2], whole(account[6]))
  noteOfTree(account)
  local entry = {account[3], account[4], account[5], id, whole(estimate), whole(cost), now, guess >= 0}
  redis.call('XADD', ledger, '*', 'e', cjson.encode(entry))
end

local function charge(key, event, cost, accounts, guess)
  if event == '' then return 'u' end
  if not redis.call('SET', key, '1', 'NX', 'PX', chargeTtl) then return 'r' end
  if cost > 0 or guess >= 0 then
    for _, account in ipairs(accounts) do book(resolved(account), event, 0, cost, guess) end
  end
  return 'c'
end

local function spend(reservation, chargeKey, event, cost, accounts, guess)
  local held = reservation ~= '' and redis.call('HMGET', reservation, 'i', 'o', 'b')
  if not held or not held[1] then return charge(chargeKey, event, cost, accounts, guess) end
  if event ~= '' and (held[3] == event or redis.call('EXISTS', chargeKey) == 1) then return 'r' end
  local open = cjson.decode(held[2] or '[]')
  if #open == 0 then
    if event == '' then return 'r' end
    if held[3] ~= '' then return charge(chargeKey, event, cost, accounts, guess) end
    redis.call('HSET', reservation, 'b', event)
    redis.call('SET', chargeKey, '1', 'PX', chargeTtl)
    return 'r'
  end
  local call = table.remove(open, 1)
  if #open == 0 then
    redis.call('HDEL', reservation, 'o')
    leave(reservation)
  else
    redis.call('HSET', reservation, 'o', cjson.encode(open))
  end
  redis.call('HSET', reservation, 'b', event)
  if event ~= '' then redis.call('SET', chargeKey, '1', 'PX', chargeTtl) end
  local estimate = tonumber(call[2])
  for _, reserved in ipairs(cjson.decode(call[4])) do
    local account = resolved(reserved)
    if redis.call('ZREM', account[2], call[3]) == 1 then add(account[1], 'held', '-' .. call[2]) end
    book(account, held[1], estimate, cost, guess)
  end
  return 's'
end

local answer = {}
for i, one in ipairs(cjson.decode(spendings)) do
  answer[i] = spend(one[1], one[2], one[3], one[4], one[5], one[6])
end
return answer
