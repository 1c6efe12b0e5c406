-- Lua shared by the budget scripts. An account is a hash of `spent` and `held` (whole billionths of a dollar) and a
-- sorted set of what is held, `<amount>:<reservation>#<number>` by expiry. A reservation is a hash: `i` its id, `n` how
-- many calls there were under it, `o` those that are open, oldest first (JSON, each `[question, estimate, hold,
-- accounts]`), and once one ended `b`, by what the last one did. Keys of accounts that only a reservation knows are not
-- among KEYS; they carry the same hash tag, the tenant's.
local function whole(value) return string.format('%.0f', value) end

-- Not HINCRBY, which refuses amounts beyond nine billion dollars; sums of whole numbers stay whole.
local function add(account, field, amount) redis.call('HINCRBYFLOAT', account, field, amount) end

-- What is held, without what has expired.
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
