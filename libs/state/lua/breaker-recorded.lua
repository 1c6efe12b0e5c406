-- KEYS: the breaker. ARGV: the version that was recorded.
local breaker, recorded = KEYS[1], ARGV[1]
local held = redis.call('HMGET', breaker, 'v', 'd')
if held[1] and tonumber(held[2] or 0) < tonumber(recorded) then redis.call('HSET', breaker, 'd', recorded) end
return 1
