-- KEYS: calls, their order. ARGV: call key, outcome.
local calls, order, key, outcome = KEYS[1], KEYS[2], ARGV[1], ARGV[2]
local held = redis.call('HGET', calls, key)
if not held or string.sub(held, 1, 1) ~= '?' then return 0 end
if outcome == 'refused' then
  redis.call('HDEL', calls, key)
  redis.call('ZREM', order, key)
else
  redis.call('HSET', calls, key, '+' .. string.sub(held, 2))
end
return 1
