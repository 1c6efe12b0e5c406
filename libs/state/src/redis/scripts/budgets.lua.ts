/**
 * Budgets. An account is a hash of `spent` and `held` (whole millionths of a dollar) and a sorted set of what is held,
 * `<amount>:<reservation>#<number>` by expiry. A reservation is a hash: `i` its id, `n` how many calls there were under
 * it, `o` those that are open, oldest first (JSON, each `[question, estimate, hold, accounts]`), and once one ended `b`,
 * by what the last one did. Keys of accounts that only a reservation knows are not among KEYS; they carry the same hash
 * tag, the tenant's.
 */
const ACCOUNTS = `
local function whole(value) return string.format('%.0f', value) end

-- What is held, without what has expired.
local function heldIn(account, holds, now)
  local gone = redis.call('ZRANGEBYSCORE', holds, '-inf', now)
  for _, hold in ipairs(gone) do
    redis.call('HINCRBY', account, 'held', '-' .. string.match(hold, '^%d+'))
    redis.call('ZREM', holds, hold)
  end
  return tonumber(redis.call('HGET', account, 'held') or 0)
end

local function spentIn(account) return tonumber(redis.call('HGET', account, 'spent') or 0) end

local function keep(account, holds, ttl)
  redis.call('PEXPIRE', account, ttl)
  redis.call('PEXPIRE', holds, ttl)
end
`;

/**
 * KEYS: marker, reservation, then account and holds of each account. ARGV: reservation id, estimate, now, expiry, ttl of
 * the reservation, accounts (JSON), question, most open calls, then limit and ttl of each account. Answers {1, expiry},
 * {0, index of the refusing account} or {-1} for unseeded.
 */
export const RESERVE = `${ACCOUNTS}
if redis.call('EXISTS', KEYS[1]) == 0 then return {-1} end
local id, estimate, now, expiry, question = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[7]
local n = (#KEYS - 2) / 2
local before = redis.call('HMGET', KEYS[2], 'o', 'n')
local open = {}
for _, call in ipairs(cjson.decode(before[1] or '[]')) do
  if call[1] == question and call[2] == estimate then
    local until_ = redis.call('ZSCORE', KEYS[4], call[3])
    if until_ and tonumber(until_) > tonumber(now) then return {1, until_} end
  else
    open[#open + 1] = call
  end
end
for i = 1, n do
  local account, holds = KEYS[1 + 2 * i], KEYS[2 + 2 * i]
  local spent, limit = spentIn(account), tonumber(ARGV[7 + 2 * i])
  if spent >= limit or spent + heldIn(account, holds, now) + tonumber(estimate) > limit then return {0, i - 1} end
end
local hold = estimate .. ':' .. id .. '#' .. (before[2] or '0')
for i = 1, n do
  local account, holds = KEYS[1 + 2 * i], KEYS[2 + 2 * i]
  redis.call('HINCRBY', account, 'held', estimate)
  redis.call('ZADD', holds, expiry, hold)
  keep(account, holds, ARGV[8 + 2 * i])
end
while #open >= tonumber(ARGV[8]) do table.remove(open, 1) end
open[#open + 1] = {question, estimate, hold, ARGV[6]}
redis.call('HSET', KEYS[2], 'i', id, 'n', (tonumber(before[2]) or 0) + 1, 'o', cjson.encode(open))
redis.call('PEXPIRE', KEYS[2], ARGV[5])
return {1, expiry}
`;

/** KEYS: marker, then account and holds of each account. ARGV: now. Answers spent and held of each; nil for unseeded. */
export const STANDING = `${ACCOUNTS}
if redis.call('EXISTS', KEYS[1]) == 0 then return false end
local answer = {}
for i = 2, #KEYS, 2 do
  answer[#answer + 1] = redis.call('HGET', KEYS[i], 'spent') or '0'
  answer[#answer + 1] = whole(heldIn(KEYS[i], KEYS[i + 1], ARGV[1]))
end
return answer
`;

/**
 * KEYS: marker, ledger stream. ARGV: now, ttl of a charge, JSON of the spendings: each
 * `[reservation key or '', charge key or '', event id or '', cost or -1, accounts]`, an account being
 * `[account key, holds key, budget, scope, period, ttl]`. Answers one letter per spending: settled, charged, repeated,
 * unknown; nil for unseeded.
 */
export const SPEND = `${ACCOUNTS}
if redis.call('EXISTS', KEYS[1]) == 0 then return false end

local function book(account, id, estimate, cost)
  redis.call('HINCRBY', account[1], 'spent', whole(cost))
  keep(account[1], account[2], whole(account[6]))
  local entry = {account[3], account[4], account[5], id, whole(estimate), whole(cost), ARGV[1]}
  redis.call('XADD', KEYS[2], '*', 'e', cjson.encode(entry))
end

local function charge(key, event, cost, accounts)
  if event == '' then return 'u' end
  if not redis.call('SET', key, '1', 'NX', 'PX', ARGV[2]) then return 'r' end
  if cost > 0 then
    for _, account in ipairs(accounts) do book(account, event, 0, cost) end
  end
  return 'c'
end

local function spend(reservation, chargeKey, event, cost, accounts)
  local held = reservation ~= '' and redis.call('HMGET', reservation, 'i', 'o', 'b')
  if not held or not held[1] then return charge(chargeKey, event, cost, accounts) end
  if event ~= '' and (held[3] == event or redis.call('EXISTS', chargeKey) == 1) then return 'r' end
  local open = cjson.decode(held[2] or '[]')
  if #open == 0 then
    if event == '' then return 'r' end
    if held[3] ~= '' then return charge(chargeKey, event, cost, accounts) end
    redis.call('HSET', reservation, 'b', event)
    redis.call('SET', chargeKey, '1', 'PX', ARGV[2])
    return 'r'
  end
  local call = table.remove(open, 1)
  if #open == 0 then redis.call('HDEL', reservation, 'o') else redis.call('HSET', reservation, 'o', cjson.encode(open)) end
  redis.call('HSET', reservation, 'b', event)
  if event ~= '' then redis.call('SET', chargeKey, '1', 'PX', ARGV[2]) end
  local estimate = tonumber(call[2])
  for _, account in ipairs(cjson.decode(call[4])) do
    if redis.call('ZREM', account[2], call[3]) == 1 then redis.call('HINCRBY', account[1], 'held', '-' .. call[2]) end
    book(account, held[1], estimate, cost < 0 and estimate or cost)
  end
  return 's'
end

local answer = {}
for i, one in ipairs(cjson.decode(ARGV[3])) do answer[i] = spend(one[1], one[2], one[3], one[4], one[5]) end
return answer
`;
