-- KEYS: marker, reservation, then account and holds of each account. ARGV: reservation id, estimate, now, expiry, ttl
-- of the reservation, accounts (JSON), question, maximum number of open calls, keys of the holders (JSON), '1' if it
-- replaces the open call of the question, then limit, ttl and '1' if it blocks after a call without a price, of each
-- account.
-- Returns {1, expiry}, {0, index of the refusing account} or {-1} if unseeded.
--- @include "accounts"
local marker, reservation = KEYS[1], KEYS[2]
local id, estimate, now, expiry, ttl, given, question, maxOpen, holders, replaces = unpack(ARGV, 1, 10)
if redis.call('EXISTS', marker) == 0 then return {-1} end
local accounts = {}
for i, account in ipairs(cjson.decode(given)) do accounts[i] = resolved(account) end
local before = redis.call('HMGET', reservation, 'o', 'n')
local open, replaced = {}, nil
for _, call in ipairs(cjson.decode(before[1] or '[]')) do
  if call[1] == question and replaces == '1' then
    replaced = call
  elseif call[1] == question and call[2] == estimate then
    local until_ = redis.call('ZSCORE', accounts[1][2], call[3])
    if until_ and tonumber(until_) > tonumber(now) then return {1, until_} end
  else
    open[#open + 1] = call
  end
end
for i = 1, #accounts do
  local account, holds = accounts[i][1], accounts[i][2]
  local spent, limit, own = spentIn(account), tonumber(ARGV[8 + 3 * i]), 0
  if ARGV[10 + 3 * i] == '1' and redis.call('HEXISTS', account, 'unpriced') == 1 then return {0, i - 1} end
  local held = heldIn(account, holds, now)
  if replaced and redis.call('ZSCORE', holds, replaced[3]) then own = tonumber(replaced[2]) end
  if spent >= limit or spent + held - own + tonumber(estimate) > limit then return {0, i - 1} end
end
for _, reserved in ipairs(cjson.decode(replaced and replaced[4] or '[]')) do
  local account = resolved(reserved)
  if redis.call('ZREM', account[2], replaced[3]) == 1 then add(account[1], 'held', '-' .. replaced[2]) end
end
local hold = estimate .. ':' .. id .. '#' .. (before[2] or '0')
for i = 1, #accounts do
  local account, holds = accounts[i][1], accounts[i][2]
  add(account, 'held', estimate)
  redis.call('ZADD', holds, expiry, hold)
  keep(account, holds, ARGV[9 + 3 * i])
  noteOfTree(accounts[i])
end
while #open >= tonumber(maxOpen) do table.remove(open, 1) end
open[#open + 1] = {question, estimate, hold, given}
redis.call('HSET', reservation, 'i', id, 'n', (tonumber(before[2]) or 0) + 1, 'o', cjson.encode(open), 'x', holders)
redis.call('PEXPIRE', reservation, ttl)
for _, holder in ipairs(cjson.decode(holders)) do
  redis.call('ZREMRANGEBYSCORE', holder, '-inf', now)
  redis.call('ZADD', holder, expiry, reservation)
  redis.call('PEXPIRE', holder, tonumber(expiry) - tonumber(now))
end
return {1, expiry}
