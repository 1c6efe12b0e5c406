-- Lua shared by the budget scripts. An account is a hash with `spent`, `held` and `guessed` (whole billionths of a dollar;
-- the last is the part of `spent` that was estimated for calls without a price) and `unpriced` (number of them), and a
-- sorted set of holds, `<amount>:<reservation>#<number>` by expiry. A reservation is a hash: `i` its id, `n` the number
-- of calls so far, `o` the open calls, oldest first (JSON, each `[question, estimate, hold, accounts]`), and `b` what
-- ended the last call, and `x` the keys of its holders (JSON), each a sorted set of keys of reservations by expiry. Keys of accounts that only a reservation knows are not in KEYS; they have the same hash tag, the
-- tenant's. An account of a run tree ends with the id of a run, and has that id as its eighth member; it stands for the
-- account of the tree that the run's tree became part of (`joined-tree:<tag>:<id>`, JSON `[id in keys, id]`).
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

-- Both ids of the topmost run of the joined trees that a run belongs to, and the hash tag of its tenant.
local function treeOf(tag, id, plain)
  while true do
    local above = redis.call('GET', 'joined-tree:' .. tag .. ':' .. id)
    if not above then return id, plain end
    id, plain = unpack(cjson.decode(above))
  end
end

local function tagOf(key) return string.match(key, '{[^}]*}') end

local function resolved(account)
  local id = account[8]
  if not id then return account end
  local tag = tagOf(account[1])
  local above, plain = treeOf(tag, id, account[4])
  local key = string.sub(account[1], 1, #account[1] - #id) .. above
  return {key, key .. ':holds', account[3], plain, account[5], account[6], account[7], above}
end

-- Notes an account with its tree, so that it is found when the tree is joined to another one.
local function noteOfTree(account)
  if not account[8] then return end
  local tree = 'tree-pots:' .. tagOf(account[1]) .. ':' .. account[8]
  redis.call('HSET', tree, account[1], cjson.encode(account))
  if redis.call('PTTL', tree) < tonumber(account[6]) then redis.call('PEXPIRE', tree, account[6]) end
end

-- Forgets a reservation without open calls with its holders.
local function leave(reservation)
  local holders = redis.call('HGET', reservation, 'x')
  for _, holder in ipairs(cjson.decode(holders or '[]')) do redis.call('ZREM', holder, reservation) end
end
