-- KEYS: marker, ledger stream. ARGV: now, lifetime in ms, hash tag, links (JSON, each `[id of the run in keys, its id, the
-- same two of its parent]`). Returns 1, or 0 if unseeded.
--- @include "accounts"
local marker, ledger = KEYS[1], KEYS[2]
local now, ttl, tag, links = unpack(ARGV)
if redis.call('EXISTS', marker) == 0 then return 0 end

local function enter(account, id, cost, unpriced)
  local entry = {account[3], account[4], account[5], id, '0', whole(cost), now, unpriced}
  redis.call('XADD', ledger, '*', 'e', cjson.encode(entry))
end

local function balance(from, to, id, cost, unpriced)
  enter(from, id, 0 - cost, unpriced)
  enter(to, id, cost, unpriced)
end

-- Moves everything in an account to the same account of the tree that its tree was joined to.
local function move(from)
  local to = resolved(from)
  heldIn(from[1], from[2], now)
  local amounts = redis.call('HMGET', from[1], 'spent', 'held', 'unpriced', 'guessed')
  local spent, guessed = tonumber(amounts[1] or 0), tonumber(amounts[4] or 0)
  for at, field in ipairs({'spent', 'held', 'unpriced', 'guessed'}) do
    if amounts[at] and amounts[at] ~= '0' then add(to[1], field, amounts[at]) end
  end
  local holds = redis.call('ZRANGE', from[2], 0, -1, 'WITHSCORES')
  for at = 1, #holds, 2 do redis.call('ZADD', to[2], holds[at + 1], holds[at]) end
  redis.call('DEL', from[1], from[2])
  keep(to[1], to[2], whole(to[6]))
  noteOfTree(to)
  local id = 'joined:' .. from[4] .. ':' .. to[4] .. ':' .. now
  if spent > guessed then balance(from, to, id, spent - guessed, false) end
  if amounts[3] and amounts[3] ~= '0' then balance(from, to, id .. ':unpriced', guessed, true) end
end

for _, link in ipairs(cjson.decode(links)) do
  local from = treeOf(tag, link[1], link[2])
  local to, plain = treeOf(tag, link[3], link[4])
  if from ~= to then
    redis.call('SET', 'joined-tree:' .. tag .. ':' .. from, cjson.encode({to, plain}), 'PX', ttl)
    local tree = 'tree-pots:' .. tag .. ':' .. from
    for _, account in ipairs(redis.call('HVALS', tree)) do move(cjson.decode(account)) end
    redis.call('DEL', tree)
  end
  redis.call('PEXPIRE', 'joined-tree:' .. tag .. ':' .. link[1], ttl)
end
return 1
