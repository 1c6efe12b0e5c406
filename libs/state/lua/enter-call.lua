-- KEYS: calls, their order. ARGV: call key, entered JSON, maximum number of calls, ttl. An ended call of this key keeps
-- its position under a name that is never looked up. Returns the calls entered before.
--- @include "history"
local key, entered, max, ttl = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local held = redis.call('HGET', calls, key)
if held and string.sub(held, 1, 1) == '=' then
  local place = redis.call('ZSCORE', order, key)
  local ended = key .. '\n' .. place
  redis.call('HDEL', calls, key)
  redis.call('ZREM', order, key)
  redis.call('HSET', calls, ended, held)
  redis.call('ZADD', order, place, ended)
end
if redis.call('HEXISTS', calls, key) == 0 then put(key, '? ' .. entered .. '\n', max, ttl) end
local rank = redis.call('ZRANK', order, key)
if rank == 0 then return {} end
return values(redis.call('ZRANGE', order, 0, rank - 1))
