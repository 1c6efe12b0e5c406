-- Lua shared by the budget scripts. An account is a hash with `spent`, `held` and `guessed` (whole billionths of a dollar;
-- the last is the part of `spent` that was estimated for calls without a price) and `unpriced` (number of them), and a
-- sorted set of holds, `<amount>:<reservation>#<number>` by expiry. A reservation is a hash: `i` its id, `n` the number
-- of calls so far, `o` the open calls, oldest first (JSON, each `[question, estimate, hold, accounts]`), and `b` what
-- ended the last call. Keys of accounts that only a reservation knows are not in KEYS; they have the same hash tag, the
-- tenant's.
local function whole(value) return string.format('%.0f', value) end

-- Not HINCRBY, which rejects amounts above nine billion dollars; sums of whole numbers stay whole.
local function add(account, field, amount) redis.call('HINCRBYFLOAT', account, field, amount) end

-- Amount held, without expired holds.
local function heldIn(account, holds, now)
  local gone = redis.call('ZRANGEBYSCORE', holds, '-inf', now)
  for _, hold in ipairs(gone) do
    add(account, 'held', '-' .. string.match(hold, '^%d+'))
    redis.call('ZREM', holds, hold)
  end
  return tonumber(redis.call('HGET', account, 'held') or 0)
end

local function spentIn(account) return tonumber(redis.call('HGET', account, 'spent') or 0) end

local function keep(account, holds, ttl)
  redis.call('PEXPIRE', account, ttl)
  redis.call('PEXPIRE', holds, ttl)
end
